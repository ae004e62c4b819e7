import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseAmount } from '../../../domain/money.ts'
import type { Caller, Hold } from '../../../domain/records.ts'
import { hourMs, openMemoryLedger, scope } from '../../../../testing/memory-ledger.ts'
import { OutcomeUnknownError } from '../driver.ts'
import { Ledger } from '../ledger.ts'
import { accounts, auditEvents, entries, mandates, payments, sellerDomains, sellers } from '../tables.ts'
import { moveAccount } from './accounts.ts'
import { issueApiKey, revokeApiKey } from './api-keys.ts'
import { moveMandate } from './mandates.ts'
import { statusOf } from './payment-rows.ts'
import { authorize, captureAuthorized, voidAuthorized } from './authorizations.ts'
import { capture, settleLate } from './captures.ts'
import { refund } from './refunds.ts'
import { createSeller, releaseDomain } from './sellers.ts'
import { voidProof } from './voids.ts'
import { changeTransactions } from '../../../../testing/transactions.ts'

test('A stop ends any number of open payments by changing one row', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  for (let count = 0; count < 200; count++) await ledger.proof(mandate, '0.10')
  assert.equal(ledger.row(mandates, mandate).openPayments, 200)
  const moved = await ledger.run(moveMandate, [mandate, 'paused', ledger.event('mandate.paused', mandate.id)])
  assert(typeof moved === 'object')
  const row = ledger.row(mandates, mandate)
  assert.deepEqual([moved.heldMicro, row.openPayments], [0n, 0])
  const held = ledger.rows(payments)
  // No payment row was written.
  assert.ok(held.every(({ status }) => status === 'open'))
  assert.ok(held.every((payment) => statusOf(payment, row, ledger.clock.nowMs) === 'voided'))
  const [event] = ledger.rows(auditEvents).filter(({ type }) => type === 'mandate.paused')
  assert.deepEqual(event?.data, { voided_holds: 200 })
  await ledger.run(moveMandate, [mandate, 'active', ledger.event('mandate.resumed', mandate.id)])
  assert.deepEqual(await ledger.capture(held[0] ?? assert.fail()), {
    outcome: 'failed',
    reason: 'proof_expired',
  })
  assert.equal(ledger.row(mandates, mandate).spentMicro, 0n)
})

test('A voided payment releases its amount once and records one event', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  const { nonce } = await ledger.proof(mandate, '1.00')
  const event = ledger.event('proof.voided', nonce)
  const voided = (agentId?: string) => ledger.run(voidProof, [{ ...scope, nonce }, { agentId }, event])
  assert.equal(await voided('agent_other'), undefined)
  assert.equal((await voided())?.status, 'voided')
  assert.equal((await voided())?.status, 'voided')
  assert.equal(ledger.row(mandates, mandate).heldMicro, 0n)
  const events = ledger.rows(auditEvents).filter(({ type }) => type === 'proof.voided')
  assert.deepEqual(
    events.map(({ data }) => data),
    [{ agent_id: mandate.agentId, mandate_id: mandate.id, amount: '1.00', currency: 'USDC' }],
  )
})

test('No payment of a disabled account can be captured', async () => {
  const ledger = await openMemoryLedger()
  const payment = await ledger.proof(await ledger.mandate(), '1.00')
  const move = { atMs: ledger.clock.nowMs, events: [] }
  assert(typeof (await ledger.run(moveAccount, [scope.accountId, 'disabled', move])) === 'object')
  assert.deepEqual(await ledger.capture(payment), { outcome: 'refused', code: 'invalid_api_key' })
  await ledger.run(moveAccount, [scope.accountId, 'active', move])
  assert.equal(ledger.row(accounts, { id: scope.accountId }).disabledAtMs, null)
  assert.equal((await ledger.capture(payment)).outcome, 'captured')
})

