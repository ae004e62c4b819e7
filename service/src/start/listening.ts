import cluster from 'node:cluster'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

import type { Config } from '../settings/config.ts'
import type { MetricsServer } from '../metrics/metrics-server.ts'
import type { Scrape } from '../metrics/scrape.ts'
import { codeOf } from '../store/error-code.ts'

/** The service cannot listen; the message has the reason and the remedy. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

/** Listens on the separate metrics port, if configured. */
export async function listenForMetrics(
  { metrics, host }: Pick<Config, 'metrics' | 'host'>,
  scrape: Scrape,
): Promise<MetricsServer | undefined> {
  if (metrics?.port === undefined) return undefined
  const { port, token } = metrics
  // Importing `node:http` also loads the `fetch` of Node, for 30 ms.
  const { startMetricsServer } = await import('../metrics/metrics-server.ts')
  try {
    return await startMetricsServer({ host, port, token }, scrape)
  } catch (error) {
    throw explainListenFailure(error, { host, port, setting: 'PURSER_METRICS_PORT' })
  }
}

/**
 * The port to listen on. A worker picks a free one itself: if workers shared a port of the system's choice, the port
 * would change when the last of them dies.
 */
export async function numberOfPort({ host, port }: Pick<Config, 'host' | 'port'>): Promise<number> {
  if (port !== 0 || !cluster.isWorker) return port
  const server = createServer().listen({ host, port, exclusive: true })
  await once(server, 'listening')
  const free = (server.address() as AddressInfo).port
  server.close()
  await once(server, 'close')
  return free
}

/** Why a port is unavailable, as a sentence. */
export function explainListenFailure(
  error: unknown,
  { host, port, setting = 'PURSER_PORT' }: Pick<Config, 'host' | 'port'> & { readonly setting?: string },
): unknown {
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return new ListenError(
        `Port ${port} on ${host} is taken; choose another with ${setting}, or 0 for any free one`,
      )
    case 'EACCES':
      return new ListenError(
        `Port ${port} needs privileges that this user lacks; choose one above 1023 with ${setting}`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
    // An IPv6 address on a machine without IPv6.
    case 'EAFNOSUPPORT':
      return new ListenError(
        `${host} is not an address of this machine; set PURSER_HOST to 127.0.0.1 or 0.0.0.0`,
      )
    default:
      return error
  }
}
