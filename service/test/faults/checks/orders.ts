import type { Complain } from '../complaint.ts'
import type { Dossier } from '../dossier.ts'
import type { CallOf, HoldContent } from '../history.ts'

type Ask = CallOf<'ask-proof'>

/** An order is paid once, a repeated request gets its first proof, and no refusal names a payment that never existed. */
export function checkOrders(dossier: Dossier, complain: Complain): void {
  const ofOrders = Map.groupBy(
    dossier.content.holds.filter(({ orderId }) => orderId !== null),
    ({ mandateId, orderId }) => `${mandateId} ${orderId}`,
  )
  for (const [order, holds] of ofOrders) checkProofs(dossier, order, holds, complain)
  for (const ask of dossier.callsOf('ask-proof')) {
    const { mandateId, orderId } = ask.request
    if (orderId !== undefined) checkAsk(dossier, ask, ofOrders.get(`${mandateId} ${orderId}`) ?? [], complain)
  }
  checkKeys(dossier, complain)
}

/** No proof of an order is charged if the order got another one: only one that had ended is replaced. */
function checkProofs(
  dossier: Dossier,
  order: string,
  holds: readonly HoldContent[],
  complain: Complain,
): void {
  const inOrder = holds.toSorted((one, other) => writtenMs(one) - writtenMs(other))
  const paid = inOrder.slice(0, -1).filter(({ nonce }) => dossier.paymentsOf(nonce).length > 0)
  for (const { nonce } of paid) complain('charged twice', order, `${nonce} is paid, and was replaced`)
}

function writtenMs({ writtenAtMs, issuedAtMs }: HoldContent): number {
  return writtenAtMs ?? issuedAtMs
}

/** An answer about an order is true at some moment of its request. */
function checkAsk(dossier: Dossier, ask: Ask, holds: readonly HoldContent[], complain: Complain): void {
  const { answer, request, beganMs, endedMs } = ask
  const order = `${request.mandateId} ${request.orderId}`
  if (answer.is === 'granted' && !holds.some(({ nonce }) => nonce === answer.nonce)) {
    complain('record differs', order, `${answer.nonce} was granted for it, and is for another order`)
  }
  const isPaid = holds.some(({ nonce }) => dossier.chargedSinceMs(nonce) < beganMs)
  if (answer.is === 'granted' && isPaid && request.idempotencyKey === undefined) {
    complain('untrue success', order, `${answer.nonce} was granted after it was paid`)
  }
  if (answer.is !== 'conflict') return
  const reasons: Readonly<Record<string, boolean>> = {
    order_already_paid: holds.some(({ nonce }) =>
      dossier.paymentsOf(nonce).some(({ createdAtMs }) => createdAtMs <= endedMs),
    ),
    order_mismatch: holds.some(({ amountMicro }) => amountMicro !== request.amountMicro),
    key_reused: sameKey(dossier, ask).some((other) => other.request.amountMicro !== request.amountMicro),
  }
  if (!reasons[answer.detail]) complain('failure unexplained', order, answer.detail)
}

function sameKey(dossier: Dossier, { keyId, request, endedMs }: Ask): readonly Ask[] {
  return dossier
    .callsOf('ask-proof')
    .filter(
      (other) =>
        other.keyId === keyId &&
        other.request.idempotencyKey === request.idempotencyKey &&
        other.beganMs <= endedMs,
    )
}

/** All requests with one key get one proof. */
function checkKeys(dossier: Dossier, complain: Complain): void {
  const keyed = dossier.callsOf('ask-proof').filter(({ request }) => request.idempotencyKey !== undefined)
  const byKey = Map.groupBy(keyed, ({ keyId, request }) => `${keyId} ${request.idempotencyKey}`)
  for (const [key, asks] of byKey) {
    const nonces = new Set(asks.flatMap(({ answer }) => (answer.is === 'granted' ? [answer.nonce] : [])))
    if (nonces.size > 1) complain('answers differ', key, `it got ${[...nonces].join(' and ')}`)
    const granted = asks.filter(({ answer }) => answer.is === 'granted' && !answer.isReplay)
    if (granted.length > 1) complain('answers differ', key, `it got ${granted.length} new proofs`)
  }
}
