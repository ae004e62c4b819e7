import type { Config } from '../settings/config.ts'
import { startMetricsServer, type MetricsServer } from '../metrics/metrics-server.ts'
import type { Scrape } from '../metrics/scrape.ts'
import { codeOf } from '../store/error-code.ts'

/** The service cannot listen; the message says why and what would help. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

/** Takes the port of metrics, when they have one. */
export async function listenForMetrics(
  { metrics, host }: Pick<Config, 'metrics' | 'host'>,
  scrape: Scrape,
): Promise<MetricsServer | undefined> {
  if (metrics?.port === undefined) return undefined
  const { port, token } = metrics
  try {
    return await startMetricsServer({ host, port, token }, scrape)
  } catch (error) {
    throw explainListenFailure(error, { host, port, setting: 'PURSER_METRICS_PORT' })
  }
}

/** A port that cannot be had, as a sentence. */
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
        `Port ${port} needs rights that this user lacks; choose one above 1023 with ${setting}`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new ListenError(`${host} is no address of this machine; set PURSER_HOST to 127.0.0.1 or 0.0.0.0`)
    default:
      return error
  }
}
