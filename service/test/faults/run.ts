import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Client } from 'pg'

import { readerOn } from '../../src/store/ledger/postgres/postgres-reader.ts'
import { findRows } from '../../src/store/ledger/reads/rows.ts'
import type { Table } from '../../src/store/ledger/table.ts'
import { sql } from '../../src/store/sql.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { sweptWithinMs } from './checks/holds.ts'
import { findComplaints } from './checker.ts'
import { isFateUnknown } from './calls.ts'
import type { Complaint } from './complaint.ts'
import { faultKinds, planFaults } from './faults.ts'
import type { Call, Evidence } from './history.ts'
import { createHttpSend } from './http-send.ts'
import { trade } from './market.ts'
import { MortalPostgres } from './mortal-postgres.ts'
import { PostgresProxy } from './postgres-proxy.ts'
import { checkedTables, readContent } from './read-content.ts'
import { record } from './recorder.ts'
import { readClock } from './clocks/service-clock.ts'
import { Services } from './services.ts'
import { TestClock } from './clocks/test-clock.ts'

export interface RunOptions {
  readonly faults: number
  readonly seed: number
  /** The speed of the services' clock relative to the machine's. */
  readonly speed: number
  /** Called with progress messages. */
  readonly tell: (text: string) => void
  /** Aborts the run early, with everything that it has started. */
  readonly signal?: AbortSignal
}

export interface RunReport {
  /** How often each kind of fault was injected. */
  readonly faults: ReadonlyMap<string, number>
  /** The kinds that cannot be injected here, each with the reason. */
  readonly missing: readonly string[]
  /** The kinds of faults that were injected and left no trace. */
  readonly traceless: readonly string[]
  /** Transactions that were made to fail, by code. */
  readonly clashes: Readonly<Record<string, number>>
  /** The number of transactions while some were made to fail. */
  readonly transactions: number
  readonly evidence: Evidence
  readonly complaints: readonly Complaint[]
  /** Bugs reported in the services' logs. */
  readonly bugs: readonly string[]
}

const serviceProcesses = 2
/** How many of 100 transactions are made to conflict. */
export const clashPercent = 10

/** How often one fault may wait for its opportunity. */
const mostTries = 20

/** How long the trace of a fault may take to appear. */
const tracedWithinMs = 5_000

/** How long clients may take to complete what they began, once everything works again. */
const closingMs = 90_000

/** How long the sweep may take to end what has expired. */
const sweepingMs = 20_000

/**
 * Two service processes on one PostgreSQL server, trading agents and merchants, and this many faults, one
 * after the other; then everything is restarted, open operations complete, and the checker runs.
 */
export async function runFaults(options: RunOptions): Promise<RunReport> {
  const stops: (() => Promise<void>)[] = []
  const context = { after: (stop: () => Promise<void>) => void stops.unshift(stop) }
  const aborted = new Promise<never>((_resolve, reject) => {
    options.signal?.addEventListener('abort', () => reject(new Error('the run was aborted')))
  })
  try {
    return await Promise.race([runIn(context, options), aborted])
  } finally {
    for (const stop of stops) await stop()
  }
}

