import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
  type McpServer,
} from '@modelcontextprotocol/server'

import { bearerCheck } from './bearer.ts'

export interface HttpOptions {
  /** 0 picks a free port. */
  readonly port: number
  /** The bearer token that callers must send; random by default. */
  readonly token?: string | undefined
  readonly log: (line: string) => void
}

export interface RunningHttp {
  /** The URL for MCP clients. */
  readonly url: string
  readonly token: string
  /** Stops the server and ends open requests. */
  readonly close: () => Promise<void>
}

/**
 * Serves MCP over streamable HTTP, on this machine only. Each request gets its own server, so there are no sessions.
 * Rejects if the port cannot be used.
 *
 * @example
 * const wallet = openWallet({ apiKey, url })
 * const running = await serveHttp(() => createMcpServer(wallet), { port: 0, log: console.error })
 * console.log(running.url, running.token)
 */
export async function serveHttp(
  createServerForRequest: () => McpServer,
  options: HttpOptions,
): Promise<RunningHttp> {
  const { port, log, token = randomBytes(32).toString('base64url') } = options
  const isAllowed = bearerCheck(token)
  const handler = createMcpHandler(createServerForRequest, {
    maxRequestBodySize: maxBodyBytes,
    maxSubscriptions,
    onerror: (error) => log(`http: ${error.name}: ${error.message}`),
  })
  let underWay = 0

  async function answer(incoming: IncomingMessage, signal: AbortSignal): Promise<Response> {
    const request = toRequest(incoming, signal)
    // Web pages could reach this port, even through a host name that resolves to this machine.
    const rejected =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins())
    if (rejected) return rejected
    if (!isAllowed(incoming.headers.authorization)) return unauthorized()
    if (new URL(request.url).pathname !== '/mcp') return refuse(404, 'MCP is served under /mcp.')
    return handler.fetch(request)
  }

  const server = createServer((incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    if (underWay >= maxAtOnce) {
      void send(refuse(503, 'Too many requests at once.'), outgoing)
      return
    }
    underWay += 1
    void answer(incoming, gone.signal)
      .catch((error: unknown) => {
        log(`http: ${error instanceof Error ? error.message : String(error)}`)
        return refuse(500, 'Internal error.')
      })
      .then((response) => send(response, outgoing))
      .catch(() => outgoing.destroy())
      .finally(() => (underWay -= 1))
  })
  server.headersTimeout = 10_000
  server.requestTimeout = 30_000
  server.keepAliveTimeout = 5_000
  server.maxConnections = maxConnections
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    token,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      await handler.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Arguments are short; the longest is the body of an order. */
const maxBodyBytes = 256 * 1024
const maxAtOnce = 64
const maxConnections = 256
const maxSubscriptions = 16

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', headers: sent, url = '/' } = incoming
  const headers = new Headers()
  for (const [name, value] of Object.entries(sent)) {
    for (const part of [value ?? []].flat()) headers.append(name, part)
  }
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(new URL(url, 'http://127.0.0.1'), {
    method,
    headers,
    signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' } : {}),
  })
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (!response.body) {
    outgoing.end()
    return
  }
  // The client may disconnect at any time; that is not an error.
  await pipeline(Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]), outgoing).catch(
    () => undefined,
  )
}

function unauthorized(): Response {
  const answer = refuse(401, 'Send the token of this server as Authorization: Bearer.')
  answer.headers.set('www-authenticate', 'Bearer')
  return answer
}

function refuse(status: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }, { status })
}
