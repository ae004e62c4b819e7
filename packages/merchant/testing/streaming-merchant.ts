import { Purser } from '@purser/client'

import { collectGarbage } from '../../client/testing/collect-garbage.ts'
import { adapters } from './adapters.ts'
import { serveNext } from './next-adapter.ts'

/** The order from the parent process. */
export interface StreamingOrder {
  readonly adapter: string
  /** The folder of the built Next application, for that adapter. */
  readonly nextBuild?: string
  /** When the payment is charged; default before the handler. */
  readonly capture?: 'metered'
  readonly serviceUrl: string
  readonly apiKey: string
}

/** The memory of the merchant's process while it sold 100 MB. */
export interface StreamingReport {
  readonly megabytes: number
  /** Max heap growth, measured after garbage collections. */
  readonly liveGrowthMb: number
  /** Max growth of resident memory. */
  readonly residentGrowthMb: number
}

export const totalMegabytes = 100
const chunkBytes = 65_536
const megabyte = 2 ** 20
const chunksPerLook = (10 * megabyte) / chunkBytes

// The parent kills this process, so there is no cleanup.
const after = () => undefined

/** A separate process, so that only the merchant's memory is measured: sells 100 MB in one response. */
process.once('message', ({ adapter: name, nextBuild, capture, serviceUrl, apiKey }: StreamingOrder) => {
  void (async () => {
    const isNamed = (one: { name: string }) => one.name === name
    const adapter = nextBuild ? await serveNext({ after }, nextBuild) : adapters.find(isNamed)
    if (!adapter) throw new Error(`no adapter is named ${name}`)
    const client = new Purser({ apiKey, baseUrl: serviceUrl })
    const options = {
      client,
      merchantDomain: 'api.example.com',
      price: '4.00',
      ...(capture && { capture }),
    }
    const { url } = await adapter.open(options, { sell: async () => stream() })
    process.send?.({ url })
  })()
})

async function* stream(): AsyncGenerator<Uint8Array> {
  const before = look()
  let most = before
  for (let chunk = 1; chunk <= (totalMegabytes * megabyte) / chunkBytes; chunk++) {
    yield new Uint8Array(chunkBytes).fill(chunk % 256)
    if (chunk % chunksPerLook > 0) continue
    const now = look()
    most = { live: Math.max(most.live, now.live), resident: Math.max(most.resident, now.resident) }
  }
  process.send?.({
    megabytes: totalMegabytes,
    liveGrowthMb: (most.live - before.live) / megabyte,
    residentGrowthMb: (most.resident - before.resident) / megabyte,
  } satisfies StreamingReport)
}

function look(): { live: number; resident: number } {
  collectGarbage()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { live: heapUsed + external, resident: rss }
}
