import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'

import { createIdsOfTimes } from '../../service/src/ids.ts'
import { openPostgresLedgerStore } from '../../service/src/store/ledger/postgres/postgres-ledger-store.ts'
import { openSqliteLedgerStore } from '../../service/src/store/ledger/sqlite/sqlite-ledger-store.ts'
import type { LedgerFault } from '../../service/src/store/store.ts'
import { multiplyLedger, type LedgerPlace } from '../../service/testing/multiply-ledger.ts'
import { execute } from '../../service/testing/postgres-databases.ts'
import { startChild, type Child } from '../child.ts'
import type { clientActs } from '../client.ts'
import type { Flow } from '../flows.ts'
import { mandates, storeKinds } from '../ledgers.ts'
import { readStore } from '../options.ts'
import { PostgresBed } from '../postgres-bed.ts'
import type { Buyers, Ledger, serverActs } from '../server.ts'
import { medianOf } from '../verdicts.ts'

const help = `npm run bench:soak -- [--store <store>] [--payments <n>] [--rounds <n>] [--seconds <n>] [--minutes <n>]
                     [--clients <n>] [--least <ratio>] [--ask]

How much slower a ledger with many payments is than an empty one, before and after sustained load: both get the same load
in turn. Also prints what payments take on disk, and what is written for each.

  --store     ${storeKinds.join(' or ')} (default sqlite)
  --payments  how many payments the large ledger is filled with (default 5000000)
  --rounds    pairs of blocks per flow (default 8)
  --seconds   length of a block (default 2)
  --minutes   how long the large ledger is under load, between the two comparisons (default 10)
  --clients   connections (default 64)
  --least     the median ratio that each flow must reach, or the exit code is 1 (default 0.93)
  --ask       waits for Enter before each comparison, for example until the machine is quiet

PURSER_BENCH_POSTGRES names a PostgreSQL server; one of the bench's own is started otherwise.
PURSER_BENCH_DIR names the folder for the databases; the system's folder for temporary files otherwise.`

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    payments: { type: 'string', default: '5000000' },
    rounds: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '2' },
    minutes: { type: 'string', default: '10' },
    clients: { type: 'string', default: '64' },
    least: { type: 'string', default: '0.93' },
    ask: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const flows = ['verify', 'proof'] as const satisfies readonly Flow[]
const clients = Number(values.clients)
/** The payments are spread over a day. */
const spanMs = 24 * 3_600_000

type Service = Child<typeof serverActs>
type Name = 'large' | 'empty'

interface Side {
  readonly name: Name
  readonly ledger: Ledger
  readonly buyers: Buyers
}

interface Measured {
  readonly perSecond: number
  readonly writtenBytes: number
}

if (values.help) console.log(help)
else process.exitCode = (await soak()) ? 0 : 1

