import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import { auditEvent } from '../service/src/domain/audit.ts'
import { formatSum, type MicroUsdc } from '../service/src/domain/money.ts'
import type { Caller, Hold, Mandate } from '../service/src/domain/records.ts'
import { createIds } from '../service/src/ids.ts'
import { Ledger } from '../service/src/store/ledger/ledger.ts'
import { createAccount } from '../service/src/store/ledger/operations/accounts.ts'
import { createAgent } from '../service/src/store/ledger/operations/agents.ts'
import { evaluate } from '../service/src/store/ledger/operations/evaluations.ts'
import { createMandate } from '../service/src/store/ledger/operations/mandates.ts'
import { capture, issueProof } from '../service/src/store/ledger/operations/payments.ts'
import { SqliteLedger } from '../service/src/store/ledger/sqlite/ledger-thread.ts'
import { ledgerSteps } from '../service/src/store/ledger/sqlite/schema.ts'
import { createSqliteDriver } from '../service/src/store/ledger/sqlite/sqlite-driver.ts'
import { openSqliteFile, type SqliteDatabase } from '../service/src/store/sqlite/open.ts'
import { openSqliteStore } from '../service/src/store/sqlite/sqlite-store.ts'
import type { Capture, ProposedTransaction } from '../service/src/store/store.ts'

// Proofs, captures and evaluations of the new ledger and of today's store, in turns, each on a file of its own. Each is
// written by its thread, or in this one with --here:
// node bench/ledger-captures.ts [--here] [--clients 64] [--mandates 1000] [--rounds 5] [--calls 40000] [--folder .]

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '64' },
    mandates: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '5' },
    calls: { type: 'string', default: '40000' },
    here: { type: 'boolean', default: false },
    folder: { type: 'string', default: '.' },
  },
})
const clients = Number(values.clients)
const callsPerRound = Number(values.calls)

const ids = createIds(Date.now)
const accountId = ids.next('account')
const scope = { accountId, environment: 'sandbox' } as const
const caller: Caller = { ...scope, keyId: ids.next('apiKey'), role: 'owner', agentId: null }
const agentId = ids.next('agent')
const mandateIds = Array.from({ length: Number(values.mandates) }, () => ids.next('mandate'))
const resourceUrl = 'https://shop.example/v1/reports/2026-11'
const manyMicro = 1_000_000_000_000n as MicroUsdc

/** What is measured: a ledger with its mandates. */
interface Contestant {
  readonly issue: (hold: Hold) => Promise<unknown>
  readonly capture: (call: Capture) => Promise<{ readonly outcome: string }>
  readonly evaluate: (call: ProposedTransaction) => Promise<unknown>
  readonly close: () => Promise<void>
}

interface Result {
  readonly perSecond: number
  readonly cpuMicros: number
}

const operations = ['proof', 'capture', 'evaluation'] as const
type Results = Readonly<Record<(typeof operations)[number], Result>>

const folder = mkdtempSync(join(values.folder, 'ledger-captures-'))
try {
  const today = await openToday()
  const fresh = await openNew()
  const pairs: { today: Results; fresh: Results }[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    const first = await measure(round % 2 === 0 ? today : fresh)
    const second = await measure(round % 2 === 0 ? fresh : today)
    pairs.push(round % 2 === 0 ? { today: first, fresh: second } : { today: second, fresh: first })
  }
  for (const operation of operations) {
    const line = (name: 'today' | 'fresh') => {
      const rounds = pairs.map((pair) => pair[name][operation])
      const perSecond = Math.round(median(rounds.map((one) => one.perSecond)))
      return `${perSecond}/s ${median(rounds.map((one) => one.cpuMicros)).toFixed(1)} µs`
    }
    const ratio = (field: keyof Result) =>
      median(pairs.map((pair) => pair.fresh[operation][field] / pair.today[operation][field])).toFixed(2)
    console.log(
      `${operation}: today ${line('today')}, new ${line('fresh')}; rate ${ratio('perSecond')}, CPU ${ratio('cpuMicros')}`,
    )
  }
  await today.close()
  await fresh.close()
} finally {
  rmSync(folder, { recursive: true })
}

async function measure({ issue, capture, evaluate }: Contestant): Promise<Results> {
  const holds = Array.from({ length: callsPerRound }, (_, index) =>
    newHold(mandateIds[index % mandateIds.length]!),
  )
  const captures = holds.map(captureOf)
  const proposals = holds.map(proposalOf)
  const proof = await time(holds, issue)
  // What was left in the log is copied first.
  await sleep(500)
  const captured = await time(captures, async (call) => {
    const { outcome } = await capture(call)
    if (outcome !== 'captured') throw new Error(outcome)
  })
  await sleep(500)
  const evaluation = await time(proposals, evaluate)
  await sleep(500)
  return { proof, capture: captured, evaluation }
}

