import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { readConfig } from '../../service/src/settings/config.ts'
import { startService, type RunningService } from '../../service/src/start/start.ts'
import { openPostgresStore } from '../../service/src/store/postgres/postgres-store.ts'
import { openSqliteStore } from '../../service/src/store/sqlite/sqlite-store.ts'
import { askInTurn, type Asked } from './compare.ts'
import { fillPostgres, fillSqlite } from './fill.ts'
import { beginLedger, ledgerKey, type LargeLedger, type Size } from './large-ledger.ts'
import { questionsOf } from './screens.ts'
import { reportScreens } from './verdicts.ts'
import { PostgresBed } from '../postgres-bed.ts'

// How long the console's screens wait for their figures: over a large ledger, over one that holds a page of
// transactions, and over one that holds none. `node bench/console/main.ts --store postgres --transactions 1000000`

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    transactions: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '60' },
  },
})
// The same agents, mandates and sellers in each: what grows is what is measured.
const records = { agents: 50, mandatesOfAgent: 20, sellers: 20 }
const transactions = { large: Number(values.transactions), small: 200, empty: 0 }

const parentFolder = process.env['PURSER_BENCH_DIR'] ?? tmpdir()
mkdirSync(parentFolder, { recursive: true })
const folder = mkdtempSync(join(parentFolder, 'purser-bench-'))
const bed = values.store === 'postgres' ? await PostgresBed.open(parentFolder) : undefined
const services: RunningService[] = []
try {
  const large = await serve('large', { ...records, transactions: transactions.large })
  const small = await serve('small', { ...records, transactions: transactions.small })
  const empty = await serve('empty', { ...records, transactions: transactions.empty })
  const times = await askInTurn({ large, small, empty }, Number(values.rounds))
  process.exitCode = reportScreens(times) ? 0 : 1
} finally {
  for (const service of services) await service.stop()
  await bed?.close()
  rmSync(folder, { recursive: true, force: true })
}

/** A service over a ledger of this size. */
async function serve(name: string, size: Size): Promise<Asked> {
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
  services.push(service)
  const latest = await fetch(`${service.url}/v1/transactions?limit=1`, {
    headers: { authorization: `Bearer ${ledgerKey}` },
  })
  const [transaction] = (await latest.json()) as { id: string }[]
  return { url: service.url, key: ledgerKey, questions: questionsOf(ledger, transaction?.id) }
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
