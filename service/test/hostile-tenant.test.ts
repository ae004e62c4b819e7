/**
 * The purpose of all protections together: a hostile tenant does not degrade the service for an honest one.
 * Speed is measured in `bench/`, never in a test; this is the exception. To be independent of a busy machine,
 * both tenants use the same machine in the same run, quiet and hostile windows alternate, and a service that
 * lacks one protection fails by a wide margin.
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import type { Figures, Plan } from './hostile-scenario.ts'

/** How much slower an honest tenant may become. */
const maxRatio = 3
/** How often a slow run is repeated on a busy machine. */
const maxRuns = 4
/** A quiet time below this counts as this: differences of a few milliseconds are noise. */
const leastQuietMs = 10
/** How much memory attacks may take in addition to the service's own. */
const maxGrowthMiB = 256

const windows = Number(process.env['HOSTILE_WINDOWS'] ?? 2)
const skip = process.platform !== 'linux' && 'the memory of a process is read from /proc'

test(
  "A hostile tenant neither slows an honest one down nor exhausts the service's memory",
  { skip },
  async (context) => {
    const plan = { without: 'nothing', windows, windowMs: 2_000 } as const
    let figures = await measure(context, plan)
    // Something else may have taken the processors for a while, from the service, from its garbage collector or from the
    // attacks; a service that can be slowed down or filled up fails every time.
    const isTooMuch = () => slowdown(figures) > maxRatio || growthMiB(figures) > maxGrowthMiB
    for (let run = 1; run < maxRuns && (isTooMuch() || missingIn(figures).length > 0); run++)
      figures = await measure(context, plan)

    assert.ok(slowdown(figures) <= maxRatio, `the honest tenant is slowed down: ${describe(figures)}`)
    assert.ok(growthMiB(figures) <= maxGrowthMiB, `memory grows: ${describe(figures)}`)
    assert.deepEqual(figures.wrong, [], 'every request of the honest tenant is answered as usual')
    assert.ok(figures.paid >= 80 * windows, describe(figures))
    assert.equal(figures.chargedCents, figures.paid, 'each purchase is charged once')
    assert.doesNotMatch(figures.stderr, /"level":(50|60)/)

    assert.deepEqual(missingIn(figures), [], `it was attacked in every way: ${describe(figures)}`)
  },
)

test('Without fair turns between accounts the honest tenant is slowed down', { skip }, async (context) => {
  const figures = await measure(context, {
    without: 'turns of accounts',
    windows: 1,
    windowMs: 500,
    enoughRatio: 2 * maxRatio,
  })
  assert.ok(slowdown(figures) > maxRatio, describe(figures))
})

test('Without connection limits memory grows', { skip }, async (context) => {
  const figures = await measure(context, {
    without: 'bounds of connections',
    windows: 1,
    windowMs: 2_000,
    enoughMiB: maxGrowthMiB,
  })
  assert.ok(growthMiB(figures) > maxGrowthMiB, describe(figures))
})

type Outcome = { readonly figures: Figures } | { readonly failure: string }

async function measure(context: TestContext, plan: Plan): Promise<Figures> {
  // In its own session, to which the scheduler can give priority.
  const child = fork(join(import.meta.dirname, 'hostile-scenario.ts'), { detached: true, stdio: 'inherit' })
  const ended = once(child, 'exit').then(() => [{ failure: 'the scenario was interrupted' }])
  child.send(plan)
  const [outcome] = (await Promise.race([once(child, 'message'), ended])) as [Outcome]
  if (child.connected) child.disconnect()
  if ('failure' in outcome) assert.fail(outcome.failure)
  context.diagnostic(`without ${plan.without}: ${describe(outcome.figures)}`)
  return outcome.figures
}

function slowdown({ quietMs, hostileMs }: Figures): number {
  return p99(hostileMs) / Math.max(p99(quietMs), leastQuietMs)
}

function growthMiB({ restingMiB, peakMiB }: Figures): number {
  return peakMiB - restingMiB
}

/** The 99th percentile of values in ascending order. */
function p99(ascending: readonly number[]): number {
  return ascending[Math.ceil(ascending.length * 0.99) - 1] ?? Number.NaN
}

/** How often each attack must at least have had its effect. */
const expectedEffects: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'big texts': { 422: 30 * windows },
  denials: { 402: 50 * windows },
  'invented domains': { 402: 50 * windows },
  guesses: { 401: 90, 429: 100 * windows },
  feeds: { 200: 20 * windows, 429: 5 * windows },
  exports: { 200: 2 * windows, 429: 2 * windows },
  'long lists': { asked: 300 * windows, 429: windows },
  'slow readers': { asked: 5 * windows, 'cut off': windows },
}

/** The effects that were seen too rarely. */
function missingIn({ seen }: Pick<Figures, 'seen'>): string[] {
  return Object.entries(expectedEffects).flatMap(([attack, effects]) =>
    Object.entries(effects).flatMap(([effect, least]) =>
      (seen[attack]?.[effect] ?? 0) >= least ? [] : [`${attack}: ${effect}, at least ${least} times`],
    ),
  )
}

function describe(figures: Figures): string {
  const { quietMs, hostileMs, paid, wrong, restingMiB, peakMiB, seen } = figures
  const times = `p99 ${p99(quietMs).toFixed(1)} ms quiet, ${p99(hostileMs).toFixed(1)} ms hostile`
  const memory = `${restingMiB.toFixed(0)} MiB at rest, ${peakMiB.toFixed(0)} MiB at most`
  return `${times}; ${memory}; ${paid} paid, ${wrong.length} wrong; ${JSON.stringify(seen)}`
}
