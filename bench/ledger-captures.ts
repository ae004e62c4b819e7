import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import { auditEvent } from '../service/src/domain/audit.ts'
import { formatSum, type MicroUsdc } from '../service/src/domain/money.ts'
import type { Caller, Hold, Mandate } from '../service/src/domain/records.ts'
import { createIds } from '../service/src/ids.ts'
import type { Driver } from '../service/src/store/ledger/driver.ts'
import { Ledger } from '../service/src/store/ledger/ledger.ts'
import { createAccount } from '../service/src/store/ledger/operations/accounts.ts'
import { createAgent } from '../service/src/store/ledger/operations/agents.ts'
import { evaluate } from '../service/src/store/ledger/operations/evaluations.ts'
import { createMandate } from '../service/src/store/ledger/operations/mandates.ts'
import { capture, issueProof } from '../service/src/store/ledger/operations/payments.ts'
import { createPostgresDriver } from '../service/src/store/ledger/postgres/postgres-driver.ts'
import { schema } from '../service/src/store/ledger/postgres/schema.ts'
import { SqliteLedger } from '../service/src/store/ledger/sqlite/ledger-thread.ts'
import { ledgerSteps } from '../service/src/store/ledger/sqlite/schema.ts'
import { createSqliteDriver } from '../service/src/store/ledger/sqlite/sqlite-driver.ts'
import { openPool } from '../service/src/store/ledger/postgres/connection.ts'
import { openPostgresStore } from '../service/src/store/postgres/postgres-store.ts'
import { openSqliteFile } from '../service/src/store/ledger/sqlite/open.ts'
import { openSqliteStore } from '../service/src/store/sqlite/sqlite-store.ts'
import type { Capture, ProposedTransaction } from '../service/src/store/store.ts'
import { execute } from '../service/testing/postgres-databases.ts'
import { PostgresBed } from './postgres-bed.ts'

// Proofs, captures and evaluations of the new ledger and of today's store, in turns, each on a file of its own. Each is
// written by its thread, or in this one with --here:
// node bench/ledger-captures.ts [--here] [--clients 64] [--mandates 1000] [--rounds 5] [--calls 40000] [--folder .]
// With --postgres each is in a database of its own on one server, and the new ledger writes in so many --lanes.

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '64' },
    mandates: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '5' },
    calls: { type: 'string', default: '40000' },
    here: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    lanes: { type: 'string', default: '2' },
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
  /** The database of PostgreSQL. */
  readonly url?: string
  readonly close: () => Promise<void>
}

interface Result {
  readonly perSecond: number
  /** What one call took, in this process and in the server. */
  readonly cpuMicros: number
  readonly serverCpuMicros: number
  readonly walBytes: number
}

const operations = ['proof', 'capture', 'evaluation'] as const
type Results = Readonly<Record<(typeof operations)[number], Result>>

const folder = mkdtempSync(join(values.folder, 'ledger-captures-'))
const bed = values.postgres ? await PostgresBed.open(values.folder) : undefined
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
      const middle = (field: keyof Result) => median(rounds.map((one) => one[field]))
      const server = bed
        ? ` + ${middle('serverCpuMicros').toFixed(1)} µs of the server, ${Math.round(middle('walBytes'))} bytes of WAL`
        : ''
      return `${perSecond}/s ${middle('cpuMicros').toFixed(1)} µs${server}`
    }
    const ratio = (field: keyof Result) =>
      median(pairs.map((pair) => pair.fresh[operation][field] / pair.today[operation][field])).toFixed(2)
    console.log(
      `${operation}: today ${line('today')}, new ${line('fresh')}; rate ${ratio('perSecond')}, CPU ${ratio('cpuMicros')}`,
    )
  }
  for (const { url } of [today, fresh]) if (url !== undefined) console.log(await describeTables(url))
  await today.close()
  await fresh.close()
} finally {
  await bed?.close()
  rmSync(folder, { recursive: true })
}

async function measure({ issue, capture, evaluate, url }: Contestant): Promise<Results> {
  const holds = Array.from({ length: callsPerRound }, (_, index) =>
    newHold(mandateIds[index % mandateIds.length]!),
  )
  const captures = holds.map(captureOf)
  const proposals = holds.map(proposalOf)
  const proof = await time(holds, issue, url)
  // What was left in the log is copied first.
  await sleep(500)
  const captured = await time(
    captures,
    async (call) => {
      const { outcome } = await capture(call)
      if (outcome !== 'captured') throw new Error(outcome)
    },
    url,
  )
  await sleep(500)
  const evaluation = await time(proposals, evaluate, url)
  await sleep(500)
  return { proof, capture: captured, evaluation }
}

