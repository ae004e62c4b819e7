import type { Complain } from '../complaint.ts'
import { isFateUnknown, isVerified, latestMs } from '../calls.ts'
import type { Dossier } from '../dossier.ts'
import {
  isRefundedWhole,
  type Call,
  type CallOf,
  type HoldContent,
  type TransactionContent,
} from '../history.ts'

/**
 * Payments in two steps: authorized once, then captured, voided or overdue; and refunds, never above the
 * charge.
 */
export function checkAuthorizations(dossier: Dossier, complain: Complain): void {
  for (const { answer, request } of dossier.callsOf('authorize')) {
    const hold = dossier.holds.get(request.nonce)
    if (answer.is === 'authorized' && hold?.captureDeadlineMs === null) {
      complain('record lost', request.nonce, 'its authorization was acknowledged and is not in the ledger')
    }
  }
  for (const hold of dossier.content.holds) {
    if (hold.captureDeadlineMs === null) continue
    checkMakers(dossier, hold, complain)
    checkEnd(dossier, hold, complain)
  }
  checkRefunds(dossier, complain)
}

/** Some request must have authorized it, once, and only its caller gets that answer. */
function checkMakers(dossier: Dossier, hold: HoldContent, complain: Complain): void {
  const { nonce } = hold
  const attempts = dossier.actsOf(nonce, 'authorize')
  const own = attempts.filter(
    ({ keyId, request }) => keyId === hold.authorizedBy && request.idempotencyKey === hold.authorizationKey,
  )
  if (!own.some((call) => isFateUnknown(call) || isAuthorized(call, { isReplay: false }))) {
    complain('record unexplained', nonce, 'no request can have authorized it')
  }
  if (attempts.filter((call) => isAuthorized(call, { isReplay: false })).length > 1) {
    complain('charged twice', nonce, 'two requests got the answer that they authorized it')
  }
  for (const attempt of attempts) {
    if (attempt.answer.is === 'authorized' && !own.includes(attempt)) {
      complain('untrue success', nonce, 'a caller that did not authorize it got the answer that it did')
    }
    const isFailed = attempt.answer.is === 'failed' && attempt.answer.reason === 'nonce_reused'
    if (isFailed && own.includes(attempt))
      complain('untrue failure', nonce, 'its own merchant got nonce_reused')
  }
  for (const { answer } of dossier.verificationsOf(nonce)) {
    if (answer.is === 'verified') complain('charged twice', nonce, 'it was authorized, and verified as well')
  }
}

/** At most one capture, by a request for that amount, and every answer about it is true. */
function checkEnd(dossier: Dossier, hold: HoldContent, complain: Complain): void {
  const { nonce } = hold
  const captures = dossier.actsOf(nonce, 'capture-authorized')
  const voids = dossier.actsOf(nonce, 'void-authorized')
  const [payment, second] = dossier.paymentsOf(nonce)
  if (second) complain('charged twice', nonce, `paid by ${payment?.id} and by ${second.id}`)
  if (captures.filter((call) => isVerified(call) && !isReplay(call)).length > 1) {
    complain('charged twice', nonce, 'two captures got the answer of the first')
  }
  if (payment && !captures.some((call) => isMaker(call, { hold, payment }))) {
    complain('charge unexplained', nonce, `no capture can have made ${payment.id}`)
  }
  for (const call of captures) checkCapture(dossier, call, { hold, payment }, complain)
  for (const call of voids) {
    const { answer } = call
    if (answer.is === 'proof' && answer.status !== hold.status) {
      complain('untrue success', nonce, `the answer was ${answer.status}, but it is ${hold.status}`)
    }
    if (answer.is === 'conflict' && !wasCharged(payment, call, dossier)) {
      complain('failure unexplained', nonce, `${answer.detail}, and it was not`)
    }
  }
}

function checkCapture(
  dossier: Dossier,
  call: CallOf<'capture-authorized'>,
  { hold, payment }: { readonly hold: HoldContent; readonly payment: TransactionContent | undefined },
  complain: Complain,
): void {
  const { answer } = call
  const { nonce } = hold
  if (answer.is === 'verified') {
    if (!payment) complain('charge lost', nonce, `${answer.transactionId} was acknowledged and is not there`)
    else if (payment.id !== answer.transactionId) {
      complain(
        'answers differ',
        nonce,
        `the answer named ${answer.transactionId}, but ${payment.id} is in the ledger`,
      )
    } else if (!isOwn(call, hold))
      complain('untrue success', nonce, 'another caller got the answer of the capture')
    return
  }
  if (answer.is !== 'conflict') return
  const isTrue = {
    already_captured: wasCharged(payment, call, dossier) && (!isOwn(call, hold) || isRefundedWhole(hold)),
    authorization_voided: dossier
      .actsOf(nonce, 'void-authorized')
      .some(({ beganMs }) => beganMs <= call.endedMs && hold.status === 'voided'),
    authorization_expired: call.endedMs >= (hold.captureDeadlineMs ?? 0) - dossier.skewMs,
  }[answer.detail]
  if (isTrue !== true) complain('failure unexplained', nonce, `${answer.detail}, and it was not`)
}

