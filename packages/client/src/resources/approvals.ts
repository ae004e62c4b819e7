import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import { path } from '../path.ts'
import type { Send } from '../send.ts'
import type { ApprovalRequest, ApprovalStatus, PageQuery } from '../wire-types.ts'

export interface ApprovalsQuery extends PageQuery {
  readonly status?: ApprovalStatus | undefined
  readonly mandate_id?: string | undefined
}

/** The note of a decision. */
export interface ApprovalNote {
  readonly note?: string | null | undefined
}

export type Approvals = ReturnType<typeof approvals>

export function approvals(send: Send) {
  const decide =
    (verb: 'approve' | 'deny') => async (id: string, body: ApprovalNote, options?: CallOptions) => {
      const asked = path`/v1/approvals/${id}`
      const request = { method: 'POST', path: `${asked}/${verb}`, body, isRepeatable: true } as const
      return (await send(request, options)).body as ApprovalRequest
    }
  const approve = decide('approve')
  const deny = decide('deny')
  return {
    /**
     * Approvals, newest first: the account's, or an agent's own requests with its key.
     *
     * @example
     * const waiting = await purser.approvals.list({ status: 'pending' }).toArray({ limit: 50 })
     */
    list: (query?: ApprovalsQuery, options?: CallOptions): List<ApprovalRequest> =>
      listOf(send, '/v1/approvals', query, options),
    /**
     * One approval. Throws a `NotFoundError` if the key cannot see it.
     *
     * @example
     * const { status, expires_at } = await purser.approvals.get(approval.id)
     */
    get: async (id: string, options?: CallOptions): Promise<ApprovalRequest> =>
      (await send({ method: 'GET', path: path`/v1/approvals/${id}` }, options)).body as ApprovalRequest,
    /**
     * Approves a payment, or an increase, which takes effect at once. With `required: 2` it is `pending` until a second
     * person approves. Throws a `PermissionError` with code `own_request` if the key made the request, and a
     * `ConflictError` if it is already decided, differently or by somebody else, or has expired. Safe to repeat, so it
     * is retried.
     *
     * @example
     * const { status } = await purser.approvals.approve(approval.id, { note: 'agreed with finance' })
     */
    approve: (id: string, body: ApprovalNote = {}, options?: CallOptions): Promise<ApprovalRequest> =>
      approve(id, body, options),
    /**
     * Denies a payment or an increase, or withdraws an unused approval. Throws as `approve` does. Safe to repeat, so it
     * is retried.
     *
     * @example
     * const { status } = await purser.approvals.deny(approval.id, { note: 'too expensive' })
     */
    deny: (id: string, body: ApprovalNote = {}, options?: CallOptions): Promise<ApprovalRequest> =>
      deny(id, body, options),
  }
}