async function runIn(
  context: { readonly after: (stop: () => Promise<void>) => void },
  { faults, seed, speed, tell }: Omit<RunOptions, 'signal'>,
): Promise<RunReport> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-faults-'))
  context.after(async () => rmSync(folder, { recursive: true, force: true }))
  const clock = { originMs: Date.now(), speed }
  const now = () => readClock(clock, Date.now())

  const postgres = await MortalPostgres.start(folder)
  context.after(() => postgres.close())
  const proxy = new PostgresProxy({
    upstreamPort: postgres.port,
    random: seededRandom(seed + 1),
    clashPercent,
  })
  proxy.areClashesOn = false
  const database = postgres.urlAt(await proxy.listen())
  context.after(() => proxy.close())
  const services = new Services({ count: serviceProcesses, folder, database, clock, context })
  await services.start()
  const keys = await services.makeKeys()
  tell(`${serviceProcesses} service processes on PostgreSQL, behind a proxy`)

  const random = seededRandom(seed)
  const send = createHttpSend({
    urls: () => services.urls,
    secrets: keys.secrets,
    random: seededRandom(seed + 2),
  })
  // The agents' account has a test clock, by which everything is judged.
  const testClock = new TestClock({
    urls: () => services.urls,
    secret: keys.secrets.get(keys.ownerKeyId) ?? '',
    random: seededRandom(seed + 4),
  })
  const recorder = record(
    send,
    () => now() + testClock.leastOffsetMs,
    () => now() + testClock.mostOffsetMs,
  )
  let isOpen = true
  const advancing = testClock.advanceWhile(() => isOpen)
  proxy.areClashesOn = true
  const trading = trade(
    {
      ...keys,
      send: recorder.send,
      random: seededRandom(seed + 3),
      sleep: (ms) => sleep(ms / speed),
      isOpen: () => isOpen,
      hasOrders: true,
    },
    { buyers: 16, owners: 4, teams: 4 },
  )

  const missing = 'missing' in postgres.disk ? [`fill the disk: ${postgres.disk.missing}`] : []
  const kinds = faultKinds.filter(({ kind }) => !missing.some((reason) => reason.startsWith(kind)))
  const struck = new Map<string, number>()
  const traceless: string[] = []
  const victims = { proxy, postgres, services, random }
  async function makeFaults(): Promise<void> {
    let made = 0
    for (const { kind, strike, trace } of planFaults(faults, kinds, random)) {
      await postgres.bringUp()
      await untilAnswered(recorder.calls)
      await sleep(random.below(200))
      const before = trace?.(victims) ?? 0
      // A fault without an opportunity is injected at the next one.
      for (let tries = 1; !(await strike(victims)); tries++) {
        tell(`no occasion to ${kind}`)
        if (tries === mostTries) throw new Error(`there is never an occasion to ${kind}`)
      }
      if (trace && !(await hasGrown(() => trace(victims), before))) traceless.push(kind)
      struck.set(kind, (struck.get(kind) ?? 0) + 1)
      tell(`${++made} of ${faults}: ${kind} (${recorder.calls.length} requests)`)
    }
  }
  await Promise.race([makeFaults(), trading])

  isOpen = false
  proxy.areClashesOn = false
  await postgres.bringUp()
  tell('the market closes; what was begun is brought to its end')
  await Promise.race([
    trading,
    failAfter(closingMs, 'clients still do not know the outcome of their requests'),
  ])
  send.close()
  await advancing
  const client = await postgres.connect()
  const payerMs = () => now() + testClock.mostOffsetMs
  await untilSwept(client, payerMs)
  // Stopping takes a while on a busy machine, and holds continue to expire meanwhile.
  const sweptUntilMs = payerMs()
  await services.stop()
  const rows = new Map<Table, readonly unknown[]>()
  for (const table of checkedTables) rows.set(table, await findRows(readerOn(client), table, sql`true`))
  const content = readContent((table) => rows.get(table) ?? [], { readAtMs: payerMs(), sweptUntilMs })
  await client.end()
  const evidence = { calls: recorder.calls, content }
  const complaints = findComplaints(evidence)
  const { clashes, transactions } = proxy
  const { bugs } = services
  return { faults: struck, missing, traceless, clashes, transactions, evidence, complaints, bugs }
}

/** Whether a count exceeds its earlier value, now or soon. */
async function hasGrown(count: () => number, before: number): Promise<boolean> {
  for (const untilMs = performance.now() + tracedWithinMs; performance.now() < untilMs; await sleep(5)) {
    if (count() > before) return true
  }
  return false
}

/** Waits until requests are answered again, so that each fault hits a working service. */
async function untilAnswered(calls: readonly Call[]): Promise<void> {
  const from = calls.length
  for (let tries = 0; tries < 200; tries++) {
    if (calls.slice(from).some((call) => !isFateUnknown(call))) return
    await sleep(25)
  }
}

async function failAfter(ms: number, complaint: string): Promise<never> {
  await sleep(ms, undefined, { ref: false })
  throw new Error(complaint)
}

/** Waits until everything expired has ended, or should have ended; then the checker complains. */
async function untilSwept(client: Client, now: () => number): Promise<void> {
  for (const untilMs = performance.now() + sweepingMs; performance.now() < untilMs; await sleep(100)) {
    const expired = `
      select 1 from payments p join mandates m on m.account_id = p.account_id and m.id = p.mandate_id
      where p.status = 'open' and p.epoch = m.epoch and p.expires_at_ms < $1 limit 1`
    const { rows } = await client.query(expired, [now() - sweptWithinMs / 2])
    if (rows.length === 0) return
  }
}
