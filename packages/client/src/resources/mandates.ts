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
    /** Creates a mandate; amounts are strings in USDC. Never retried automatically. */
    create: async (body: NewMandate, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'POST', path: '/mandates', body }, options)).body as Mandate,
    /** The mandates of the account, newest first. */
    list: (query?: ListMandatesQuery, options?: CallOptions): List<Mandate> =>
      listOf(send, '/mandates', query, options),
    /** One mandate, with the usage of its limits. Throws a `NotFoundError` if the key cannot see it. */
    get: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'GET', path: path`/mandates/${id}` }, options)).body as Mandate,
    /**
     * Changes terms of a mandate at once; `version` is the one that the changes are based on. Throws a
     * `ConflictError` with code `version_mismatch` if there is a later one, or `budget_below_committed` with
     * the figures in `body`. Narrower terms need no owner. Retried automatically: terms that already are as
     * requested are no conflict.
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
    /** The versions of a mandate's terms, newest first. */
    versions: (id: string, query?: PageQuery, options?: CallOptions): List<MandateVersion> =>
      listOf(send, path`/v1/mandates/${id}/versions`, query, options),
    /**
     * Requests wider terms from the owner. Nothing changes until an owner approves; repeating the request
     * returns the same approval, so it is retried. Throws a `ConflictError` with code `nothing_to_increase`
     * if the mandate already allows it, and with code `agent_revoked` if its agent is revoked.
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
    /** Pauses a mandate, and voids its open proofs at once. */
    pause: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'PATCH', path: path`/mandates/${id}/pause` }, options)).body as Mandate,
    /**
     * Resumes a paused mandate. Throws a `ConflictError` if it is revoked. Proofs voided by the pause stay
     * void.
     */
    resume: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'PATCH', path: path`/mandates/${id}/resume` }, options)).body as Mandate,
    /** Revokes a mandate permanently, and voids its open proofs at once. */
    revoke: async (id: string, options?: CallOptions): Promise<Mandate> =>
      (await send({ method: 'PATCH', path: path`/mandates/${id}/revoke` }, options)).body as Mandate,
  }
}
