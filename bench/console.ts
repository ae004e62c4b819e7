import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { readConfig } from '../service/src/config.ts'
import { startService } from '../service/src/start.ts'
import { openPostgresStore } from '../service/src/store/postgres/postgres-store.ts'
import { openSqliteStore } from '../service/src/store/sqlite/sqlite-store.ts'
import { fillPostgres, fillSqlite } from './console/fill.ts'
import { beginLedger, ledgerKey, type LargeLedger, type Size } from './console/large-ledger.ts'
import { questionsOf, timesOf } from './console/screens.ts'
import { PostgresBed } from './postgres-bed.ts'

// How long the console's screens wait for their figures, over a large ledger and over one that has just begun.
// `node bench/console.ts --store postgres --transactions 1000000`

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    transactions: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '25' },
  },
})
const rounds = Number(values.rounds)
const large: Size = {
  agents: 50,
  mandatesOfAgent: 20,
  sellers: 20,
  transactions: Number(values.transactions),
}
// The same agents, mandates and sellers, and enough transactions to fill a page: what grows is what is measured.
const small: Size = { ...large, transactions: 200 }

const parentFolder = process.env['PURSER_BENCH_DIR'] ?? tmpdir()
mkdirSync(parentFolder, { recursive: true })
const folder = mkdtempSync(join(parentFolder, 'purser-bench-'))
const bed = values.store === 'postgres' ? await PostgresBed.open(parentFolder) : undefined
try {
  const few = await measure('small', small)
  const many = await measure('large', large)
  let isPassed = true
  console.log(
    `\n${'screen'.padEnd(36)} ${'p50 ms'.padStart(8)} ${'p95 ms'.padStart(8)} ${'small'.padStart(8)} ${'ratio'.padStart(6)}`,
  )
  for (const [screen, times] of many) {
    const small50 = at(few.get(screen) ?? [], 0.5)
    const [p50, p95] = [at(times, 0.5), at(times, 0.95)]
    const isFast = p95 <= 100 && p50 <= 3 * small50
    if (!isFast) isPassed = false
    console.log(
      `${screen.padEnd(36)} ${p50.toFixed(1).padStart(8)} ${p95.toFixed(1).padStart(8)} ${small50.toFixed(1).padStart(8)} ${(p50 / small50).toFixed(1).padStart(6)}${isFast ? '' : '  !'}`,
    )
  }
  process.exitCode = isPassed ? 0 : 1
} finally {
  await bed?.close()
  rmSync(folder, { recursive: true, force: true })
}

/** The times of every screen over a ledger of this size. */
async function measure(name: string, size: Size): Promise<Map<string, number[]>> {
  const database = bed ? await bed.create(name) : `sqlite:${join(folder, `${name}.db`)}`
  const ledger = await fill(database, size)
  const environment = {
    PURSER_DATABASE: database,
    PURSER_PORT: '0',
    PURSER_LOG_LEVEL: 'warn',
    PURSER_BOOTSTRAP_SANDBOX_KEY: ledgerKey,
  }
  const reading = readConfig([], { ...environment, PURSER_WORKERS: '1' }, folder)
  if (!('config' in reading)) throw new Error(JSON.stringify(reading))
  const service = await startService(reading.config)
  try {
    const latest = await fetch(`${service.url}/v1/transactions?limit=1`, {
      headers: { authorization: `Bearer ${ledgerKey}` },
    })
    const [transaction] = (await latest.json()) as { id: string }[]
    const questions = questionsOf(ledger, transaction?.id ?? '')
    const times = new Map<string, number[]>()
    for (const question of questions) await timesOf(service.url, ledgerKey, question, 3)
    for (const question of questions)
      times.set(question.screen, await timesOf(service.url, ledgerKey, question, rounds))
    return times
  } finally {
    await service.stop()
  }
}

/** Fills a ledger, adds it up, and has it checked as a whole. */
async function fill(database: string, size: Size): Promise<LargeLedger> {
  const open = () =>
    bed ? openPostgresStore({ url: database }) : openSqliteStore({ path: database.slice('sqlite:'.length) })
  const startedAtMs = performance.now()
  const first = await open()
  const ledger = await beginLedger(first, size)
  await first.close()
  if (bed) await fillPostgres(database, ledger)
  else fillSqlite(database.slice('sqlite:'.length), ledger)
  const filledAtMs = performance.now()
  const store = await open()
  while (await store.addUpActivity());
  const addedUpAtMs = performance.now()
  const faults = await store.findLedgerFaults()
  if (faults.length > 0) throw new Error(`the ledger does not add up: ${JSON.stringify(faults.slice(0, 3))}`)
  await store.close()
  console.log(
    `${size.transactions} transactions were written in ${seconds(filledAtMs - startedAtMs)}, and added up in ${seconds(addedUpAtMs - filledAtMs)}`,
  )
  return ledger
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}

function at(sorted: readonly number[], part: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN
}
