import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import { Purser } from '@purser/client'

import { readStore } from '../options.ts'
import { Rig, type Block, type Order } from '../rig.ts'
import { medianOf } from '../verdicts.ts'

// How much payment throughput an open console costs: its overview is requested every second and its feed is
// running. `node bench/console/open.ts --store postgres`

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    pairs: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '3' },
  },
})
const order: Order = {
  service: 'service',
  flow: 'verify',
  clients: 64,
  spread: 'uniform',
  seconds: Number(values.seconds),
}

/** Min share of its rate that a service must keep with a console open. */
const leastShare = 0.9

const rig = new Rig()
process.once('SIGINT', () => void rig.close().finally(() => process.exit(130)))
try {
  await rig.open(readStore(values.store))
  await rig.renew([order])
  // Both have run before the first measured block: opening a console starts a thread and runs new code.
  await rig.run({ ...order, isRehearsal: true })
  await withConsole()
  const rates: number[] = []
  const costs: number[] = []
  for (let pair = 0; pair < Number(values.pairs); pair++) {
    // The order changes with each pair, so that changes in the ledger or the machine affect both alike.
    const closed = async () => rig.run(order)
    const [first, second] = pair % 2 === 0 ? [closed, withConsole] : [withConsole, closed]
    const blocks = [await first(), await second()]
    const [without, open] = pair % 2 === 0 ? blocks : blocks.toReversed()
    if (!without || !open) continue
    rates.push(open.perSecond / without.perSecond)
    costs.push(processorMicros(open) / processorMicros(without))
    console.log(
      `pair ${pair + 1}: ${Math.round(without.perSecond)}/s without, ${Math.round(open.perSecond)}/s with a console: ${share(rates.at(-1) ?? 0)}; ` +
        `${Math.round(processorMicros(without))} and ${Math.round(processorMicros(open))} µs of processor time a payment`,
    )
  }
  console.log(
    `with a console open, payments keep ${share(medianOf(rates))} of their rate, and take ${share(medianOf(costs))} of their processor time (medians); ${rig.ledger.faults.length} faults`,
  )
  process.exitCode = medianOf(rates) >= leastShare && rig.ledger.faults.length === 0 ? 0 : 1
} finally {
  await rig.close()
}

/** A block with an open overview. */
async function withConsole(): Promise<Block> {
  const { port, key } = rig.targetOf('service')
  const purser = new Purser({ apiKey: key, baseUrl: `http://127.0.0.1:${port}` })
  const closing = new AbortController()
  const feed = (async () => {
    for await (const message of purser.console.feed({ signal: closing.signal }))
      if (message.type === 'end') return
  })().catch(() => undefined)
  const polling = (async () => {
    while (!closing.signal.aborted) {
      await purser.console.overview()
      await sleep(1_000, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  })()
  try {
    return await rig.run(order)
  } finally {
    closing.abort()
    await Promise.all([feed, polling])
  }
}

/** The processor time per payment in the service's process, and in PostgreSQL's if visible. */
function processorMicros({ cpuMicros, databaseMicros }: Block): number {
  return cpuMicros + (databaseMicros ?? 0)
}

function share(part: number): string {
  return `${(part * 100).toFixed(1)} %`
}
