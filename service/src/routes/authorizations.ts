import {
  authorize,
  capture,
  voidAuthorization,
  type Authorization as WireAuthorization,
} from '@purser/wire/authorizations'
import { captureSeconds } from '@purser/wire/mandates'
import type { VerificationFailure } from '@purser/wire/payments'

import { parseAmount } from '../domain/money.ts'
import type { Caller, Hold } from '../domain/records.ts'
import { ok, refuse, replayed, type Answer } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import type { CaptureAttempt } from '../store/store.ts'
import { eventBy, toTimestamp, type RouteContext } from './context.ts'
import { attemptOf, checkInTime, countFailure, refuseAttempt, statusAt } from './payments.ts'

/** Payments in two steps: authorized first, then captured or voided by the merchant. */
export function serveAuthorizations(serve: Serve, context: RouteContext): void {
  const { store, now, ids, decisions } = context

  serve(authorize, async ({ caller, body, idempotencyKey }) => {
    if (idempotencyKey === undefined) return refuseAttempt(context, caller, 'invalid_idempotency_key')
    const nowMs = now()
    const attempt = { ...attemptOf(caller, body, idempotencyKey), nowMs }

    const { failure, mayBeRetry } = await checkInTime(context, attempt, body, nowMs) // 1, 2, 3
    const late = mayBeRetry ? await store.settleLateAuthorization(attempt) : undefined
    if (late?.outcome === 'replayed') return authorized(caller, late.hold, { isReplay: true })
    if (failure) return notAuthorized(attempt, failure)

    const seconds = body.capture_seconds ?? captureSeconds.default
    // In the log of the account that pays, which the store fills in.
    const event = eventBy(context, caller, 'payment.authorized', attempt.nonce, { atMs: nowMs })
    const outcome = await store.authorize({ ...attempt, captureSeconds: seconds }, event) // 4
    switch (outcome.outcome) {
      case 'authorized':
        return authorized(caller, outcome.hold, { isReplay: false })
      case 'replayed':
        return authorized(caller, outcome.hold, { isReplay: true })
      case 'failed':
        return notAuthorized(attempt, outcome.reason)
      case 'refused':
        return refuseAttempt(context, caller, outcome.code)
      default:
        return outcome satisfies never
    }
  })

  serve(capture, async ({ caller, params, body, idempotencyKey }) => {
    if (idempotencyKey === undefined) return refuse('invalid_idempotency_key')
    const outcome = await store.captureAuthorized({
      caller,
      nonce: params.nonce,
      amountMicro: body.amount === undefined ? null : parseAmount(body.amount),
      idempotencyKey,
      transactionId: ids.next('transaction'),
      nowMs: now(),
    })
    if (outcome.outcome === 'refused') return refuse(outcome.code)
    decisions?.countVerification(caller.environment, outcome.outcome)
    const answer = { verified: true, transaction_id: outcome.transactionId, amount: outcome.amountText }
    return ok(answer, outcome.outcome === 'replayed' ? replayed : undefined)
  })

  serve(voidAuthorization, async ({ caller, params: { nonce } }) => {
    const nowMs = now()
    const event = eventBy(context, caller, 'authorization.voided', nonce, { atMs: nowMs })
    const outcome = await store.voidAuthorized({ caller, nonce, nowMs }, event)
    if (outcome.outcome === 'refused') return refuse(outcome.code)
    return ok(toWire(outcome.hold, await timeOf(outcome.hold)))
  })

  /** The time in the account that pays. Only sandboxes have their own clock. */
  async function timeOf(hold: Hold): Promise<number> {
    return now() + (hold.environment === 'sandbox' ? await store.readClock(hold) : 0)
  }

  async function authorized(
    caller: Caller,
    hold: Hold,
    { isReplay }: { readonly isReplay: boolean },
  ): Promise<Answer> {
    decisions?.countVerification(caller.environment, isReplay ? 'replayed' : 'authorized')
    const authorization = toWire(hold, await timeOf(hold))
    return ok({ authorized: true, authorization }, isReplay ? replayed : undefined)
  }

  async function notAuthorized(attempt: CaptureAttempt, reason: VerificationFailure): Promise<Answer> {
    await countFailure(context, attempt, reason)
    return { status: 402, body: { authorized: false, reason } }
  }
}

function toWire(hold: Hold, nowMs: number): WireAuthorization {
  const deadlineMs = hold.captureDeadlineMs ?? 0
  return {
    nonce: hold.nonce,
    amount: hold.amountText,
    capture_deadline: toTimestamp(deadlineMs),
    capture_seconds_left: Math.max(0, Math.floor((deadlineMs - nowMs) / 1_000)),
    status: statusAt(hold, nowMs),
  }
}
