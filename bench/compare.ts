import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { preparePurchases } from './buyers.ts'
import { startChild, type Child } from './child.ts'
import type { clientActs } from './client.ts'
import { flows, spreads, type Flow, type Spread } from './flows.ts'
import { mandates, storeKinds } from './ledgers.ts'
import { PostgresBed } from './postgres-bed.ts'
import { Progress } from './progress.ts'
import { cpuMicrosOf, startService, stopService } from './service-process.ts'
import { medianOf } from './verdicts.ts'

const help = `npm run bench:compare -- <folder> [--store <store>] [--only <flow>,…] [--starts <n>] [--rounds <n>]
                         [--seconds <n>] [--clients <n>] [--spread <spread>] [--least <ratio>]

Runs this checkout and another one (after npm ci there) side by side, as \`npm start\` runs them, and puts the
same load on them in turn. Prints this checkout's rate and processor time per operation as ratios to the other's, on
PostgreSQL also the processor time of the server.

  --store    ${storeKinds.join(' or ')} (default sqlite)
  --only     flows to measure (default verify,proof,evaluate)
  --starts   how often both are started anew: a process keeps its luck for life (default 4)
  --rounds   pairs of blocks per flow and start (default 4)
  --seconds  length of a block (default 1)
  --warm-up  seconds of load on each side before its blocks count: V8 compiles the code meanwhile (default 25)
  --clients  connections (default 64)
  --spread   ${spreads.join(' or ')}: all mandates in turn, or one (default uniform)
  --least    the median rate ratio each flow must reach, or the exit code is 1 (default 0.97)
  --set      a setting of this checkout only, as NAME=value; may be repeated`

interface Side {
  readonly name: 'this' | 'other'
  readonly folder: string
  readonly process: ChildProcess
}

interface Measured {
  readonly perSecond: number
  readonly cpuMicros: number
  /** Of the database server, if there is one. */
  readonly serverMicros: number
}

type Round = Record<Side['name'], Measured>

/** The last verification rate of each side, which determines how many proofs its next block needs. */
const rates = new Map<string, number>()

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: 'string', default: 'sqlite' },
    only: { type: 'string', default: 'verify,proof,evaluate' },
    starts: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '1' },
    'warm-up': { type: 'string', default: '25' },
    clients: { type: 'string', default: '64' },
    spread: { type: 'string', default: 'uniform' },
    least: { type: 'string', default: '0.97' },
    set: { type: 'string', multiple: true, default: [] },
    help: { type: 'boolean', default: false },
  },
})
const [otherFolder] = positionals
if (values.help || otherFolder === undefined) {
  console.log(help)
  process.exitCode = values.help ? 0 : 2
} else {
  process.exitCode = (await compare(resolve(otherFolder))) ? 0 : 1
}