async function soak(): Promise<boolean> {
  const parentFolder = process.env['PURSER_BENCH_DIR'] ?? tmpdir()
  mkdirSync(parentFolder, { recursive: true })
  const folder = mkdtempSync(join(parentFolder, 'purser-soak-'))
  const bed = readStore(values.store) === 'postgres' ? await PostgresBed.open(parentFolder) : undefined
  const client: Child<typeof clientActs> = startChild('./client.ts')
  const flags = ['--max-semi-space-size=32']
  const processes = [startChild('./server.ts', flags), startChild('./server.ts', flags)] as [Service, Service]
  /** The last rate of each side, which determines how many proofs its next block needs. */
  const rates = new Map<string, number>()

  async function newSide(name: Name, database: string): Promise<Side> {
    const ledger: Ledger = bed
      ? { kind: 'postgres', url: await bed.create(database), captures: 'in batches' }
      : { kind: 'sqlite', path: join(folder, `${database}.db`), groupCommit: true }
    const { key, purchases } = await processes[0].ask('open', { ledger, mandates })
    return { name, ledger, buyers: { key, purchases } }
  }

  async function open(process: Service, { name, ledger, buyers }: Side): Promise<void> {
    await client.ask('know', { name, target: await process.ask('open', { ledger, mandates, buyers }) })
  }

  /** All bytes written by the database server, or without one by the service. */
  async function written(process: Service): Promise<number> {
    if (!bed) return process.ask('written')
    const [row] = await execute<{ bytes: string }>(
      bed.url,
      `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes`,
    )
    return Number(row?.bytes)
  }

  async function runBlock(process: Service, name: Name, flow: Flow, seconds: number): Promise<Measured> {
    if (flow === 'verify') {
      const count = Math.ceil((rates.get(name) ?? 5_000) * seconds * 1.25) + clients
      await client.ask('seed', { service: name, spread: 'uniform', count })
    }
    const before = await written(process)
    const report = await client.ask('block', { service: name, flow, clients, spread: 'uniform', seconds })
    const writtenBytes = ((await written(process)) - before) / report.operations
    if (report.unexpected > 0) throw new Error(`an unexpected answer: ${report.sample}`)
    const perSecond = report.operations / report.seconds
    if (flow === 'verify') rates.set(name, perSecond)
    return { perSecond, writtenBytes }
  }

  /**
   * Runs the same load on both ledgers in turn. The processes swap ledgers half way, since one is often
   * faster for its whole life.
   */
  async function compare(what: string, sides: readonly [Side, Side]): Promise<boolean> {
    if (values.ask) await enter(`Enter to compare ${what}: `)
    const rounds = Number(values.rounds)
    const measured = new Map(flows.map((flow) => [flow, [] as Record<Name, Measured>[]]))
    for (const half of [0, 1]) {
      for (const process of processes) await process.ask('close')
      const places = half === 0 ? sides : sides.toReversed()
      for (const [index, process] of processes.entries()) await open(process, places[index]!)
      // The first round only warms up.
      for (let round = 0; round <= Math.ceil(rounds / 2); round++) {
        for (const flow of flows) {
          const found: Partial<Record<Name, Measured>> = {}
          for (const place of round % 2 === 0 ? [0, 1] : [1, 0]) {
            const { name } = places[place]!
            found[name] = await runBlock(processes[place]!, name, flow, Number(values.seconds))
          }
          if (round > 0) measured.get(flow)?.push(found as Record<Name, Measured>)
        }
      }
    }
    for (const process of processes) await process.ask('close')
    console.log(what)
    return [...measured].map(([flow, pairs]) => print(flow, pairs)).every(Boolean)
  }

  try {
    if (bed) console.log(bed.server)
    const large = await newSide('large', 'large')
    await open(processes[0], large)
    await runOnce(large)
    await processes[0].ask('close')
    const emptyBytes = await bytesOf(large.ledger)
    const copies = Math.floor(Number(values.payments) / mandates) - 1
    const startedAtMs = performance.now()
    await multiplyLedger(placeOf(large.ledger), { copies, everyMs: Math.floor(spanMs / copies) })
    await addUp(large.ledger)
    const filledBytes = await bytesOf(large.ledger)
    console.log(
      `${(copies + 1) * mandates} payments, filled in ${seconds(performance.now() - startedAtMs)}: ${perPayment(filledBytes - emptyBytes, copies * mandates)} bytes on disk each`,
    )
    const isFast = await compare('large and empty', [large, await newSide('empty', 'empty')])
    if (Number(values.minutes) === 0) return isFast

    await open(processes[0], large)
    const before = await bytesOf(large.ledger)
    let operations = 0
    const ratesOfMinutes: number[] = []
    for (let minutes = Number(values.minutes); minutes > 0; minutes--) {
      const report = await client.ask('block', {
        service: 'large',
        flow: 'lifecycle',
        clients,
        spread: 'uniform',
        seconds: 60 * Math.min(1, minutes),
      })
      if (report.unexpected > 0) throw new Error(`an unexpected answer: ${report.sample}`)
      operations += report.operations
      ratesOfMinutes.push(Math.round(report.operations / report.seconds))
    }
    await processes[0].ask('close')
    await addUp(large.ledger)
    const after = await bytesOf(large.ledger)
    console.log(
      `${operations} proofs and payments in ${values.minutes} minutes: ${perPayment(after - before, operations)} bytes on disk each; per second, by minute: ${ratesOfMinutes.join(', ')}`,
    )
    const isStillFast = await compare('large after the load, and empty', [
      large,
      await newSide('empty', 'empty_again'),
    ])
    return isFast && isStillFast
  } finally {
    await Promise.all([client.stop(), ...processes.map((process) => process.stop())])
    await bed?.close()
    rmSync(folder, { recursive: true, force: true })
  }

  /** A payment under each mandate; these are copied. */
  async function runOnce({ name, buyers: { purchases } }: Side): Promise<void> {
    await client.ask('seed', { service: name, spread: 'uniform', count: purchases.length })
    const order = { service: name, flow: 'verify', clients, spread: 'uniform', seconds: 60 } as const
    const { operations } = await client.ask('block', order)
    if (operations !== purchases.length) throw new Error(`${operations} payments were made`)
  }
}

/** Adds the payments to the console's sums, and checks the ledger. */
async function addUp(ledger: Ledger): Promise<void> {
  const nextId = createIdsOfTimes()
  const store =
    ledger.kind === 'postgres'
      ? await openPostgresLedgerStore({ url: ledger.url, nextId })
      : openSqliteLedgerStore({ path: ledger.path, nextId })
  while (await store.addUpActivity());
  const faults: LedgerFault[] = await store.findLedgerFaults()
  await store.close()
  if (faults.length > 0) throw new Error(`the ledger does not add up: ${JSON.stringify(faults.slice(0, 3))}`)
}

function placeOf(ledger: Ledger): LedgerPlace {
  return ledger.kind === 'postgres' ? { url: ledger.url } : { path: ledger.path }
}

async function bytesOf(ledger: Ledger): Promise<number> {
  if (ledger.kind === 'sqlite') return statSync(ledger.path).size
  const [row] = await execute<{ bytes: string }>(
    ledger.url,
    'select pg_database_size(current_database()) as bytes',
  )
  return Number(row?.bytes)
}

async function enter(question: string): Promise<void> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  await lines.question(question)
  lines.close()
}

function print(flow: Flow, pairs: readonly Record<Name, Measured>[]): boolean {
  const ratios = pairs.map(({ large, empty }) => large.perSecond / empty.perSecond)
  const of = (name: Name, what: keyof Measured) => Math.round(medianOf(pairs.map((pair) => pair[name][what])))
  const ratio = medianOf(ratios)
  console.log(
    `  ${flow}: ${of('large', 'perSecond')}/s, empty ${of('empty', 'perSecond')}/s; ratio ${ratio.toFixed(3)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}); bytes written each ${of('large', 'writtenBytes')}, empty ${of('empty', 'writtenBytes')}`,
  )
  return ratio >= Number(values.least)
}

function perPayment(bytes: number, payments: number): number {
  return Math.round(bytes / payments)
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(0)} s`
}
