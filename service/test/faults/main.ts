import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'

import { printReport } from './report.ts'
import { runFaults } from './run.ts'

/** Three seconds are a minute: proofs expire during the run, but outlast most outages. */
const speed = 20

const help = `npm run faults -- [--faults N] [--seed N]

  --faults  how many faults are made, one after the other (200)
  --seed    what the choices of the run follow from; a run prints it

Two service processes on PostgreSQL, with clients who buy and retry, while connections, COMMITs, processes
and the disk fail. At the end every answer is held against the ledger. Exit code 0: nothing is wrong.`

const { values } = parseArgs({
  options: { faults: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean' } },
})
if (values.help) {
  console.log(help)
} else {
  const faults = Number(values.faults ?? 200)
  const seed = Number(values.seed ?? randomInt(2 ** 31))
  console.log(`npm run faults -- --faults ${faults} --seed ${seed}`)
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort())
  const report = await runFaults({ faults, seed, speed, tell: console.log, signal: ending.signal })
  console.log(printReport(report))
  process.exit(report.complaints.length + report.bugs.length + report.traceless.length === 0 ? 0 : 1)
}
