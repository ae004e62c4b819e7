import type { Sleep } from '../options.ts'
import type { Purser } from '../purser.ts'
import type { ProofDecision, ProofOptions } from '../resources/payments.ts'
import { sleep as sleepFor } from '../retries.ts'
import type { ApprovalReference, ProofRequest } from '../wire-types.ts'

export interface AwaitApprovalOptions {
  /** Max milliseconds to wait; at most until the approval expires. */
  readonly waitMs: number
  readonly signal?: AbortSignal | undefined
  readonly sleep?: Sleep | undefined
}

/** How long to pause before the status of an approval is read again, in milliseconds: first, and at most. */
const pausesMs = { first: 500, most: 5_000 }

/**
 * Waits until a person has decided on an approval, it expires, or the time is up. Resolves to its last
 * status. Throws the errors of `approvals.get`, and the signal's reason if it aborts.
 *
 * @example
 * const { status } = await awaitApproval(purser, approval, { waitMs: 120_000 })
 */
export async function awaitApproval(
  client: Pick<Purser, 'approvals'>,
  approval: ApprovalReference,
  { waitMs, signal, sleep = sleepFor }: AwaitApprovalOptions,
): Promise<ApprovalReference> {
  let latest = approval
  let leftMs = waitMs
  for (let pauseMs = pausesMs.first; latest.status === 'pending' && leftMs > 0; pauseMs *= 2) {
    const nextMs = Math.min(pauseMs, pausesMs.most, leftMs)
    await sleep(nextMs, signal)
    leftMs -= nextMs
    const { id, status, expires_at, url } = await client.approvals.get(approval.id, { signal })
    latest = { id, status, expires_at, url }
  }
  return latest
}

export interface ApprovedProofOptions extends ProofOptions {
  /** Called if a person has yet to decide. Resolves to the approval, decided or not. */
  readonly onPending?: ((approval: ApprovalReference) => Promise<ApprovalReference>) | undefined
}

/**
 * Requests a proof, and uses the approval that a person has given, now or before. The idempotency key covers both requests:
 * a denial does not use it up. Throws the errors of `payments.requestProof`.
 *
 * @example
 * const granted = await requestApprovedProof(purser, payment, {
 *   onPending: (approval) => awaitApproval(purser, approval, { waitMs: 120_000 }),
 * })
 */
export async function requestApprovedProof(
  client: Pick<Purser, 'payments'>,
  body: ProofRequest,
  { onPending, ...options }: ApprovedProofOptions = {},
): Promise<ProofDecision> {
  const first = await client.payments.requestProof(body, options)
  if (first.decision === 'approved' || !first.approval) return first
  const { approval: asked } = first
  const approval = asked.status === 'pending' && onPending ? await onPending(asked) : asked
  // The first answer says what was true before the wait.
  const isAnswered = approval.status === asked.status && approval.status !== 'approved'
  if (isAnswered) return { ...first, approval }
  return client.payments.requestProof({ ...body, approval_id: approval.id }, options)
}