async function time<Call>(
  calls: readonly Call[],
  make: (call: Call) => Promise<unknown>,
  url: string | undefined,
): Promise<Result> {
  let next = 0
  const walBefore = await walBytesOf(url)
  const serverBefore = bed?.cpuMicros() ?? 0
  const cpu = process.cpuUsage()
  const beganMs = performance.now()
  const client = async () => {
    while (next < calls.length) await make(calls[next++]!)
  }
  await Promise.all(Array.from({ length: clients }, client))
  const tookMs = performance.now() - beganMs
  const { user, system } = process.cpuUsage(cpu)
  const serverCpuMicros = ((bed?.cpuMicros() ?? 0) - serverBefore) / calls.length
  const walBytes = ((await walBytesOf(url)) - walBefore) / calls.length
  const perSecond = (calls.length / tookMs) * 1_000
  return { perSecond, cpuMicros: (user + system) / calls.length, serverCpuMicros, walBytes }
}

async function walBytesOf(url: string | undefined): Promise<number> {
  if (url === undefined) return 0
  const [row] = await execute<{ bytes: string }>(url, `select pg_current_wal_lsn() - '0/0' as bytes`)
  return Number(row?.bytes)
}

/** The size of each table with its indexes, for each of its rows. */
async function describeTables(url: string): Promise<string> {
  await execute(url, 'analyze')
  const tables = await execute<{ name: string; rows: string; bytes: string }>(
    url,
    `select relname as name, n_live_tup as rows, pg_total_relation_size(relid) / n_live_tup as bytes
      from pg_stat_user_tables where n_live_tup > 1000 order by 1`,
  )
  return tables.map(({ name, rows, bytes }) => `${name}: ${rows} rows of ${bytes} bytes`).join(', ')
}

async function openToday(): Promise<Contestant> {
  const url = await bed?.create('today')
  const store =
    url === undefined
      ? openSqliteStore({ path: join(folder, 'today.db'), ownThread: !values.here })
      : await openPostgresStore({ url })
  await store.createAccount(newAccount(), [newKey()], [])
  await store.createAgent(newAgent(), event('agent.created', agentId))
  for (const id of mandateIds) await store.createMandate(newMandate(id), event('mandate.created', id))
  return {
    ...(url === undefined ? {} : { url }),
    issue: (hold) => store.issueProof(hold),
    capture: (call) => store.capture(call),
    evaluate: (call) => store.evaluate(call),
    close: () => store.close(),
  }
}

async function openNew(): Promise<Contestant> {
  const { ledger, ...opened } = bed ? await openNewPostgres(bed) : openNewSqlite()
  await ledger.run(createAccount, { account: newAccount(), keys: [newKey()], events: [] })
  await ledger.run(createAgent, { agent: newAgent(), event: event('agent.created', agentId) })
  for (const id of mandateIds) {
    await ledger.run(createMandate, { mandate: newMandate(id), event: event('mandate.created', id) })
  }
  return {
    ...opened,
    issue: (hold) => ledger.run(issueProof, { hold }),
    capture: (call) => ledger.run(capture, { ...call, payerId: accountId }),
    evaluate: (call) => ledger.run(evaluate, call),
  }
}

function openNewSqlite() {
  const file = openSqliteFile(join(folder, 'new.db'), ledgerSteps)
  const ledger = values.here
    ? newLedger(createSqliteDriver({ database: file.database }), 1)
    : new SqliteLedger({ path: file.path })
  const close = async () => {
    if ('close' in ledger) await ledger.close()
    file.close()
  }
  return { ledger, close }
}

async function openNewPostgres(server: PostgresBed) {
  const url = await server.create('new')
  await execute(url, schema)
  const pool = openPool(url, { max: 8 })
  const ledger = newLedger(createPostgresDriver(pool), Number(values.lanes))
  return { ledger, url, close: () => pool.end() }
}

/** The new ledger in this thread. */
function newLedger(driver: Driver, lanes: number): Ledger {
  const stopwatch = { nowMs: () => performance.now(), sleep: (ms: number) => sleep(ms) }
  return new Ledger({ driver, stopwatch, random: Math.random, lanes })
}

function event(type: 'agent.created' | 'mandate.created', subjectId: string) {
  const id = ids.next('auditEvent')
  return auditEvent(caller, scope, { id, type, subjectId, data: {}, atMs: Date.now() })
}

function newAccount() {
  const account = { id: accountId, name: 'Bench', email: 'bench@example.com', idpUserId: 'bench' }
  return { ...account, createdAtMs: Date.now(), disabledAtMs: null }
}

/** The key of the caller: today's store captures fast only for one that it finds. */
function newKey() {
  const key = { ...scope, id: caller.keyId, role: 'owner', agentId: null, label: null, hint: '' } as const
  return { ...key, secretHash: Buffer.from(caller.keyId), createdAtMs: Date.now(), revokedAtMs: null }
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
