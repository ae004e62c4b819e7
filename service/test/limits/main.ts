import { parseArgs } from 'node:util'

import { driverBeds, type DriverBed } from '../simulation/driver-beds.ts'
import { runLimitHistory } from './limit-history.ts'

const historiesPerDatabase = 20

const help = `npm run limits -- [--seeds <n>] [--from <seed>] [--store <name>] [--steps <n>]

Runs random histories of mandates with limits and shared budgets, in time zones with daylight saving time, and compares every
answer with a model that goes through all payments. The same seed gives the same history.

  --seeds  how many histories (default 10000 in memory, 500 on another store)
  --from   the first seed (default 1)
  --store  ${Object.keys(driverBeds).join(', ')} (default memory)
  --steps  steps of a history (default 40)`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    store: { type: 'string', default: 'memory' },
    steps: { type: 'string', default: '40' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) console.log(help)
else process.exitCode = (await run()) ? 0 : 1

async function run(): Promise<boolean> {
  const { store } = values
  const open = driverBeds[store]
  const seeds = Number(values.seeds ?? (store === 'memory' ? 10_000 : 500))
  const [from, steps] = [Number(values.from), Number(values.steps)]
  if (!open || !(seeds > 0 && from >= 0 && steps > 0)) {
    console.error(help)
    return false
  }
  const tried: Record<string, number> = {}
  const beganMs = performance.now()
  let bed: DriverBed | undefined
  for (let seed = from; seed < from + seeds; seed++) {
    // Histories have separate accounts, and share a database for a while.
    if (!bed || seed % historiesPerDatabase === 0) {
      await bed?.close()
      bed = await open()
    }
    try {
      for (const [name, count] of Object.entries(await runLimitHistory({ bed, seed, steps })))
        tried[name] = (tried[name] ?? 0) + count
    } catch (error) {
      console.error(`seed ${seed}:`, error)
      await bed.close()
      return false
    }
    if (seed % 500 === 0) console.log(`${seed - from + 1} histories`)
  }
  await bed?.close()
  const seconds = ((performance.now() - beganMs) / 1_000).toFixed(0)
  console.log(`${seeds} histories on ${store} in ${seconds} s:`, tried)
  return true
}
