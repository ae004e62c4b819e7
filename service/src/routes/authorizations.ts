import {
  authorize,
  capture,
  voidAuthorization,
  type Authorization as WireAuthorization,
} from '@purser/wire/authorizations'
import { captureSeconds } from '@purser/wire/mandates'
import type { VerificationFailure } from '@purser/wire/payments'

import { parseAmount } from '../domain/money.ts'
import { checkProof, checkProofContent } from '../domain/proof.ts'
import type { Caller, Hold } from '../domain/records.ts'
import { ok, refuse, type Answer } from '../http/answers.ts'
import { isIdempotencyKey } from '../http/idempotency-key.ts'
import type { Serve } from '../http/serve.ts'
import { eventBy, toTimestamp, type RouteContext, type VerificationRefusal } from './context.ts'
import { attemptOf, checkByTestClock, countFailure, replayed, statusAt } from './payments.ts'

/** Payments in two steps: authorized first, then captured or voided by the merchant. */
export function serveAuthorizations(serve: Serve, context: RouteContext): void {
  const { store, now, ids, proofKeys, decisions } = context

  serve(authorize, async ({ caller, body, header }) => {
    const idempotencyKey = header('idempotency-key') ?? null
    if (idempotencyKey !== null && !isIdempotencyKey(idempotencyKey))
      return refused(caller, 'invalid_idempotency_key')
    const { proof, merchant_domain: merchantDomain } = body
    const expected = { amount: body.expected_amount, currency: body.expected_currency ?? 'USDC' }
    const keys = proofKeys[caller.environment]
    const nowMs = now()
    const attempt = { ...attemptOf(caller, body, idempotencyKey), nowMs }

    let failure = checkProof(proof, expected, keys, nowMs) // 1, 2, 3
    if (failure === 'proof_expired') failure = await checkByTestClock(store, caller, body, { keys, nowMs })
    const mayBeRetry = failure === 'proof_expired' && idempotencyKey !== null
    if (mayBeRetry && !checkProofContent(proof, expected, keys)) {
      // The window has closed for new authorizations, but not for replaying one that was made in time.
      const late = await store.settleLateAuthorization(attempt)
      if (late.outcome === 'replayed') return authorized(caller, late.hold, { isReplay: true })
    }
    if (failure) return notAuthorized(caller, merchantDomain, failure)

    const seconds = body.capture_seconds ?? captureSeconds.default
    // In the log of the account that pays, which the store fills in.
    const event = eventBy(context, caller, 'payment.authorized', proof.nonce, { atMs: nowMs })
    const outcome = await store.authorize({ ...attempt, captureSeconds: seconds }, event) // 4
    switch (outcome.outcome) {
      case 'authorized':
        return authorized(caller, outcome.hold, { isReplay: false })
      case 'replayed':
        return authorized(caller, outcome.hold, { isReplay: true })
      case 'failed':
        return notAuthorized(caller, merchantDomain, outcome.reason)
      case 'refused':
        return refused(caller, outcome.code)
      default:
        return outcome satisfies never
    }
  })

  serve(capture, async ({ caller, params, body, header }) => {
    const idempotencyKey = header('idempotency-key') ?? null
    if (idempotencyKey !== null && !isIdempotencyKey(idempotencyKey)) return refuse('invalid_idempotency_key')
    const outcome = await store.captureAuthorized({
      caller,
      nonce: params.nonce,
      amountMicro: body.amount === undefined ? null : parseAmount(body.amount),
      idempotencyKey,
      transactionId: ids.next('transaction'),
      nowMs: now(),
    })
    if (outcome.outcome === 'refused') return refuse(outcome.code)
    const isReplay = outcome.outcome === 'replayed'
    decisions?.countVerification(caller.environment, outcome.outcome)
    const answer = { verified: true, transaction_id: outcome.transactionId, amount: outcome.amountText }
    return isReplay ? ok(answer, replayed) : ok(answer)
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
    const body = { authorized: true, authorization }
    return isReplay ? ok(body, replayed) : ok(body)
  }

  function refused(caller: Caller, code: VerificationRefusal): Answer {
    decisions?.countVerification(caller.environment, 'refused', code)
    return refuse(code)
  }

  async function notAuthorized(
    caller: Caller,
    merchantDomain: string,
    reason: VerificationFailure,
  ): Promise<Answer> {
    decisions?.countVerification(caller.environment, 'failed', reason)
    await countFailure(context, caller, { merchantDomain, reason })
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