async function time<Call>(calls: readonly Call[], make: (call: Call) => Promise<unknown>): Promise<Result> {
  let next = 0
  const cpu = process.cpuUsage()
  const beganMs = performance.now()
  const client = async () => {
    while (next < calls.length) await make(calls[next++]!)
  }
  await Promise.all(Array.from({ length: clients }, client))
  const tookMs = performance.now() - beganMs
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: (calls.length / tookMs) * 1_000, cpuMicros: (user + system) / calls.length }
}

async function openToday(): Promise<Contestant> {
  const path = join(folder, 'today.db')
  const store = openSqliteStore({ path, ownThread: !values.here })
  await store.createAccount(newAccount(), [], [])
  await store.createAgent(newAgent(), event('agent.created', agentId))
  for (const id of mandateIds) await store.createMandate(newMandate(id), event('mandate.created', id))
  return {
    issue: (hold) => store.issueProof(hold),
    capture: (call) => store.capture(call),
    evaluate: (call) => store.evaluate(call),
    close: () => store.close(),
  }
}

async function openNew(): Promise<Contestant> {
  const file = openSqliteFile(join(folder, 'new.db'), ledgerSteps)
  const ledger = values.here ? newLedger(file.database) : new SqliteLedger({ path: file.path })
  await ledger.run(createAccount, { account: newAccount(), keys: [], events: [] })
  await ledger.run(createAgent, { agent: newAgent(), event: event('agent.created', agentId) })
  for (const id of mandateIds) {
    await ledger.run(createMandate, { mandate: newMandate(id), event: event('mandate.created', id) })
  }
  return {
    issue: (hold) => ledger.run(issueProof, { hold }),
    capture: (call) => ledger.run(capture, { ...call, payerId: accountId }),
    evaluate: (call) => ledger.run(evaluate, call),
    close: async () => {
      if ('close' in ledger) await ledger.close()
      file.close()
    },
  }
}

/** The new ledger in this thread. */
function newLedger(database: SqliteDatabase): Ledger {
  return new Ledger({
    driver: createSqliteDriver({ database }),
    stopwatch: { nowMs: () => performance.now(), sleep: (ms) => sleep(ms) },
    random: Math.random,
  })
}

function event(type: 'agent.created' | 'mandate.created', subjectId: string) {
  const id = ids.next('auditEvent')
  return auditEvent(caller, scope, { id, type, subjectId, data: {}, atMs: Date.now() })
}

function newAccount() {
  const account = { id: accountId, name: 'Bench', email: 'bench@example.com', idpUserId: 'bench' }
  return { ...account, createdAtMs: Date.now(), disabledAtMs: null }
}

function newAgent() {
  const agent = { ...scope, id: agentId, name: 'buyer', description: null, capabilities: [] }
  return { ...agent, status: 'active' as const, createdAtMs: Date.now(), revokedAtMs: null }
}

function newMandate(id: string): Mandate {
  return {
    ...scope,
    id,
    agentId,
    purpose: 'Buy market reports for the research team',
    maxTotalText: formatSum(manyMicro),
    maxTotalMicro: manyMicro,
    maxPerTransactionText: formatSum(manyMicro),
    maxPerTransactionMicro: manyMicro,
    currency: 'USDC',
    allowedSellers: ['shop.example'],
    allowedCategories: [],
    expiresAtText: '2036-01-01T00:00:00Z',
    expiresAtMs: Date.UTC(2036, 0),
    status: 'active',
    spentMicro: 0n as MicroUsdc,
    heldMicro: 0n as MicroUsdc,
    createdAtMs: Date.now(),
    updatedAtMs: Date.now(),
  }
}

function newHold(mandateId: string): Hold {
  const issuedAtMs = Date.now()
  return {
    ...scope,
    nonce: ids.nonce(),
    agentId,
    mandateId,
    amountText: '1.00',
    amountMicro: 1_000_000n as MicroUsdc,
    currency: 'USDC',
    resourceUrl,
    status: 'open',
    issuedAtMs,
    expiresAtMs: issuedAtMs + 360_000,
    transactionId: null,
  }
}

function captureOf({ nonce, mandateId }: Hold): Capture {
  const terms = { nonce, agentId, mandateId, amountText: '1.00', currency: 'USDC', resourceUrl }
  const merchant = { merchantDomain: 'shop.example', idempotencyKey: null }
  return { ...terms, ...merchant, caller, transactionId: ids.next('transaction'), nowMs: Date.now() }
}

function proposalOf({ mandateId, amountText, amountMicro, issuedAtMs }: Hold): ProposedTransaction {
  const terms = { agentId, mandateId, amountText, amountMicro, currency: 'USDC', resourceUrl } as const
  const merchant = { merchantDomain: 'shop.example', category: null }
  return { ...scope, ...terms, ...merchant, id: ids.next('transaction'), createdAtMs: issuedAtMs }
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}
