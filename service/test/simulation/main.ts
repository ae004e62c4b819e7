import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'

import { callText } from '../faults/call-text.ts'
import { findComplaints } from '../faults/checker.ts'
import { shrink } from './shrink.ts'
import type { SimulationOptions } from './simulation.ts'
import type { Progress, Share } from './worker.ts'

const help = `npm run simulate -- [--seeds <n>] [--from <seed>] [--faults <percent>] [--operations <n>] [--workers <n>]

Runs the operations of the ledger on tables in memory, with services that crash, connections that fail and clocks that
are wrong, and judges every history. The same seed gives the same history. For a seed that fails, it prints the shortest
failing history that it finds.

  --seeds       how many histories (default 1000)
  --from        the first seed (default 1)
  --faults      how many of a hundred transactions something happens to (default 10)
  --operations  min operations of a history (default 200)
  --workers     how many run at once (default: one for each core)`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    faults: { type: 'string', default: '10' },
    operations: { type: 'string', default: '200' },
    workers: { type: 'string', default: String(availableParallelism()) },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) console.log(help)
else process.exitCode = (await run()) ? 0 : 1

async function run(): Promise<boolean> {
  const numbers = [values.seeds, values.from, values.faults, values.operations, values.workers].map(Number)
  const [seeds = 0, from = 0, faultPercent = 0, minOperations = 0, workers = 0] = numbers
  if (numbers.some((number) => !(number >= 0)) || seeds === 0 || workers === 0) {
    console.error(help)
    return false
  }
  const options = { faultPercent, minOperations, openMs: 0 }
  const beganMs = performance.now()
  const done = { histories: 0, operations: 0 }
  const failedSeeds: number[] = []
  const shown = setInterval(() => show(done, seeds, beganMs), 10_000)
  const shares = Array.from({ length: workers }, (_, index) => ({
    from: from + index,
    until: from + seeds,
    step: workers,
    options,
  }))
  await Promise.all(
    shares.map((share) =>
      runShare(share, ({ histories, operations, failedSeed }) => {
        done.histories += histories
        done.operations += operations
        if (failedSeed !== undefined) failedSeeds.push(failedSeed)
        return failedSeeds.length === 0
      }),
    ),
  )
  clearInterval(shown)
  show(done, seeds, beganMs)
  const [seed] = failedSeeds
  if (seed !== undefined) await report({ ...options, seed })
  return seed === undefined
}

/** Runs a share in a separate thread, until it is done or the listener returns false. */
function runShare(share: Share, listen: (progress: Progress) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: share })
    worker.on('message', (progress: Progress) => {
      if (!listen(progress)) void worker.terminate()
    })
    worker.on('error', reject)
    worker.on('exit', () => resolve())
  })
}

function show({ histories, operations }: Omit<Progress, 'failedSeed'>, seeds: number, beganMs: number): void {
  const seconds = ((performance.now() - beganMs) / 1_000).toFixed(1)
  console.log(`${histories} of ${seeds} histories, ${operations} operations in ${seconds} s`)
}

async function report(options: SimulationOptions): Promise<void> {
  console.error(`Seed ${options.seed} fails. Looking for a shorter history …`)
  const { options: shortest, evidence } = await shrink(options)
  console.error(`Shortest: ${JSON.stringify(shortest)}`)
  for (const call of evidence.calls) console.error(callText(call))
  for (const { kind, subject, text: what } of findComplaints(evidence)) {
    console.error(`${kind}: ${subject}: ${what}`)
  }
}
