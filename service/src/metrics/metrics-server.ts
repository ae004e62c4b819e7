import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { MetricsSettings } from '../settings/config.ts'
import { expositionType } from './exposition.ts'
import { metricsPath, showsToken } from './metrics-token.ts'
import type { Scrape } from './scrape.ts'

export interface MetricsServer {
  /** The address of the metrics server. */
  readonly url: string
  readonly close: () => Promise<void>
}

/** Enough for Prometheus and a few others, each with a connection or two. */
const maxConnections = 32

/** Timeout for a request to arrive. */
const arriveTimeoutMs = 5_000

/** Serves only metrics on a separate port. Rejects if the port is not available. */
export async function startMetricsServer(
  { host, port, token }: { readonly host: string; readonly port: number } & Pick<MetricsSettings, 'token'>,
  scrape: Scrape,
): Promise<MetricsServer> {
  const server = createServer({
    headersTimeout: arriveTimeoutMs,
    requestTimeout: arriveTimeoutMs,
    connectionsCheckingInterval: 1_000,
  })
  server.maxConnections = maxConnections
  // Give up if the client does not read the response.
  server.setTimeout(arriveTimeoutMs * 2)
  server.on('request', (request, response) => void answer(request, response, { scrape, token }))
  server.listen(port, host)
  await once(server, 'listening')
  const { address, family, port: own } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${own}${metricsPath}`,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { scrape, token }: { readonly scrape: Scrape } & Pick<MetricsSettings, 'token'>,
): Promise<void> {
  const path = request.url?.split('?', 1)[0]
  if (path !== metricsPath) return end(response, 404, 'Not Found: metrics are at /metrics\n')
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD')
    return end(response, 405, 'Method Not Allowed\n')
  }
  if (!showsToken(request.headers.authorization, token)) {
    response.setHeader('www-authenticate', 'Bearer')
    return end(response, 401, 'Unauthorized: send the token of PURSER_METRICS_TOKEN as a bearer token\n')
  }
  try {
    const text = await scrape()
    response.setHeader('content-type', expositionType)
    end(response, 200, text)
  } catch {
    end(response, 503, 'The metrics could not be read\n')
  }
}

function end(response: ServerResponse, status: number, text: string): void {
  if (!response.hasHeader('content-type')) response.setHeader('content-type', 'text/plain; charset=utf-8')
  response.setHeader('cache-control', 'no-store')
  response.statusCode = status
  response.end(text)
}
