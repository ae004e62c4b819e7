import { Connection } from './connection.ts'
import type { Exchange } from './flows.ts'
import { Histogram } from './histogram.ts'

/** The result of a short load. */
export interface LoadReport {
  readonly seconds: number
  readonly operations: number
  /** Latency of the operations, in microseconds. */
  readonly latency: readonly number[]
  /** This process's share of one processor. */
  readonly clientShare: number
  /** The number of responses with an unexpected status, with a sample. */
  readonly unexpected: number
  readonly sample: string | undefined
}

/** Keeps this many connections busy until the time is up or nothing is left, and waits for every response. */
export async function putUnderLoad(
  port: number,
  clients: number,
  seconds: number,
  next: () => Exchange | undefined,
): Promise<LoadReport> {
  const latency = new Histogram()
  const connections = await Promise.all(Array.from({ length: clients }, () => Connection.open(port)))
  let operations = 0
  let unexpected = 0
  let sample: string | undefined
  const cpu = process.cpuUsage()
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000

  function keepBusy(connection: Connection): Promise<void> {
    return new Promise((resolve, reject) => {
      let exchange = next()
      let sentMs = performance.now()
      if (!exchange) return resolve()
      connection.listen((answer) => {
        if (!exchange) return reject(new Error('an unexpected response'))
        const isExpected = answer.status === exchange.status
        const following = isExpected ? exchange.follow?.(answer.body()) : undefined
        if (following) {
          exchange = following
          return connection.send(following.request)
        }
        if (!isExpected) {
          unexpected++
          sample ??= `${answer.status} ${answer.body()}`
        }
        const nowMs = performance.now()
        latency.record((nowMs - sentMs) * 1000)
        operations++
        exchange = nowMs < endMs ? next() : undefined
        if (!exchange) return resolve()
        sentMs = nowMs
        return connection.send(exchange.request)
      }, reject)
      connection.send(exchange.request)
    })
  }

  await Promise.all(connections.map(keepBusy))
  const tookMs = performance.now() - startMs
  const { user, system } = process.cpuUsage(cpu)
  for (const connection of connections) connection.close()
  return {
    seconds: tookMs / 1000,
    operations,
    latency: latency.counts,
    clientShare: (user + system) / 1000 / tookMs,
    unexpected,
    sample,
  }
}
