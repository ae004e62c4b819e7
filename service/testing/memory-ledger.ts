import assert from 'node:assert/strict'

import { auditEvent } from '../src/domain/audit.ts'
import { parseAmount } from '../src/domain/money.ts'
import { holdDefaults } from '../src/domain/new-records.ts'
import type { Agent, AuditEvent, Caller, Hold, Mandate, Scope } from '../src/domain/records.ts'
import { OutcomeUnknownError, type Driver } from '../src/store/ledger/driver.ts'
import { Ledger } from '../src/store/ledger/ledger.ts'
import { generousMandate } from './ledgers/generous-mandate.ts'
import { MemoryDatabase } from './memory/memory-database.ts'
import { createAccount } from '../src/store/ledger/operations/accounts.ts'
import { createAgent } from '../src/store/ledger/operations/agents.ts'
import { createMandate } from '../src/store/ledger/operations/mandates.ts'
import { capture } from '../src/store/ledger/operations/captures.ts'
import { issueProof } from '../src/store/ledger/operations/payments.ts'
import { continueStop, resumeAll, stopAll } from '../src/store/ledger/stop-all.ts'
import type { Table, TableKey, TableRow } from '../src/store/ledger/table.ts'
import { runningStops, type RunningStop } from '../src/store/ledger/tables.ts'
import type { NewApiKey } from '../src/store/store.ts'
import { changeTransactions } from './transactions.ts'

export const scope: Scope = { accountId: 'acct_1', environment: 'sandbox' }
const caller: Caller = { ...scope, keyId: 'key_1', role: 'owner', agentId: null }
export const hourMs = 3_600_000

export interface MemoryLedgerOptions {
  /** Whether every commit succeeds, gets no answer, and is repeated by a rerun. */
  readonly losesAnswers?: boolean
  readonly changeDriver?: (driver: Driver) => Driver
}