function isMaker(
  call: CallOf<'capture-authorized'>,
  { hold, payment }: { readonly hold: HoldContent; readonly payment: TransactionContent },
): boolean {
  const { beganMs, request } = call
  return (
    isOwn(call, hold) &&
    (request.amountMicro ?? hold.amountMicro) === payment.amountMicro &&
    beganMs <= payment.createdAtMs &&
    payment.createdAtMs <= latestMs(call) &&
    (isFateUnknown(call) || (isVerified(call) && !isReplay(call)))
  )
}

function isOwn({ keyId, request }: CallOf<'capture-authorized'>, hold: HoldContent): boolean {
  return keyId === hold.capturedBy && request.idempotencyKey === hold.idempotencyKey
}

function wasCharged(
  payment: TransactionContent | undefined,
  { endedMs }: Call,
  { skewMs }: Dossier,
): boolean {
  return payment !== undefined && payment.createdAtMs <= endedMs + skewMs
}

/** The refunds of a payment are the requested ones, and never exceed its charge. */
function checkRefunds(dossier: Dossier, complain: Complain): void {
  const recorded = new Map(dossier.refunds.map((refund) => [refund.id, refund]))
  const copies = dossier.content.transactions.filter(
    ({ side, status }) => side === 'payee' && status === 'refunded',
  )
  for (const payment of dossier.payments) {
    const { nonce } = payment
    const refunds = dossier.refundsOf(nonce ?? '')
    const refundedMicro = refunds.reduce((sum, { amountMicro }) => sum + amountMicro, 0n)
    if (refundedMicro > payment.amountMicro) {
      complain('overspent', payment.id, `${refundedMicro} refunded of ${payment.amountMicro}`)
    }
    if (refundedMicro !== (dossier.holds.get(nonce ?? '')?.refundedMicro ?? 0n)) {
      complain('sums differ', payment.id, `its refunds are ${refundedMicro}`)
    }
    const calls = dossier.refundCallsOf(payment.id)
    // Calls with one idempotency key are one refund.
    const wanted = Map.groupBy(calls, ({ request }) => request.idempotencyKey)
    const possible = [...wanted.values()].filter((same) =>
      same.some((call) => isFateUnknown(call) || isRefunded(call)),
    )
    if (refunds.length > possible.length) {
      complain('record unexplained', payment.id, `${refunds.length} refunds, ${possible.length} requested`)
    }
    for (const call of calls) checkRefund(dossier, call, { payment, refunds }, complain)
    for (const { id, amountMicro, isBetweenAccounts } of refunds) {
      const copy = copies.find((one) => one.id === id)
      if (isBetweenAccounts !== (copy !== undefined) || (copy && copy.amountMicro !== amountMicro)) {
        complain('record differs', id, 'the two accounts do not have the same refund')
      }
    }
  }
  for (const { answer } of dossier.callsOf('refund')) {
    if (answer.is === 'refunded' && !recorded.has(answer.refundId)) {
      complain('record lost', answer.refundId, 'the refund was acknowledged and is not in the ledger')
    }
  }
}

function checkRefund(
  { skewMs }: Dossier,
  { answer, request, endedMs }: CallOf<'refund'>,
  {
    payment,
    refunds,
  }: { readonly payment: TransactionContent; readonly refunds: readonly TransactionContent[] },
  complain: Complain,
): void {
  if (answer.is === 'refunded') {
    const refund = refunds.find(({ id }) => id === answer.refundId)
    if (refund?.amountMicro !== request.amountMicro) {
      complain('record differs', payment.id, 'a refund has another amount than requested')
    }
  }
  if (answer.is !== 'conflict') return
  const earlier = refunds.filter(({ createdAtMs }) => createdAtMs <= endedMs + skewMs)
  const refundedMicro = earlier.reduce((sum, { amountMicro }) => sum + amountMicro, 0n)
  const isFull = refundedMicro + request.amountMicro > payment.amountMicro
  if (answer.detail !== 'refund_exceeds_payment' || !isFull) {
    complain('failure unexplained', payment.id, `${answer.detail}, and only ${refundedMicro} were refunded`)
  }
}

function isAuthorized({ answer }: Call, { isReplay }: { readonly isReplay: boolean }): boolean {
  return answer.is === 'authorized' && answer.isReplay === isReplay
}

function isReplay({ answer }: Call): boolean {
  return answer.is === 'verified' && answer.isReplay
}

function isRefunded({ answer }: Call): boolean {
  return answer.is === 'refunded'
}
