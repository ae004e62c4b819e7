import { parseAmount, formatSum, type MicroUsdc } from '../../src/domain/money.ts'
import type { AuditEvent } from '../../src/domain/records.ts'
import type { Ids } from '../../src/ids.ts'
import {
  authorize,
  captureAuthorized,
  settleLateAuthorization,
  voidAuthorized,
} from '../../src/store/ledger/operations/authorizations.ts'
import type { AttemptCall } from '../../src/store/ledger/operations/captures.ts'
import { findEntry, refund } from '../../src/store/ledger/operations/refunds.ts'
import type { SeededRandom } from '../../testing/seeded-random.ts'
import { made, type RandomCall } from './random-call.ts'

interface Tools {
  readonly random: SeededRandom
  readonly ids: Ids
  readonly newEvent: (type: AuditEvent['type'], subjectId: string) => AuditEvent
}

/** Authorizes a payment. */
export function authorizeCall(attempt: AttemptCall, { random, newEvent }: Tools): RandomCall {
  const event = newEvent('payment.authorized', attempt.nonce)
  return made(authorize, { ...attempt, captureSeconds: random.pick([60, 86_400, 86_400]), event })
}

/** What a merchant may do with a payment that it has authorized, or has tried to authorize. */
export function collectionCall(attempt: AttemptCall, tools: Tools): RandomCall {
  const { random, ids, newEvent } = tools
  const { caller, payerId, nonce, amountText, idempotencyKey, nowMs } = attempt
  const amountMicro = someOf(amountText, random)
  // The account that pays is mostly known; otherwise the caller's own is tried first.
  const payer = random.below(4) === 0 ? caller.accountId : payerId
  const authorized = { caller, nonce, nowMs, payerId: payer }
  const transactionId = ids.next('transaction')
  const dice = random.below(20)
  if (dice < 8) {
    const wanted = random.pick([null, amountMicro])
    return made(captureAuthorized, { ...authorized, amountMicro: wanted, idempotencyKey, transactionId })
  }
  if (dice < 10) {
    return made(voidAuthorized, { ...authorized, event: newEvent('authorization.voided', nonce) })
  }
  if (dice < 11) return authorizeCall(attempt, tools)
  if (dice < 12) return made(settleLateAuthorization, attempt)
  if (dice < 13) return made(findEntry, { accountId: caller.accountId, id: transactionId })
  const event = () => newEvent('payment.refunded', transactionId)
  return made(refund, {
    caller,
    payerId,
    nonce,
    amountText: formatSum(amountMicro),
    amountMicro,
    reason: random.pick([null, 'Out of stock']),
    idempotencyKey: `return ${random.below(4)}`,
    refundId: transactionId,
    nowMs,
    events: { payer: event(), own: event() },
  })
}

/** Part of an amount, or rarely more. */
function someOf(amountText: string, random: SeededRandom): MicroUsdc {
  return BigInt(1 + random.below(Math.ceil(Number(parseAmount(amountText)) * 1.1))) as MicroUsdc
}