test('A revoked key gets no answer to its earlier capture and cannot end a payment', async () => {
  const ledger = await openMemoryLedger()
  const merchant = ledger.newKey(scope, 'merchant')
  await ledger.run(issueApiKey, [merchant, ledger.event('api_key.created', merchant.id)])
  const mandate = await ledger.mandate()
  const [captured, open] = [await ledger.proof(mandate, '1.00'), await ledger.proof(mandate, '2.00')]
  const attemptOf = ({ nonce, agentId, mandateId, amountText, currency, resourceUrl }: Hold) => {
    const terms = { nonce, agentId, mandateId, amountText, currency, resourceUrl }
    const caller: Caller = { ...scope, keyId: merchant.id, role: 'merchant', agentId: null }
    const by = { payerId: scope.accountId, caller, merchantDomain: 'shop.example', idempotencyKey: 'order-1' }
    return { ...terms, ...by, nowMs: ledger.clock.nowMs }
  }
  const transactionId = ledger.nextId('txn')
  await ledger.run(capture, { ...attemptOf(captured), transactionId })
  ledger.clock.nowMs += hourMs / 2
  assert.deepEqual(await ledger.run(settleLate, attemptOf(captured)), { outcome: 'replayed', transactionId })
  await ledger.run(revokeApiKey, [
    { ...scope, id: merchant.id },
    ledger.event('api_key.revoked', merchant.id),
  ])
  for (const hold of [captured, open]) {
    const outcome = await ledger.run(settleLate, attemptOf(hold))
    assert.deepEqual(outcome, { outcome: 'failed', reason: 'proof_expired' })
  }
  assert.equal(ledger.row(payments, open).status, 'open')
})

test('A domain has one seller at a time, and a released one is free', async () => {
  const ledger = await openMemoryLedger()
  const seller = {
    ...scope,
    id: 'seller_1',
    name: 'Shop',
    domain: 'shop.example',
    priceConfig: '{}',
    createdAtMs: ledger.clock.nowMs,
    isPending: false,
  }
  const event = () => ledger.event('seller.created', seller.id)
  assert.equal(await ledger.run(createSeller, [seller, event()]), 'created')
  const other = { ...seller, id: 'seller_2' }
  assert.equal(await ledger.run(createSeller, [other, event()]), 'seller_exists')
  const registration = { environment: scope.environment, domain: seller.domain }
  const events = { own: ledger.event('seller.released', ''), theirs: ledger.event('seller.released', '') }
  assert.deepEqual(await ledger.run(releaseDomain, [registration, events]), {
    accountId: scope.accountId,
    id: 'seller_1',
  })
  assert.deepEqual([ledger.rows(sellerDomains), ledger.rows(sellers)], [[], []])
  assert.equal(await ledger.run(releaseDomain, [registration, events]), undefined)
  assert.equal(await ledger.run(createSeller, [other, event()]), 'created')
})

test('Concurrent calls share one transaction, and each is decided on the result of the earlier ones', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate({ maxTotalMicro: parseAmount('1.00') })
  const before = ledger.transactions()
  const decisions = await Promise.all(Array.from({ length: 5 }, () => ledger.decide(mandate, '0.30')))
  assert.equal(ledger.transactions() - before, 1)
  assert.deepEqual(
    decisions.map(({ decision }) => decision),
    ['approved', 'approved', 'approved', 'denied', 'denied'],
  )
  assert.equal(ledger.row(mandates, mandate).heldMicro, parseAmount('0.90'))
})

test('A call that fails with a bug fails alone', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  const bug = {
    name: 'bug',
    reads: () => [],
    decide: () => {
      throw new TypeError('a bug')
    },
  }
  const [decision, failed] = await Promise.allSettled([
    ledger.decide(mandate, '0.10'),
    ledger.run(bug, undefined),
  ])
  assert.equal(decision.status, 'fulfilled')
  assert.deepEqual(failed.status === 'rejected' && (failed.reason as Error).message, 'a bug')
})

test('If facts are read again and change the decision, the earlier changes are not written', async () => {
  let meanwhile: (() => Promise<unknown>) | undefined
  let beside: Ledger | undefined
  const ledger = await openMemoryLedger({
    changeDriver: (driver) => {
      const stopwatch = { nowMs: () => 0, sleep: () => Promise.resolve() }
      beside = new Ledger({ driver, stopwatch, random: () => 0 })
      return changeTransactions(driver, (transaction) => {
        let reads = 0
        return {
          read: async (...args) => {
            if (++reads === 2) await meanwhile?.()
            return transaction.read(...args)
          },
        }
      })
    },
  })
  const hold = await ledger.proof(await ledger.mandate(), '1.00')
  const other = await ledger.proof(await ledger.mandate(), '1.00')
  const move = { atMs: ledger.clock.nowMs, events: [] }
  meanwhile = () => beside?.run(moveAccount, [scope.accountId, 'disabled', move]) ?? assert.fail()
  // The second call reads in two steps, so both are decided twice.
  const event = ledger.event('proof.voided', other.nonce)
  const [outcome] = await Promise.all([ledger.capture(hold), ledger.run(voidProof, [other, {}, event])])
  assert.deepEqual(outcome, { outcome: 'refused', code: 'invalid_api_key' })
  assert.deepEqual(ledger.rows(entries), [])
})

