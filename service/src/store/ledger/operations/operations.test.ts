import assert from 'node:assert/strict'
import { test } from 'node:test'

import { auditEvent } from '../../../domain/audit.ts'
import { formatSum, parseAmount, type MicroUsdc } from '../../../domain/money.ts'
import type { Agent, AuditEvent, Caller, Hold, Mandate, Scope } from '../../../domain/records.ts'
import { Ledger } from '../ledger.ts'
import { MemoryDatabase } from '../memory/memory-database.ts'
import { createMemoryDriver } from '../memory/memory-driver.ts'
import type { TableKey, TableRow, Table } from '../table.ts'
import { accounts, auditEvents, mandates, payments, sellerDomains, sellers } from '../tables.ts'
import { createAccount, moveAccount } from './accounts.ts'
import { createAgent } from './agents.ts'
import { createMandate, moveMandate } from './mandates.ts'
import { statusOf } from './payment-rows.ts'
import { capture, issueProof } from './payments.ts'
import { voidPayment } from './voids.ts'
import { createSeller, releaseDomain } from './sellers.ts'
import { resumeAll, stopAll } from '../stop-all.ts'

const scope: Scope = { accountId: 'acct_1', environment: 'sandbox' }
const caller: Caller = { ...scope, keyId: 'key_1', role: 'owner', agentId: null }
const nowMs = Date.UTC(2026, 10, 20, 12)
const hourMs = 3_600_000

test('A stop ends any number of open payments by changing one row', async () => {
  const ledger = await openLedger()
  const mandate = await ledger.mandate()
  for (let count = 0; count < 200; count++) await ledger.proof(mandate, '0.10')
  assert.equal(ledger.row(mandates, mandate).openPayments, 200)
  const moved = await ledger.run(moveMandate, {
    mandate,
    to: 'paused',
    event: ledger.event('mandate.paused', mandate.id),
  })
  assert(typeof moved === 'object')
  assert.deepEqual([moved.heldMicro, moved.openPayments], [0n, 0])
  const held = ledger.rows(payments)
  // No row of a payment was written.
  assert.ok(held.every(({ status }) => status === 'open'))
  assert.ok(held.every((payment) => statusOf(payment, moved, nowMs) === 'voided'))
  const [event] = ledger.rows(auditEvents).filter(({ type }) => type === 'mandate.paused')
  assert.deepEqual(event?.data, { voided_holds: 200 })
  await ledger.run(moveMandate, { mandate, to: 'active', event: ledger.event('mandate.resumed', mandate.id) })
  assert.deepEqual(await ledger.capture(held[0]), { outcome: 'failed', reason: 'proof_expired' })
  assert.equal(ledger.row(mandates, mandate).spentMicro, 0n)
})

test('A stop takes over what an earlier stop has paused; the undo of the earlier one resumes none of it', async () => {
  const ledger = await openLedger()
  const [first, second] = [await ledger.mandate(), await ledger.mandate()]
  assert.deepEqual((await ledger.stop('stop_1')).mandateIds, [first.id, second.id])
  assert.deepEqual((await ledger.stop('stop_2')).mandateIds, [])
  assert.deepEqual(await ledger.resume('stop_1'), [])
  assert.deepEqual(await ledger.resume('stop_2'), [first.id, second.id])
})

test('A stop leaves expired mandates, and those that somebody else has paused, as they are', async () => {
  const ledger = await openLedger()
  const expired = await ledger.mandate({ expiresAtMs: nowMs })
  const paused = await ledger.mandate()
  await ledger.run(moveMandate, {
    mandate: paused,
    to: 'paused',
    event: ledger.event('mandate.paused', paused.id),
  })
  assert.deepEqual((await ledger.stop('stop_1')).mandateIds, [])
  assert.equal(ledger.row(mandates, expired).status, 'active')
  assert.deepEqual(await ledger.resume(null), [])
  assert.equal(ledger.row(mandates, paused).status, 'paused')
})

test('A voided payment gives its amount back once, and leaves one event', async () => {
  const ledger = await openLedger()
  const mandate = await ledger.mandate()
  const { nonce } = await ledger.proof(mandate, '1.00')
  const wish = { ...scope, nonce, event: ledger.event('proof.voided', nonce) }
  assert.equal((await ledger.run(voidPayment, { ...wish, agentId: 'agent_other' }))?.status, undefined)
  assert.equal((await ledger.run(voidPayment, wish))?.status, 'voided')
  assert.equal((await ledger.run(voidPayment, wish))?.status, 'voided')
  assert.equal(ledger.row(mandates, mandate).heldMicro, 0n)
  const events = ledger.rows(auditEvents).filter(({ type }) => type === 'proof.voided')
  assert.deepEqual(
    events.map(({ data }) => data),
    [{ agent_id: mandate.agentId, mandate_id: mandate.id, amount: '1.00', currency: 'USDC' }],
  )
})

test('While an account is disabled nothing of it is captured', async () => {
  const ledger = await openLedger()
  const payment = await ledger.proof(await ledger.mandate(), '1.00')
  const move = { id: scope.accountId, atMs: nowMs, events: [] }
  assert(typeof (await ledger.run(moveAccount, { ...move, to: 'disabled' })) === 'object')
  assert.deepEqual(await ledger.capture(payment), { outcome: 'refused', code: 'invalid_api_key' })
  await ledger.run(moveAccount, { ...move, to: 'active' })
  assert.equal(ledger.row(accounts, { id: scope.accountId }).disabledAtMs, null)
  assert.equal((await ledger.capture(payment)).outcome, 'captured')
})

