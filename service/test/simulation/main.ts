import { parseArgs } from 'node:util'

import { findComplaints } from '../faults/checker.ts'
import { simulate, type SimulationOptions } from './simulation.ts'

const help = `npm run simulate -- [--seeds <n>] [--from <seed>] [--faults <percent>]

Runs the operations of the new ledger on tables in memory, with services that crash and connections that fail, and judges
every history. The same seed gives the same history. Prints the shortest failing history that it finds for a seed.

  --seeds   how many histories (default 1000)
  --from    the first seed (default 1)
  --faults  how many of a hundred transactions something happens to (default 10)`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    faults: { type: 'string', default: '10' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) console.log(help)
else process.exitCode = (await run()) ? 0 : 1

async function run(): Promise<boolean> {
  const [seeds, from, faultPercent] = [values.seeds, values.from, values.faults].map(Number)
  if (!(seeds! > 0) || !(from! >= 0) || !(faultPercent! >= 0)) {
    console.error(help)
    return false
  }
  const beganMs = performance.now()
  let calls = 0
  for (let seed = from!; seed < from! + seeds!; seed++) {
    const options = { seed, faultPercent: faultPercent!, openMs: 10_000 }
    const evidence = await simulate(options)
    calls += evidence.calls.length
    if (findComplaints(evidence).length > 0) {
      await report(options)
      return false
    }
    if (seed % 100 === 0) show(seed - from! + 1, seeds!, calls, beganMs)
  }
  show(seeds!, seeds!, calls, beganMs)
  return true
}

function show(done: number, seeds: number, calls: number, beganMs: number): void {
  const seconds = (performance.now() - beganMs) / 1_000
  console.log(`${done} of ${seeds} histories, ${calls} calls in ${seconds.toFixed(1)} s, no fault`)
}

/** Finds a shorter history of the seed that fails, too, and prints it. */
async function report(options: SimulationOptions & { readonly openMs: number }): Promise<void> {
  let shortest = options
  for (let openMs = options.openMs / 2; openMs >= 500; openMs /= 2) {
    for (const buyers of [1, 2, 3]) {
      const shorter = { ...options, openMs, buyers, owners: 1, teams: 1 }
      if (findComplaints(await simulate(shorter)).length > 0) {
        shortest = shorter
        break
      }
    }
  }
  const evidence = await simulate(shortest)
  console.error(`Seed ${options.seed} fails: ${JSON.stringify(shortest)}`)
  for (const { keyId, request, beganMs, endedMs, answer } of evidence.calls) {
    console.error(`${beganMs}..${endedMs} ${keyId} ${text(request)} -> ${text(answer)}`)
  }
  for (const { kind, subject, text: what } of findComplaints(evidence)) {
    console.error(`${kind}: ${subject}: ${what}`)
  }
}

/** As JSON, which has no bigint. */
function text(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part))
}