/** A ledger that loses the answer to a commit, and disables the account before the rerun. */
async function openLosingLedger() {
  let meanwhile: (() => Promise<unknown>) | undefined
  let beside: Ledger | undefined
  const ledger = await openMemoryLedger({
    changeDriver: (driver) => {
      beside = new Ledger({ driver, stopwatch: { nowMs: () => 0, sleep: async () => {} }, random: () => 0 })
      return changeTransactions(driver, (transaction) => ({
        commit: async (changes) => {
          await transaction.commit(changes)
          const after = meanwhile
          meanwhile = undefined
          if (!after) return
          await after()
          throw new OutcomeUnknownError('the connection was closed')
        },
      }))
    },
  })
  const move = { atMs: ledger.clock.nowMs, events: [] }
  return {
    ...ledger,
    loseNextAnswer: () =>
      void (meanwhile = () => beside?.run(moveAccount, [scope.accountId, 'disabled', move]) ?? assert.fail()),
  }
}

test('A capture whose response is lost is reported as made, even if its account is disabled before the rerun', async () => {
  const ledger = await openLosingLedger()
  const hold = await ledger.proof(await ledger.mandate(), '1.00')
  ledger.loseNextAnswer()
  assert.equal((await ledger.capture(hold)).outcome, 'captured')
})

test('The capture of an authorized payment is reported as made after a lost response, whatever changes before the rerun', async () => {
  const ledger = await openLosingLedger()
  const authorized = await authorizedPayment(ledger)
  const call = { ...authorized, amountMicro: null, idempotencyKey: null, transactionId: ledger.nextId('txn') }
  ledger.loseNextAnswer()
  const { outcome } = await ledger.run(captureAuthorized, call)
  assert.equal(outcome, 'captured')
})

test('The void of an authorized payment is reported as made after a lost response, whatever changes before the rerun', async () => {
  const ledger = await openLosingLedger()
  const authorized = await authorizedPayment(ledger)
  ledger.loseNextAnswer()
  const event = ledger.event('authorization.voided', authorized.nonce)
  const voided = await ledger.run(voidAuthorized, { ...authorized, event })
  assert(voided.outcome === 'ended')
  assert.equal(voided.hold.status, 'voided')
})

test('A refund is reported as made after a lost response, whatever changes before the rerun', async () => {
  const ledger = await openLosingLedger()
  const hold = await ledger.proof(await ledger.mandate(), '1.00')
  await ledger.capture(hold)
  const refundId = ledger.nextId('txn')
  const amount = { amountText: '0.40', amountMicro: parseAmount('0.40') }
  const events = {
    payer: ledger.event('payment.refunded', refundId),
    own: ledger.event('payment.refunded', refundId),
  }
  const call = {
    ...callFor(ledger, hold),
    ...amount,
    reason: null,
    idempotencyKey: 'refund',
    refundId,
    events,
  }
  ledger.loseNextAnswer()
  assert.deepEqual(await ledger.run(refund, call), {
    outcome: 'refunded',
    mandateId: hold.mandateId,
    refundId,
  })
})

function callFor({ clock }: Pick<MemoryLedger, 'clock'>, { nonce }: Pick<Hold, 'nonce'>) {
  const caller: Caller = { ...scope, keyId: 'key_1', role: 'owner', agentId: null }
  return { payerId: scope.accountId, caller, nonce, nowMs: clock.nowMs }
}

async function authorizedPayment(ledger: MemoryLedger) {
  const hold = await ledger.proof(await ledger.mandate(), '1.00')
  const { agentId, mandateId, amountText, currency, resourceUrl } = hold
  const terms = { agentId, mandateId, amountText, currency, resourceUrl, merchantDomain: 'shop.example' }
  const event = ledger.event('payment.authorized', hold.nonce)
  const call = callFor(ledger, hold)
  const { outcome } = await ledger.run(authorize, {
    ...call,
    ...terms,
    idempotencyKey: null,
    captureSeconds: 600,
    event,
  })
  assert.equal(outcome, 'authorized')
  return call
}

type MemoryLedger = Awaited<ReturnType<typeof openMemoryLedger>>
