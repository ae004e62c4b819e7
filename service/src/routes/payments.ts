import {
  getProof,
  issueProof,
  sandboxNetwork,
  sandboxScheme,
  verify,
  voidProof,
  type Proof,
  type ProofRecord,
  type ProofStatus,
  type VerificationFailure,
  type VerifyRequest,
} from '@purser/wire/payments'

import { normalizeHostName } from '../domain/host-name.ts'
import { parseAmount } from '../domain/money.ts'
import { holdDefaults } from '../domain/new-records.ts'
import { checkProof, checkProofContent, holdGraceMs, signProof, validityWindowMs } from '../domain/proof.ts'
import type { Caller, Hold } from '../domain/records.ts'
import { timeIn } from '../domain/time/test-clock.ts'
import { created, ok, refuse, replayed, type Answer } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import type { CaptureAttempt } from '../store/store.ts'
import { consoleUrl, requesterOf, toReference } from './approvals.ts'
import {
  eventBy,
  metadataOf,
  ownAgentOnly,
  speaksFor,
  toNullableTimestamp,
  toTimestamp,
  type RouteContext,
  type VerificationRefusal,
} from './context.ts'
import { refusalDetailsOf } from './limits.ts'

export function servePayments(serve: Serve, context: RouteContext): void {
  const { store, now, ids, proofKeys, site, decisions } = context

  serve(issueProof, async ({ caller, session, body, header, idempotencyKey }) => {
    if (caller.environment === 'production') return refuse('production_payments_not_supported')
    if (!speaksFor(caller, body.agent_id)) return refuse('insufficient_scope')
    if (idempotencyKey === undefined) return refuse('invalid_idempotency_key')
    const nowMs = timeIn(caller, now)
    const hold: Hold = {
      accountId: caller.accountId,
      environment: caller.environment,
      nonce: ids.nonce(),
      agentId: body.agent_id,
      mandateId: body.mandate_id,
      amountText: body.amount,
      amountMicro: parseAmount(body.amount),
      currency: body.currency ?? 'USDC',
      resourceUrl: body.resource_url,
      ...holdDefaults,
      issuedAtMs: nowMs,
      expiresAtMs: nowMs + validityWindowMs + holdGraceMs,
      category: body.category ?? null,
      orderId: body.order_id ?? null,
      metadata: metadataOf(body),
    }
    const requestKey = idempotencyKey === null ? undefined : { callerId: caller.keyId, idempotencyKey }
    const outcome = await store.issueProof(hold, requestKey, {
      approvalId: body.approval_id ?? undefined,
      requester: requesterOf(caller, session),
    })
    switch (outcome.decision) {
      case 'approved':
        decisions?.countProof(caller.environment, 'approved')
        return created({ proof: proofOf(hold) })
      case 'replayed':
        decisions?.countProof(caller.environment, 'replayed')
        return created({ proof: proofOf(outcome.hold) }, replayed)
      case 'key_reused':
        decisions?.countProof(caller.environment, 'refused', 'idempotency_key_reused')
        return refuse('idempotency_key_reused')
      case 'order_already_paid':
      case 'order_mismatch':
        decisions?.countProof(caller.environment, 'refused', outcome.decision)
        return refuse(outcome.decision)
      case 'denied':
        decisions?.countProof(caller.environment, 'denied', outcome.code)
        return {
          status: 402,
          body: {
            decision: 'denied',
            reason_code: outcome.code,
            reason_detail: outcome.detail,
            agent_id: hold.agentId,
            mandate_id: hold.mandateId,
            ...(outcome.approval && { approval: toReference(outcome.approval, consoleUrl(site, header)) }),
            ...refusalDetailsOf(outcome),
          },
        }
      default:
        return outcome satisfies never
    }
  })

  /** The proof of a hold. It is deterministic as long as the first secret does not change. */
  function proofOf(hold: Hold): Proof {
    return signProof(toUnsignedProof(hold), proofKeys[hold.environment])
  }

  serve(
    verify,
    async ({ caller, body, idempotencyKey, confirmCaller, callerIsConfirmed }) => {
      if (idempotencyKey === undefined) return refuseAttempt(context, caller, 'invalid_idempotency_key')
      const attempt = attemptOf(caller, body, idempotencyKey)
      const nowMs = now()

      const { failure, mayBeRetry } = await checkInTime(context, attempt, body, nowMs) // 1, 2, 3
      const late = mayBeRetry ? await store.settleLate({ ...attempt, nowMs }) : undefined
      if (late?.outcome === 'replayed') return verified(caller, late.transactionId, { isReplay: true })
      if (failure) {
        if (confirmCaller && !(await confirmCaller()))
          return refuseAttempt(context, caller, 'invalid_api_key')
        return notVerified(attempt, failure)
      }

      const transactionId = ids.next('transaction')
      const outcome = await store.capture({ ...attempt, transactionId, nowMs }) // 4 to 8
      if (outcome.outcome === 'captured') callerIsConfirmed()
      else if (confirmCaller && !(await confirmCaller()))
        return refuseAttempt(context, caller, 'invalid_api_key')
      switch (outcome.outcome) {
        case 'captured':
          return verified(caller, outcome.transactionId, { isReplay: false })
        case 'replayed':
          return verified(caller, outcome.transactionId, { isReplay: true })
        case 'failed':
          return notVerified(attempt, outcome.reason)
        case 'refused':
          return refuseAttempt(context, caller, outcome.code)
        default:
          return outcome satisfies never
      }
    },
    { confirmsCaller: store.confirmsCallers },
  )

  function verified(caller: Caller, transactionId: string, { isReplay }: { isReplay: boolean }): Answer {
    decisions?.countVerification(caller.environment, isReplay ? 'replayed' : 'captured')
    return ok({ verified: true, transaction_id: transactionId }, isReplay ? replayed : undefined)
  }

  async function notVerified(attempt: CaptureAttempt, reason: VerificationFailure): Promise<Answer> {
    await countFailure(context, attempt, reason)
    return { status: 402, body: { verified: false, reason } }
  }

  serve(getProof, async ({ caller, params }) => {
    const hold = await store.findProof({ ...caller, nonce: params.nonce })
    if (!hold || !(await maySee(caller, hold))) return refuse('not_found')
    // The account that pays may have a test clock of its own.
    const isOwn = hold.accountId === caller.accountId
    const atMs = isOwn ? timeIn(caller, now) : now() + (await store.readClock(hold))
    return ok(toWire(hold, atMs))
  })

  serve(voidProof, async ({ caller, params }) => {
    const { nonce } = params
    const event = eventBy({ ids, now }, caller, 'proof.voided', nonce)
    const hold = await store.voidProof({ ...caller, nonce }, ownAgentOnly(caller), event)
    if (!hold) return refuse('not_found')
    if (hold.status === 'captured') return refuse('proof_captured')
    return hold.status === 'authorized' ? refuse('proof_authorized') : ok(toWire(hold, timeIn(caller, now)))
  })

  /** A merchant sees proofs that it could still collect, and payments to its account's sellers. */
  async function maySee(caller: Caller, hold: Hold): Promise<boolean> {
    if (caller.role !== 'merchant' || hold.transactionId === null) return speaksFor(caller, hold.agentId)
    const received = { receivedOnly: true }
    return (await store.findTransaction({ ...caller, id: hold.transactionId }, received)) !== undefined
  }
}

