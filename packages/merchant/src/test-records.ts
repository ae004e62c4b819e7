import type { Purser, Proof } from '@purser/client'

import { microOf } from './micro-amounts.ts'

type Payments = Purser['payments']
type Refund = Awaited<ReturnType<Purser['transactions']['refund']>>

/** A charge made by the test Purser. */
export interface TestCharge {
  readonly transactionId: string
  readonly nonce: string
  /** What was charged: at most the amount of the proof. */
  readonly amount: string
  readonly resource: string
  readonly merchantDomain: string
}

/** An authorization made by the test Purser. */
export interface TestAuthorization {
  readonly nonce: string
  /** The authorized amount: the max that can be captured. */
  readonly amount: string
  readonly captureDeadlineMs: number
  readonly status: 'authorized' | 'captured' | 'voided' | 'expired'
}

/** A refund made by the test Purser. */
export interface TestRefund {
  readonly transactionId: string
  /** The transaction of the charge. */
  readonly refundOf: string
  readonly amount: string
}

/** A proof that a merchant collects, and its domain. */
interface Collected {
  readonly proof: Proof
  readonly merchant_domain: string
}

interface Authorized extends Collected {
  readonly key: string | undefined
  readonly deadlineMs: number
  /** Undefined until the payment is captured or voided. */
  end: 'captured' | 'voided' | undefined
}

interface Refunded {
  readonly key: string | undefined
  readonly refund: Refund
}

