import { validityWindowMs } from '../../../src/domain/proof.ts'
import type { Complain } from '../complaint.ts'
import { isFateUnknown, isVerified, latestMs } from '../calls.ts'
import type { Dossier } from '../dossier.ts'
import type { CallOf, HoldContent, TransactionContent } from '../history.ts'

type Verification = CallOf<'verify'>

/** Every charge occurs once and is acknowledged or explained, and every answer about it is true. */
export function checkCharges(dossier: Dossier, complain: Complain): void {
  const verified = dossier.callsOf('verify').map(({ request }) => request.nonce)
  const paid = dossier.payments.map(({ nonce }) => nonce ?? '')
  for (const nonce of new Set([...verified, ...paid])) {
    const attempts = dossier.verificationsOf(nonce)
    const [payment, second] = dossier.paymentsOf(nonce)
    if (second) complain('charged twice', nonce, `paid by ${payment?.id} and by ${second.id}`)
    if (attempts.filter((attempt) => isVerified(attempt) && !isReplay(attempt)).length > 1) {
      complain('charged twice', nonce, 'two verifications got the answer of the first')
    }
    const hold = dossier.holds.get(nonce)
    // `checkAuthorizations` checks payments in two steps.
    if (hold && hold.captureDeadlineMs !== null) continue
    if (payment && hold) checkPayment(attempts, { payment, hold }, complain)
    for (const attempt of attempts) checkVerification(dossier, attempt, { payment, hold }, complain)
  }
}

/** Some request must have made the payment, and its collector must learn of it. */
function checkPayment(
  attempts: readonly Verification[],
  { payment, hold }: { readonly payment: TransactionContent; readonly hold: HoldContent },
  complain: Complain,
): void {
  const { nonce } = hold
  const own = attempts.filter((attempt) => isOwn(attempt, hold))
  const makers = own.filter(
    (attempt) =>
      attempt.beganMs <= payment.createdAtMs &&
      payment.createdAtMs <= latestMs(attempt) &&
      (isFateUnknown(attempt) || (isVerified(attempt) && !isReplay(attempt))),
  )
  if (makers.length === 0) {
    const failed = own.find(({ answer }) => answer.is === 'failed')
    if (failed) complain('untrue failure', nonce, `${payment.id} stands, though the payment was refused`)
    else complain('charge unexplained', nonce, `no verification can have made ${payment.id}`)
  }
  const first = own.find((attempt) => isVerified(attempt) && !isReplay(attempt))
  if (first && !makers.includes(first)) {
    complain('untrue success', nonce, `${payment.id} was not made during its request`)
  }
  const isTold = own.some(({ answer }) =>
    ['verified', 'failed', 'unauthorized', 'conflict'].includes(answer.is),
  )
  if (!isTold) complain('charge untold', nonce, `${payment.id} stands, and its collector never got to know`)
}

interface Truth {
  readonly payment: TransactionContent | undefined
  readonly hold: HoldContent | undefined
}

function checkVerification(dossier: Dossier, attempt: Verification, truth: Truth, complain: Complain): void {
  const { answer, endedMs } = attempt
  const { nonce } = attempt.request
  const { payment, hold } = truth
  if (answer.is === 'verified') {
    if (!payment) {
      complain('charge lost', nonce, `${answer.transactionId} was acknowledged and is not in the ledger`)
    } else if (payment.id !== answer.transactionId) {
      complain(
        'answers differ',
        nonce,
        `the answer named ${answer.transactionId}, but ${payment.id} is in the ledger`,
      )
    } else if (hold && !isOwn(attempt, hold)) {
      complain('untrue success', nonce, `a caller that did not collect ${payment.id} got its answer`)
    } else if (endedMs < payment.createdAtMs) {
      complain('untrue success', nonce, `${payment.id} was answered before it was made`)
    }
  }
  if (answer.is !== 'failed' || !hold) return
  if (answer.reason === 'nonce_reused') {
    if (isOwn(attempt, hold)) complain('untrue failure', nonce, 'its own collector got nonce_reused')
    else if (!payment || endedMs < payment.createdAtMs) {
      complain('failure unexplained', nonce, 'nonce_reused, but it had not been used')
    }
  } else if (answer.reason !== 'proof_expired') {
    complain('failure unexplained', nonce, answer.reason)
  } else if (payment && isOwn(attempt, hold)) {
    if (!wasOvertaken(dossier, attempt))
      complain('untrue failure', nonce, 'a proof that was paid: proof_expired')
  } else if (!wasOver(dossier, attempt, hold)) {
    complain('failure unexplained', nonce, 'proof_expired, and it was not')
  }
}

/** Whether an earlier attempt of the same collector was still in progress and then paid after all. */
function wasOvertaken(dossier: Dossier, attempt: Verification): boolean {
  const { keyId, request } = attempt
  const others = dossier.verificationsOf(request.nonce).filter((other) => other !== attempt)
  return others.some(
    (other) =>
      other.keyId === keyId &&
      other.request.idempotencyKey === request.idempotencyKey &&
      other.beganMs <= attempt.endedMs &&
      latestMs(other) >= attempt.beganMs,
  )
}

/** Whether the proof may have ended at some moment of the request, by time or by a stop. */
function wasOver(dossier: Dossier, { endedMs }: Verification, hold: HoldContent): boolean {
  if (endedMs - hold.issuedAtMs > validityWindowMs - dossier.skewMs) return true
  const { issuedAtMs } = hold
  const agentId = dossier.mandates.get(hold.mandateId)?.agentId ?? ''
  // A proof of a revoked agent or a disabled account may expire before it is ended, if its mandate was locked meanwhile.
  const stops =
    hold.status === 'voided'
      ? dossier.endsOf(hold)
      : [...dossier.revocationsOfAgent(agentId), ...dossier.disablings]
  return (
    stops.some((stop) => stop.beganMs <= endedMs && latestMs(stop) >= issuedAtMs) ||
    dossier.otherEndsOf(hold).some((end) => end.beganMs <= endedMs)
  )
}

function isOwn({ keyId, request }: Verification, { capturedBy, idempotencyKey }: HoldContent): boolean {
  return keyId === capturedBy && request.idempotencyKey === idempotencyKey
}

function isReplay({ answer }: Verification): boolean {
  return answer.is === 'verified' && answer.isReplay
}