/**
 * Steps 1 to 3 of a proof, by the clock of the service and that of the account that pays. `mayBeRetry`: the window has closed
 * for new payments, but not for replaying one that was made in time.
 */
export async function checkInTime(
  { store, proofKeys }: Pick<RouteContext, 'store' | 'proofKeys'>,
  { caller: { environment }, idempotencyKey }: CaptureAttempt,
  { proof, expected_amount: amount, expected_currency: currency = 'USDC' }: VerifyRequest,
  nowMs: number,
) {
  const keys = proofKeys[environment]
  const check = (atMs: number) => checkProof(proof, { amount, currency }, keys, atMs)
  let failure = check(nowMs)
  // The clock is asked for only if we have signed the proof, so that no payment without one reads more.
  if (failure && environment === 'sandbox' && !checkProofContent(proof, proof, keys)) {
    const offsetMs = await store.readClockOfMandate(proof.mandateId, environment)
    if (offsetMs !== 0) failure = check(nowMs + offsetMs)
  }
  const isLate = failure === 'proof_expired' && idempotencyKey !== null
  return { failure, mayBeRetry: isLate && !checkProofContent(proof, { amount, currency }, keys) }
}

/** The attempt of a caller to collect the payment of a proof. */
export function attemptOf(
  caller: Caller,
  { proof, merchant_domain: merchantDomain, category = null }: VerifyRequest,
  idempotencyKey: string | null,
): CaptureAttempt {
  return {
    caller,
    nonce: proof.nonce,
    agentId: proof.agentId,
    mandateId: proof.mandateId,
    amountText: proof.amount,
    currency: proof.currency,
    resourceUrl: proof.resource,
    merchantDomain,
    category,
    idempotencyKey,
  }
}