/** The records of a test Purser. Nothing here waits, so that concurrent calls act one after the other. */
export function createTestRecords(now: () => number) {
  const charges: TestCharge[] = []
  const chargeKeys = new Map<string, string | undefined>()
  const authorized = new Map<string, Authorized>()
  const refunds: TestRefund[] = []
  const refunded: Refunded[] = []

  const chargeOf = (nonce: string) => charges.find((charge) => charge.nonce === nonce)

  function charge(
    { proof: { nonce, amount, resource }, merchant_domain: merchantDomain }: Collected,
    key: string | undefined,
    part = amount,
  ): TestCharge {
    const transactionId = `txn_test_${charges.length + refunds.length + 1}`
    const made = { transactionId, nonce, amount: part, resource, merchantDomain }
    charges.push(made)
    chargeKeys.set(nonce, key)
    return made
  }

  function statusOf({ end, deadlineMs }: Authorized): TestAuthorization['status'] {
    return end ?? (now() < deadlineMs ? 'authorized' : 'expired')
  }

  function toWire(one: Authorized) {
    const { nonce, amount } = one.proof
    const capture_deadline = new Date(one.deadlineMs).toISOString()
    const capture_seconds_left = Math.max(0, Math.floor((one.deadlineMs - now()) / 1_000))
    return { nonce, amount, capture_deadline, capture_seconds_left, status: statusOf(one) }
  }

  function findAuthorized(nonce: string): Authorized {
    return authorized.get(nonce) ?? fail(404, 'not_found')
  }

  /** Whether refunds have given back all of a charge: then its calls no longer get their answers again. */
  function isRefunded(nonce: string): boolean {
    const paid = chargeOf(nonce)
    return paid !== undefined && refundedMicroOf(paid) >= microOf(paid.amount)
  }

  function refundedMicroOf({ transactionId }: TestCharge): bigint {
    const own = refunds.filter(({ refundOf }) => refundOf === transactionId)
    return own.reduce((sum, { amount }) => sum + microOf(amount), 0n)
  }

  return {
    charges,
    refunds,
    authorizations: (): TestAuthorization[] =>
      Array.from(authorized.values(), (one) => ({
        nonce: one.proof.nonce,
        amount: one.proof.amount,
        captureDeadlineMs: one.deadlineMs,
        status: statusOf(one),
      })),
    isUsed: (nonce: string) => chargeKeys.has(nonce) || authorized.has(nonce),

    /** The charge that a verification with this key repeats. */
    replayOfCharge(nonce: string, key: string | undefined): TestCharge | undefined {
      const isRetry = key !== undefined && chargeKeys.get(nonce) === key && !authorized.has(nonce)
      return isRetry && !isRefunded(nonce) ? chargeOf(nonce) : undefined
    },
    charge,

    /** The authorization that a call with this key repeats. */
    replayOfAuthorization(nonce: string, key: string | undefined) {
      const found = authorized.get(nonce)
      const isRetry = key !== undefined && found?.key === key && !isRefunded(nonce)
      return isRetry ? toWire(found) : undefined
    },
    authorize(collected: Collected, seconds: number, key: string | undefined) {
      const one = { ...collected, key, deadlineMs: now() + seconds * 1_000, end: undefined }
      authorized.set(collected.proof.nonce, one)
      return toWire(one)
    },

    capture(
      nonce: string,
      part: string | undefined,
      key: string | undefined,
    ): Awaited<ReturnType<Payments['capture']>> {
      const one = findAuthorized(nonce)
      const amount = part ?? one.proof.amount
      assertAmount(amount)
      const status = statusOf(one)
      if (status === 'captured') {
        const earlier = chargeOf(nonce)
        const isSame = earlier !== undefined && microOf(earlier.amount) === microOf(amount)
        const isRetry = isSame && key !== undefined && chargeKeys.get(nonce) === key && !isRefunded(nonce)
        if (!isRetry) fail(409, 'already_captured')
        return {
          verified: true,
          transaction_id: earlier.transactionId,
          amount: earlier.amount,
          replayed: true,
        }
      }
      if (status !== 'authorized') fail(409, `authorization_${status}`)
      if (microOf(amount) > microOf(one.proof.amount)) fail(409, 'amount_exceeds_authorization')
      one.end = 'captured'
      const { transactionId } = charge(one, key, amount)
      return { verified: true, transaction_id: transactionId, amount, replayed: false }
    },

    void(nonce: string): Awaited<ReturnType<Payments['void']>> {
      const one = findAuthorized(nonce)
      const status = statusOf(one)
      if (status === 'captured') fail(409, 'already_captured')
      if (status === 'authorized') one.end = 'voided'
      return toWire(one)
    },

    refund(id: string, body: { amount: string; reason?: string }, key: string | undefined): Refund {
      const earlier = refunded.find(
        (one) => key !== undefined && one.key === key && one.refund.refund_of === id,
      )
      if (earlier) {
        const { amount, reason_detail } = earlier.refund
        if (amount !== body.amount || reason_detail !== (body.reason ?? null))
          fail(422, 'idempotency_key_reused')
        return earlier.refund
      }
      assertAmount(body.amount)
      if (refunds.some(({ transactionId }) => transactionId === id)) fail(409, 'not_refundable')
      const paid = charges.find((one) => one.transactionId === id) ?? fail(404, 'not_found')
      const total = refundedMicroOf(paid) + microOf(body.amount)
      if (total > microOf(paid.amount)) fail(409, 'refund_exceeds_payment')
      const transactionId = `txn_test_${charges.length + refunds.length + 1}`
      refunds.push({ transactionId, refundOf: id, amount: body.amount })
      const refund = refundOf(paid, transactionId, body, now())
      refunded.push({ key, refund })
      return refund
    },
  }
}

function refundOf(
  { transactionId, resource, merchantDomain }: TestCharge,
  id: string,
  { amount, reason }: { amount: string; reason?: string },
  nowMs: number,
): Refund {
  return {
    id,
    status: 'refunded',
    agent_id: 'agent_test',
    mandate_id: 'mandate_test',
    amount,
    currency: 'USDC',
    resource_url: resource,
    merchant_domain: merchantDomain,
    seller_id: null,
    category: null,
    reason_code: null,
    reason_detail: reason ?? null,
    order_id: null,
    refund_of: transactionId,
    refunded_total: null,
    created_at: new Date(nowMs).toISOString(),
    mandate_version: null,
    metadata: {},
  }
}

/** Refuses what is no amount above zero. */
function assertAmount(amount: string): void {
  if (!/^[0-9]+(\.[0-9]{1,6})?$/.test(amount) || microOf(amount) === 0n) fail(422, 'validation_error')
}

/** Throws an error with the fields of the client's own. */
function fail(status: number, code: string): never {
  throw Object.assign(new Error(code), { status, code })
}