test('A domain has one seller at a time, and a released one is free', async () => {
  const ledger = await openLedger()
  const seller = {
    ...scope,
    id: 'seller_1',
    name: 'Shop',
    domain: 'shop.example',
    priceConfig: '{}',
    createdAtMs: nowMs,
  }
  const event = () => ledger.event('seller.created', seller.id)
  assert.equal(await ledger.run(createSeller, { seller, event: event() }), 'created')
  const other = { ...seller, id: 'seller_2' }
  assert.equal(await ledger.run(createSeller, { seller: other, event: event() }), 'seller_exists')
  const registration = { environment: scope.environment, domain: seller.domain }
  const events = { own: ledger.event('seller.released', ''), theirs: ledger.event('seller.released', '') }
  assert.deepEqual(await ledger.run(releaseDomain, { registration, events }), {
    accountId: scope.accountId,
    id: 'seller_1',
  })
  assert.deepEqual([ledger.rows(sellerDomains), ledger.rows(sellers)], [[], []])
  assert.equal(await ledger.run(releaseDomain, { registration, events }), undefined)
  assert.equal(await ledger.run(createSeller, { seller: other, event: event() }), 'created')
})

test('Calls that come at once are one transaction, each decided on what those before it leave', async () => {
  const ledger = await openLedger()
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
  const ledger = await openLedger()
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

async function openLedger() {
  const database = new MemoryDatabase()
  const driver = createMemoryDriver(database)
  let transactions = 0
  const ledger = new Ledger({
    driver: {
      transaction: (work) => {
        transactions += 1
        return driver.transaction(work)
      },
    },
    stopwatch: { nowMs: () => 0, sleep: () => Promise.resolve() },
    random: () => 0,
  })
  let lastId = 0
  const nextId = (kind: string) => `${kind}_${String(++lastId).padStart(6, '0')}`

  function event(type: AuditEvent['type'], subjectId: string): AuditEvent {
    return auditEvent(caller, scope, { id: nextId('event'), type, subjectId, data: {}, atMs: nowMs })
  }

  function newHold(mandate: Mandate, amountText: string): Hold {
    return {
      ...scope,
      nonce: nextId('nonce'),
      agentId: mandate.agentId,
      mandateId: mandate.id,
      amountText,
      amountMicro: parseAmount(amountText),
      currency: 'USDC',
      resourceUrl: 'https://shop.example/report',
      status: 'open',
      issuedAtMs: nowMs,
      expiresAtMs: nowMs + hourMs,
      transactionId: null,
    }
  }

  const all = { ledger, scope, actor: caller.keyId, now: () => nowMs, nextEventId: () => nextId('event') }
  const account = {
    id: scope.accountId,
    name: 'Shop',
    email: 'shop@example.com',
    idpUserId: 'idp_1',
    createdAtMs: nowMs,
  }
  await ledger.run(createAccount, { account: { ...account, disabledAtMs: null }, keys: [], events: [] })
  const agent: Agent = {
    ...scope,
    id: nextId('agent'),
    name: 'buyer',
    description: null,
    capabilities: [],
    status: 'active',
    createdAtMs: nowMs,
    revokedAtMs: null,
  }
  await ledger.run(createAgent, { agent, event: event('agent.created', agent.id) })

  return {
    event,
    run: ledger.run.bind(ledger),
    transactions: () => transactions,
    rows: <Of extends Table>(table: Of) => database.rowsOf(table) as unknown as TableRow<Of>[],
    row<Of extends Table>(table: Of, key: TableKey<Of>): TableRow<Of> {
      const [row] = database.find({ kind: 'row', table, key, isLocked: false })
      assert(row)
      return row as TableRow<Of>
    },
    async mandate(
      fields: { readonly expiresAtMs?: number; readonly maxTotalMicro?: MicroUsdc } = {},
    ): Promise<Mandate> {
      const { maxTotalMicro = parseAmount('100.00'), expiresAtMs = nowMs + hourMs } = fields
      const mandate: Mandate = {
        ...scope,
        id: nextId('mandate'),
        agentId: agent.id,
        purpose: 'Buy reports',
        maxTotalText: formatSum(maxTotalMicro),
        maxTotalMicro,
        maxPerTransactionText: '10.00',
        maxPerTransactionMicro: parseAmount('10.00'),
        currency: 'USDC',
        allowedSellers: ['*'],
        allowedCategories: [],
        expiresAtText: new Date(expiresAtMs).toISOString(),
        expiresAtMs,
        status: 'active',
        spentMicro: 0n as MicroUsdc,
        heldMicro: 0n as MicroUsdc,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      }
      assert.equal(
        await ledger.run(createMandate, { mandate, event: event('mandate.created', mandate.id) }),
        'created',
      )
      return mandate
    },
    decide: (mandate: Mandate, amountText: string) =>
      ledger.run(issueProof, { hold: newHold(mandate, amountText) }),
    async proof(mandate: Mandate, amountText: string): Promise<Hold> {
      const hold = newHold(mandate, amountText)
      assert.deepEqual(await ledger.run(issueProof, { hold }), { decision: 'approved' })
      return hold
    },
    capture(
      payment:
        Pick<Hold, 'nonce' | 'agentId' | 'mandateId' | 'amountText' | 'currency' | 'resourceUrl'> | undefined,
    ) {
      assert(payment)
      const { nonce, agentId, mandateId, amountText, currency, resourceUrl } = payment
      const terms = { nonce, agentId, mandateId, amountText, currency, resourceUrl }
      const attempt = {
        payerId: scope.accountId,
        caller,
        merchantDomain: 'shop.example',
        idempotencyKey: null,
      }
      return ledger.run(capture, { ...terms, ...attempt, transactionId: nextId('txn'), nowMs })
    },
    stop: (stopId: string) => stopAll({ ...all, stopId }),
    resume: (stopId: string | null) => resumeAll({ ...all, stopId }),
  }
}