/** Counts and answers an attempt that is refused before the proof is checked, or because of who made it. */
export function refuseAttempt(
  { decisions }: Pick<RouteContext, 'decisions'>,
  { environment }: Caller,
  code: VerificationRefusal,
): Answer {
  decisions?.countVerification(environment, 'refused', code)
  return refuse(code)
}

/** Counts a failed verification, also for the seller of the caller's account, if it has registered the domain. */
export async function countFailure(
  { store, tally, decisions }: Pick<RouteContext, 'store' | 'tally' | 'decisions'>,
  { caller, merchantDomain }: CaptureAttempt,
  reason: VerificationFailure,
): Promise<void> {
  decisions?.countVerification(caller.environment, 'failed', reason)
  const domain = normalizeHostName(merchantDomain)
  // Unknown domains are not counted. If the store fails, nothing is counted, but the response is still correct.
  const isOwn = await store.ownsDomain({ ...caller, domain }).catch(() => false)
  if (isOwn) tally.countRefusal(caller, { subject: domain, reason })
}

function toUnsignedProof(hold: Hold) {
  return {
    scheme: sandboxScheme,
    network: sandboxNetwork,
    agentId: hold.agentId,
    mandateId: hold.mandateId,
    amount: hold.amountText,
    currency: hold.currency,
    resource: hold.resourceUrl,
    nonce: hold.nonce,
    timestamp: toTimestamp(hold.issuedAtMs).replace('Z', '+00:00'),
  }
}

/** An expired hold stays open or authorized until the sweep, but can no longer be captured. */
export function statusAt({ status, expiresAtMs, captureDeadlineMs }: Hold, nowMs: number): ProofStatus {
  const endsAtMs = status === 'open' ? expiresAtMs : status === 'authorized' ? captureDeadlineMs : Infinity
  return (endsAtMs ?? 0) > nowMs ? status : 'expired'
}

/** As the interface writes it. */
export function toWire(hold: Hold, nowMs: number): ProofRecord {
  return {
    nonce: hold.nonce,
    status: statusAt(hold, nowMs),
    agent_id: hold.agentId,
    mandate_id: hold.mandateId,
    amount: hold.amountText,
    currency: hold.currency,
    resource: hold.resourceUrl,
    issued_at: toTimestamp(hold.issuedAtMs),
    expires_at: toTimestamp(hold.expiresAtMs),
    capture_deadline: toNullableTimestamp(hold.captureDeadlineMs),
    transaction_id: hold.transactionId,
    captured_amount: hold.capturedText ?? null,
    order_id: hold.orderId,
  }
}