/** A ledger in memory with one account and one agent. The same operations give the same ids each time. */
export async function openMemoryLedger({ losesAnswers = false, changeDriver }: MemoryLedgerOptions = {}) {
  const clock = { nowMs: Date.UTC(2026, 10, 20, 12) }
  const database = new MemoryDatabase()
  const driver = losesAnswers ? losingAnswers(database) : database
  let transactions = 0
  const counting: Driver = {
    begin: (options) => {
      transactions += 1
      return driver.begin(options)
    },
  }
  let waitedMs = 0
  const ledger = new Ledger({
    driver: changeDriver ? changeDriver(counting) : counting,
    stopwatch: { nowMs: () => waitedMs, sleep: (ms) => Promise.resolve(void (waitedMs += ms)) },
    random: () => 0,
  })
  let lastId = 0
  const nextId = (kind: string) => `${kind}_${String(++lastId).padStart(6, '0')}`

  function event(type: AuditEvent['type'], subjectId: string, of: Scope = scope): AuditEvent {
    const details = { id: nextId('event'), type, subjectId, data: {}, atMs: clock.nowMs }
    return auditEvent(caller, of, details)
  }

  function newHold(mandate: Pick<Mandate, 'id' | 'agentId'>, amountText: string): Hold {
    return {
      ...scope,
      nonce: `00000000-0000-7000-8000-${String(++lastId).padStart(12, '0')}`,
      agentId: mandate.agentId,
      mandateId: mandate.id,
      amountText,
      amountMicro: parseAmount(amountText),
      currency: 'USDC',
      resourceUrl: 'https://shop.example/report',
      ...holdDefaults,
      issuedAtMs: clock.nowMs,
      expiresAtMs: clock.nowMs + hourMs,
    }
  }

  async function account(id: string, keys: readonly NewApiKey[] = []) {
    const fields = { id, name: 'Shop', email: 'shop@example.com', idpUserId: `idp_${id}`, disabledAtMs: null }
    const fresh = { ...fields, createdAtMs: clock.nowMs }
    return ledger.run(createAccount, [fresh, keys, []])
  }

  async function newAgent(of: Scope = scope): Promise<Agent> {
    const fields = {
      name: 'buyer',
      description: null,
      capabilities: [],
      budgetPath: null,
      status: 'active',
    } as const
    const fresh = { ...of, id: nextId('agent'), ...fields, createdAtMs: clock.nowMs, revokedAtMs: null }
    await ledger.run(createAgent, [fresh, event('agent.created', fresh.id, of)])
    return fresh
  }

  await account(scope.accountId)
  const agent = await newAgent()
  const ofAll = {
    ledger,
    scope,
    actor: caller.keyId,
    now: () => clock.nowMs,
    nextEventId: () => nextId('event'),
  }

  return {
    clock,
    agent,
    event,
    nextId,
    newHold,
    newAgent,
    account,
    ofAll,
    ledger,
    run: ledger.run.bind(ledger),
    transactions: () => transactions,
    rows: <Of extends Table>(table: Of) => database.rowsOf(table) as unknown as TableRow<Of>[],

    row<Of extends Table>(table: Of, key: TableKey<Of>): TableRow<Of> {
      const [row] = database.find({ kind: 'row', table, key, isLocked: false })
      assert(row, `${table.name} has no such row`)
      return row as TableRow<Of>
    },

    newKey(of: Scope, role: NewApiKey['role'], agentId: string | null = null): NewApiKey {
      const id = nextId('key')
      const fields = { role, agentId, label: null, hint: '', secretHash: Buffer.from(id) }
      return { ...of, id, ...fields, createdAtMs: clock.nowMs, revokedAtMs: null }
    },

    newMandate(fields: Partial<Mandate> = {}): Mandate {
      const named = { ...scope, id: nextId('mandate'), agentId: agent.id, createdAtMs: clock.nowMs }
      return generousMandate({ ...named, expiresAtMs: clock.nowMs + 24 * hourMs, ...fields })
    },

    async mandate(fields: Partial<Mandate> = {}): Promise<Mandate> {
      const mandate = this.newMandate(fields)
      const created = event('mandate.created', mandate.id)
      assert.equal(await ledger.run(createMandate, [mandate, created]), 'created')
      return mandate
    },

    decide(mandate: Pick<Mandate, 'id' | 'agentId'>, amountText: string) {
      return ledger.run(issueProof, { hold: newHold(mandate, amountText) })
    },

    async proof(mandate: Mandate, amountText: string): Promise<Hold> {
      const hold = newHold(mandate, amountText)
      assert.deepEqual(await ledger.run(issueProof, { hold }), { decision: 'approved' })
      return hold
    },

    capture(payment: Hold, by: Caller = caller) {
      const { nonce, agentId, mandateId, amountText, currency, resourceUrl } = payment
      const terms = { nonce, agentId, mandateId, amountText, currency, resourceUrl }
      const attempt = { payerId: scope.accountId, caller: by, merchantDomain: 'shop.example' }
      const { nowMs } = clock
      const ids = { idempotencyKey: null, transactionId: nextId('txn'), nowMs }
      return ledger.run(capture, { ...terms, ...attempt, ...ids })
    },

    press: (stopId: string) => ({ scope, stopId, actor: caller.keyId, atMs: clock.nowMs }),

    /** Continues the running stop; undefined if there is none, or it is not due. */
    async continueStop({ isClosing = false } = {}) {
      const [running] = database.rowsOf(runningStops) as unknown as RunningStop[]
      if (!running) return undefined
      const { press, stopId } = running
      return continueStop({ ...ofAll, press, stopId, isClosing: () => isClosing })
    },

    stop: (stopId: string) => stopAll({ ...ofAll, stopId }),
    resume: async (stopId: string | null) => (await resumeAll({ ...ofAll, stopId })).mandateIds,
  }
}

export type MemoryLedger = Awaited<ReturnType<typeof openMemoryLedger>>

function losingAnswers(driver: Driver): Driver {
  let isLost = false
  return changeTransactions(driver, (transaction) => ({
    commit: async (changes) => {
      await transaction.commit(changes)
      isLost = !isLost
      if (isLost) throw new OutcomeUnknownError('the connection has ended')
    },
  }))
}
