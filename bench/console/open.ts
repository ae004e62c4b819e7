import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import { Purser } from '@purser/client'

import type { StoreKind } from '../ledgers.ts'
import { Rig, type Block, type Order } from '../rig.ts'
import { medianOf } from '../verdicts.ts'

// What payments lose while a console is open: its overview asked for each second, and its feed running.
// `node bench/console/open.ts --store postgres`

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

/** The least share of its rate that a service must keep with a console open. */
const leastShare = 0.9

const rig = new Rig()
process.once('SIGINT', () => void rig.close().finally(() => process.exit(130)))
try {
  await rig.open(values.store === 'postgres' ? 'postgres' : ('sqlite' satisfies StoreKind))
  await rig.renew([order])
  // Both have run before the first block that counts; a console that is opened starts a thread, and its code is new.
  await rig.run({ ...order, isRehearsal: true })
  await withConsole()
  const rates: number[] = []
  const costs: number[] = []
  for (let pair = 0; pair < Number(values.pairs); pair++) {
    // Which comes first changes with each pair: what a ledger or a machine goes through counts for both.
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

/** A block while somebody looks at the overview. */
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

/** What a payment takes of the service's process, and of PostgreSQL's where they can be seen. */
function processorMicros({ cpuMicros, databaseMicros }: Block): number {
  return cpuMicros + (databaseMicros ?? 0)
}

function share(part: number): string {
  return `${(part * 100).toFixed(1)} %`
}
