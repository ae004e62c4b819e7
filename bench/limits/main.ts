import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { createBuyers, preparePurchases } from '../buyers.ts'
import { startChild } from '../child.ts'
import type { clientActs } from '../client.ts'
import { flows, type Flow, type Spread } from '../flows.ts'
import { mandates, storeKinds } from '../ledgers.ts'
import { PostgresBed } from '../postgres-bed.ts'
import { readStore } from '../options.ts'
import { Progress } from '../progress.ts'
import { cpuMicrosOf, startService, stopService, type ServiceProcess } from '../service-process.ts'
import { medianOf } from '../verdicts.ts'

const help = `npm run bench:limits -- [--store <store>] [--flows <flow>,…] [--rounds <n>] [--seconds <n>] [--clients <n>]

What limits and shared budgets cost: one service has mandates without limits, with three limits, and under one shared
budget, and the same load is put on each in turn. Prints rates and CPU time as ratios to mandates without limits. The
exit code is 1 if a ratio misses its target.

  --store    ${storeKinds.join(' or ')} (default sqlite)
  --flows    flows to measure (default proof,lifecycle)
  --rounds   rounds of blocks (default 12)
  --seconds  length of a block (default 1)
  --clients  connections (default 64)`

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    flows: { type: 'string', default: 'proof,lifecycle' },
    rounds: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '1' },
    clients: { type: 'string', default: '64' },
    help: { type: 'boolean', default: false },
  },
})

const plenty = '900000000000.00'
const threeLimits = [
  { window: { calendar: 'day', time_zone: 'Europe/Berlin' }, max_amount: plenty },
  { window: { calendar: 'month', time_zone: 'America/New_York' }, max_amount: plenty },
  { window: { rolling_seconds: 3_600 }, max_count: 1_000_000_000 },
]
const oneLimit = threeLimits.slice(0, 1)

interface Case {
  readonly name: string
  readonly terms: 'none' | 'three limits' | 'one limit' | 'shared budget'
  readonly spread: Spread
  /** The rate that it must keep of another case. */
  readonly target?: { readonly of: string; readonly least: number }
}

const cases: readonly Case[] = [
  { name: 'no limits', terms: 'none', spread: 'uniform' },
  { name: 'three limits', terms: 'three limits', spread: 'uniform', target: { of: 'no limits', least: 0.8 } },
  {
    name: 'shared budget',
    terms: 'shared budget',
    spread: 'uniform',
    target: { of: 'no limits', least: 0.6 },
  },
  { name: 'hot', terms: 'none', spread: 'hot' },
  { name: 'hot with a limit', terms: 'one limit', spread: 'hot', target: { of: 'hot', least: 0.75 } },
]

interface Measured {
  readonly perSecond: number
  readonly cpuMicros: number
}

if (values.help) console.log(help)
else process.exitCode = (await measure()) ? 0 : 1

async function measure(): Promise<boolean> {
  const chosen = values.flows
    .split(',')
    .map((text) => flows.find((flow) => flow === text) ?? assert.fail(help))
  const folder = mkdtempSync(join(tmpdir(), 'purser-limits-'))
  const client = startChild<typeof clientActs>('./client.ts')
  const bed = readStore(values.store) === 'postgres' ? await PostgresBed.open(tmpdir()) : undefined
  let service: ServiceProcess | undefined
  try {
    const database = bed ? await bed.create('limits') : `sqlite:${join(folder, 'purser.db')}`
    const started = await startService({ folder: resolve(import.meta.dirname, '../..'), database })
    service = started
    const { port, key } = started
    const budget = await createBudget(started)
    const buyers = {
      none: await preparePurchases(port, key, mandates),
      'three limits': await createBuyers(port, key, { count: mandates, terms: { limits: threeLimits } }),
      'one limit': await createBuyers(port, key, { count: 1, terms: { limits: oneLimit } }),
      'shared budget': await createBuyers(port, key, { count: mandates, terms: { budget_id: budget } }),
    }
    for (const [name, purchases] of Object.entries(buyers)) {
      await client.ask('know', { name, target: { port, key, purchases } })
    }
    const rounds = Number(values.rounds)
    const progress = new Progress(chosen.length * (rounds + 1))
    const isMet: boolean[] = []
    for (const flow of chosen) {
      const measured = new Map(cases.map(({ name }) => [name, [] as Measured[]]))
      // The first round is a warm-up.
      for (let round = 0; round <= rounds; round++) {
        for (const one of round % 2 === 0 ? cases : cases.toReversed()) {
          const block = await runBlock(started, flow, one)
          if (round > 0) measured.get(one.name)?.push(block)
        }
        progress.step(`${flow}: round ${round} of ${rounds}`)
      }
      isMet.push(...cases.map((one) => print(flow, one, measured)))
    }
    progress.finish()
    return isMet.every(Boolean)
  } finally {
    if (service) await stopService(service.process)
    await client.stop()
    await bed?.close()
    rmSync(folder, { recursive: true, force: true })
  }

  async function runBlock({ process: child }: ServiceProcess, flow: Flow, one: Case): Promise<Measured> {
    const clients = Number(values.clients)
    const seconds = Number(values.seconds)
    const before = cpuMicrosOf(child)
    const report = await client.ask('block', {
      service: one.terms,
      flow,
      clients,
      spread: one.spread,
      seconds,
    })
    assert.equal(report.unexpected, 0, `unexpected answer: ${report.sample}`)
    return {
      perSecond: report.operations / report.seconds,
      cpuMicros: (cpuMicrosOf(child) - before) / report.operations,
    }
  }
}

async function createBudget({ port, key }: ServiceProcess): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/budgets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'All agents', limits: [{ window: 'lifetime', max_amount: plenty }] }),
    signal: AbortSignal.timeout(10_000),
  })
  const text = await answer.text()
  assert.equal(answer.status, 201, text)
  return (JSON.parse(text) as { id: string }).id
}

/** Prints a case; false if it misses its target. */
function print(
  flow: Flow,
  { name, target }: Case,
  measured: ReadonlyMap<string, readonly Measured[]>,
): boolean {
  const own = measured.get(name) ?? []
  const rate = Math.round(medianOf(own.map(({ perSecond }) => perSecond)))
  const cpu = medianOf(own.map(({ cpuMicros }) => cpuMicros)).toFixed(0)
  const line = `${flow}, ${name}: ${rate}/s, ${cpu} µs of CPU time each`
  if (!target) {
    console.log(line)
    return true
  }
  const base = measured.get(target.of) ?? []
  const ratios = own.map(({ perSecond }, round) => perSecond / (base[round]?.perSecond ?? NaN))
  const ratio = medianOf(ratios)
  const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`
  console.log(`${line}; ${ratio.toFixed(2)} (${spread}) of ${target.of}, target ${target.least}`)
  return ratio >= target.least
}
