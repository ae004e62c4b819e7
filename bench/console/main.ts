import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { readConfig } from '../../service/src/settings/config.ts'
import { startService, type RunningService } from '../../service/src/start/start.ts'
import { createIdsOfTimes } from '../../service/src/ids.ts'
import { openPostgresLedgerStore } from '../../service/src/store/ledger/postgres/postgres-ledger-store.ts'
import { openSqliteLedgerStore } from '../../service/src/store/ledger/sqlite/sqlite-ledger-store.ts'
import { execute } from '../../service/testing/postgres-databases.ts'
import { askInTurn, type Asked } from './compare.ts'
import { fillLedger, ledgerKey, type LargeLedger, type Size } from './large-ledger.ts'
import { questionsOf } from './screens.ts'
import { reportScreens } from './verdicts.ts'
import { readStore } from '../options.ts'
import { PostgresBed } from '../postgres-bed.ts'

// How long the console's screens wait for their figures: with a large ledger, with one page of transactions,
// and with none. `node bench/console/main.ts --store postgres --transactions 1000000`

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    transactions: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '60' },
  },
})
// Each has the same agents, mandates and sellers: only the measured part grows.
const records = { agents: 50, mandatesOfAgent: 20, sellers: 20 }
const transactions = { large: Number(values.transactions), small: 200, empty: 0 }

const parentFolder = process.env['PURSER_BENCH_DIR'] ?? tmpdir()
mkdirSync(parentFolder, { recursive: true })
const folder = mkdtempSync(join(parentFolder, 'purser-bench-'))
const bed = readStore(values.store) === 'postgres' ? await PostgresBed.open(parentFolder) : undefined
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

/** Fills a ledger, rolls it up, and checks all of it. */
async function fill(database: string, size: Size): Promise<LargeLedger> {
  const nextId = createIdsOfTimes()
  const store = bed
    ? await openPostgresLedgerStore({ url: database, nextId })
    : openSqliteLedgerStore({ path: database.slice('sqlite:'.length), nextId })
  const startedAtMs = performance.now()
  const ledger = await fillLedger(store, size)
  const filledAtMs = performance.now()
  while (await store.addUpActivity());
  const addedUpAtMs = performance.now()
  const faults = await store.findLedgerFaults()
  if (faults.length > 0) throw new Error(`the ledger does not add up: ${JSON.stringify(faults.slice(0, 3))}`)
  await store.close()
  if (bed) await execute(database, 'vacuum analyze')
  console.log(
    `${size.transactions} transactions were written in ${seconds(filledAtMs - startedAtMs)}, and added up in ${seconds(addedUpAtMs - filledAtMs)}`,
  )
  return ledger
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
