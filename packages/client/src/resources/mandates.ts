import { sendOnce, type IdempotentOptions } from '../send-once.ts'
import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type {
  Backtest,
  BacktestRequest,
  ListMandatesQuery,
  Mandate,
  ApprovalRequest,
  IncreaseRequest,
  MandateAmendment,
  MandateVersion,
  NewMandate,
  PageQuery,
} from '../wire-types.ts'

/** The service's own time limit is 20 seconds. */
const backtestTimeoutMs = 40_000

export type Mandates = ReturnType<typeof mandates>

export function mandates(send: Send) {
  return {
    /**
     * Creates a mandate; amounts are strings in USDC, and `expires_at` is ISO 8601 with a zone. Throws a
     * `NotFoundError` for an unknown agent or budget, and a `ConflictError` with code `agent_revoked`. Retried with the
     * same key, so that it is created once; pass your own to cover your own retries too (Endpoints).
     *
     * @example
     * const { id } = await purser.mandates.create({
     *   agent_id: agentId,
     *   purpose: 'Buy research data',
     *   max_spend_total: '100.00',
     *   max_spend_per_transaction: '10.00',
     *   allowed_sellers: ['api.example.com'],
     *   expires_at: '2099-01-01T00:00:00Z',
     * })
     */
    create: async (body: NewMandate, options?: IdempotentOptions): Promise<Mandate> =>
      (await sendOnce(send, { path: '/mandates', body }, options)) as Mandate,
    /**
     * The mandates of the account, newest first; with an agent's key, those of its agent (Endpoints).
     *
     * @example
     * const research = await purser.mandates.list({ metadata: { team: 'research' } }).toArray({ limit: 50 })
     */
    list: (query?: ListMandatesQuery, options?: CallOptions): List<Mandate> =>
      listOf(send, '/mandates', query, options),
    /**
     * One mandate, with the usage of its limits. Throws a `NotFoundError` if the key cannot see it (Endpoints).
     *
     * @example
     * const { spent_total, held_total, usage } = await purser.mandates.get(mandateId)
     */
    get: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'GET', path: path`/mandates/${id}` }, options)).body as Mandate,
    /**
     * Changes terms of a mandate at once; `version` is the one that the changes are based on. Throws a `ConflictError`
     * with code `version_mismatch` if there is a later one, or `budget_below_committed` with the figures in `body`, and
     * a `PermissionError` with code `widening_needs_owner`: narrower terms need no owner. Retried automatically: terms
     * that already are as requested are no conflict.
     *
     * @example
     * const { version } = await purser.mandates.get(mandateId)
     * await purser.mandates.amend(mandateId, version, { max_spend_per_transaction: '5.00' })
     */
    amend: async (
      id: string,
      version: number,
      changes: MandateAmendment,
      options?: CallOptions,
    ): Promise<Mandate> => {
      const headers = { 'if-match': `"${version}"` }
      const request = { method: 'PATCH', path: path`/v1/mandates/${id}`, body: changes, headers } as const
      return (await send(request, options)).body as Mandate
    },
    /**
     * The versions of a mandate's terms, newest first. Throws a `NotFoundError` if the key cannot see it.
     *
     * @example
     * for await (const { version, created_at } of purser.mandates.versions(mandateId)) console.log(version, created_at)
     */
    versions: (id: string, query?: PageQuery, options?: CallOptions): List<MandateVersion> =>
      listOf(send, path`/v1/mandates/${id}/versions`, query, options),
    /**
     * Requests wider terms from the owner. Nothing changes until an owner approves; repeating the request returns the
     * same approval, so it is retried. Throws a `ConflictError` with code `nothing_to_increase` if the mandate already
     * allows it, and with code `agent_revoked` if its agent is revoked.
     *
     * @example
     * const { id, status } = await purser.mandates.requestIncrease(mandateId, {
     *   max_spend_total: '200.00',
     *   reason: 'The report needs more sources',
     * })
     */
    requestIncrease: async (
      id: string,
      body: IncreaseRequest,
      options?: CallOptions,
    ): Promise<ApprovalRequest> => {
      const asked = path`/v1/mandates/${id}/increase-requests`
      return (await send({ method: 'POST', path: asked, body, isRepeatable: true }, options))
        .body as ApprovalRequest
    },
    /**
     * Tries other terms on the history of a mandate: which decisions would have been different. Changes nothing. The
     * timeout is 40 seconds by default.
     *
     * @example
     * const { to_denied } = await purser.mandates.backtest(id, { draft: { max_spend_per_transaction: '2.00' } })
     * console.log(to_denied.payments, to_denied.amount, to_denied.examples)
     */
    backtest: async (id: string, body: BacktestRequest, options?: CallOptions): Promise<Backtest> => {
      const request = {
        method: 'POST',
        path: path`/v1/mandates/${id}/backtests`,
        body,
        isRepeatable: true,
      } as const
      return (await send(request, { timeout: backtestTimeoutMs, ...options })).body as Backtest
    },
    /**
     * Pauses a mandate, and voids its open proofs at once. Throws a `ConflictError` with code `mandate_revoked` if it
     * is revoked.
     *
     * @example
     * const { status } = await purser.mandates.pause(mandateId) // 'paused'
     */
    pause: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'PATCH', path: path`/mandates/${id}/pause` }, options)).body as Mandate,
    /**
     * Resumes a paused mandate. Throws a `ConflictError` with code `mandate_revoked` if it is revoked. Proofs voided by
     * the pause stay void.
     *
     * @example
     * const { status } = await purser.mandates.resume(mandateId) // 'active'
     */
    resume: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'PATCH', path: path`/mandates/${id}/resume` }, options)).body as Mandate,
    /**
     * Revokes a mandate permanently, and voids its open proofs at once. Throws a `NotFoundError` for an unknown one.
     *
     * @example
     * const { status } = await purser.mandates.revoke(mandateId) // 'revoked'
     */
    revoke: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'PATCH', path: path`/mandates/${id}/revoke` }, options)).body as Mandate,
  }
}
