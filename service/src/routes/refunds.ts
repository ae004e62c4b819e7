import { refundTransaction } from '@purser/wire/refunds'

import { parseAmount } from '../domain/money.ts'
import { created, refuse, replayed } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import { eventBy, type RouteContext } from './context.ts'
import { toWire } from './transactions.ts'

export function serveRefunds(
  serve: Serve,
  { store, now, ids }: Pick<RouteContext, 'store' | 'now' | 'ids'>,
): void {
  serve(refundTransaction, async ({ caller, params, body, idempotencyKey }) => {
    if (idempotencyKey === null) return refuse('idempotency_key_required')
    if (idempotencyKey === undefined) return refuse('invalid_idempotency_key')
    const nowMs = now()
    const refundId = ids.next('transaction')
    // The store adds the payment, and records the second one only if another account has paid.
    const event = () => eventBy({ ids, now }, caller, 'payment.refunded', refundId, { atMs: nowMs })
    const outcome = await store.refund(
      {
        caller,
        transactionId: params.transaction_id,
        refundId,
        amountText: body.amount,
        amountMicro: parseAmount(body.amount),
        reason: body.reason ?? null,
        idempotencyKey,
        nowMs,
      },
      { payer: event(), own: event() },
    )
    if (outcome.outcome === 'refused') {
      // A merchant's key does not see payments that other accounts collected.
      const isHidden = outcome.code === 'seller_not_yours' && caller.role === 'merchant'
      return refuse(isHidden ? 'not_found' : outcome.code)
    }
    const refund = await store.findTransaction({ ...caller, id: outcome.refundId }, {})
    if (!refund) throw new Error(`the refund ${outcome.refundId} was recorded and is not there`)
    return created(toWire(refund), outcome.outcome === 'replayed' ? replayed : undefined)
  })
}