async function compare(other: string): Promise<boolean> {
  const chosen = values.only.split(',').map((text) => pick<Flow>(flows, text))
  const store = pick(storeKinds, values.store)
  const folder = mkdtempSync(join(tmpdir(), 'purser-compare-'))
  const client: Child<typeof clientActs> = startChild('./client.ts')
  const bed = store === 'postgres' ? await PostgresBed.open(tmpdir()) : undefined
  const starts = Number(values.starts)
  const progress = new Progress(starts * chosen.length)
  const measured = new Map(chosen.map((flow) => [flow, [] as Round[]]))
  const checkouts = [
    { name: 'this', folder: resolve(import.meta.dirname, '..') },
    { name: 'other', folder: other },
  ] as const
  try {
    for (let start = 0; start < starts; start++) {
      const sides: Side[] = []
      try {
        for (const { name, folder: checkout } of start % 2 === 0 ? checkouts : checkouts.toReversed()) {
          const ledger = `${name}_${start}`
          const database = bed ? await bed.create(ledger) : `sqlite:${join(folder, ledger)}.db`
          sides.push(await startSide({ name, folder: checkout, database, client }))
        }
        for (const flow of chosen) {
          const rounds = await runRounds(client, sides, { flow, bed })
          measured.get(flow)?.push(...rounds)
          progress.step(`start ${start + 1} of ${starts}: ${flow}: ${describe(rounds).rate.text}`)
        }
      } finally {
        for (const side of sides) await stopService(side.process)
      }
    }
    progress.finish()
    return [...measured].map(([flow, rounds]) => print(flow, rounds)).every(Boolean)
  } finally {
    await client.stop()
    await bed?.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Blocks of one flow, alternating between both sides in changing order. The first ones only warm up. */
async function runRounds(
  client: Child<typeof clientActs>,
  sides: readonly Side[],
  what: { readonly flow: Flow; readonly bed: PostgresBed | undefined },
): Promise<Round[]> {
  const rounds: Round[] = []
  const warmUps = Math.ceil(Number(values['warm-up']) / Number(values.seconds))
  for (let index = -warmUps; index < Number(values.rounds); index++) {
    const round: Partial<Round> = {}
    for (const side of index % 2 === 0 ? sides : sides.toReversed()) {
      round[side.name] = await runBlock(client, side, what)
    }
    const { this: ours, other: theirs } = round
    assert(ours && theirs)
    if (index >= 0) rounds.push({ this: ours, other: theirs })
  }
  return rounds
}

/** Starts the service of a checkout on a new ledger, with the agents and mandates that the load uses. */
async function startSide(parts: {
  readonly name: Side['name']
  readonly folder: string
  readonly database: string
  readonly client: Child<typeof clientActs>
}): Promise<Side> {
  const { name, folder, database, client } = parts
  const settings =
    name === 'this' ? Object.fromEntries(values.set.map((setting) => setting.split(/=(.*)/s))) : {}
  const { process: child, port, key } = await startService({ folder, database, settings })
  const purchases = await preparePurchases(port, key, mandates)
  await client.ask('know', { name, target: { port, key, purchases } })
  return { name, folder, process: child }
}

async function runBlock(
  client: Child<typeof clientActs>,
  { name, process: child }: Side,
  { flow, bed }: { readonly flow: Flow; readonly bed: PostgresBed | undefined },
): Promise<Measured> {
  const spread = pick<Spread>(spreads, values.spread)
  const seconds = Number(values.seconds)
  const clients = Number(values.clients)
  if (flow === 'verify') {
    const count = Math.ceil((rates.get(name) ?? 5_000) * seconds * 1.25) + clients
    await client.ask('seed', { service: name, spread, count })
  }
  const before = cpuMicrosOf(child)
  const serverBefore = bed?.cpuMicros() ?? 0
  const report = await client.ask('block', { service: name, flow, clients, spread, seconds })
  const cpuMicros = cpuMicrosOf(child) - before
  const serverMicros = (bed?.cpuMicros() ?? 0) - serverBefore
  assert.equal(report.unexpected, 0, `${name} gave an unexpected answer: ${report.sample}`)
  const perSecond = report.operations / report.seconds
  if (flow === 'verify') rates.set(name, perSecond)
  return {
    perSecond,
    cpuMicros: cpuMicros / report.operations,
    serverMicros: serverMicros / report.operations,
  }
}

function print(flow: Flow, rounds: readonly Round[]): boolean {
  const { rate, cpu, server, ours, theirs, micros, serverMicros } = describe(rounds)
  const database = server ? `; of the database ${server.text} (${serverMicros} µs each)` : ''
  console.log(
    `${flow}: ${ours}/s, other ${theirs}/s; rate ${rate.text}; processor time ${cpu.text} (${micros} µs each)${database}`,
  )
  return rate.median >= Number(values.least)
}

function describe(rounds: readonly Round[]) {
  return {
    rate: spreadOf(rounds.map((round) => round.this.perSecond / round.other.perSecond)),
    cpu: spreadOf(rounds.map((round) => round.this.cpuMicros / round.other.cpuMicros)),
    server: rounds.some(({ other }) => other.serverMicros > 0)
      ? spreadOf(rounds.map((round) => round.this.serverMicros / round.other.serverMicros))
      : undefined,
    ours: Math.round(medianOf(rounds.map((round) => round.this.perSecond))),
    theirs: Math.round(medianOf(rounds.map((round) => round.other.perSecond))),
    micros: medianOf(rounds.map((round) => round.this.cpuMicros)).toFixed(1),
    serverMicros: medianOf(rounds.map((round) => round.this.serverMicros)).toFixed(1),
  }
}

function spreadOf(ratios: readonly number[]): { readonly median: number; readonly text: string } {
  const median = medianOf(ratios)
  return {
    median,
    text: `${median.toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
  }
}

function pick<T extends string>(known: readonly T[], text: string): T {
  const found = known.find((each) => each === text)
  if (!found) throw new Error(`${JSON.stringify(text)} is not one of ${known.join(', ')}.`)
  return found
}
