import { request as plainRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { pipeline, type Readable, type Transform } from 'node:stream'
import { constants, createBrotliDecompress, createUnzip } from 'node:zlib'

import type { AddressGuard } from './addresses.ts'

export interface WebRequest {
  readonly url: URL
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** The rest of the body is not read. */
  readonly maxBytes: number
  readonly signal: AbortSignal
  /** Time limit for the request and its response in milliseconds; default 30,000. */
  readonly timeoutMs?: number | undefined
}

export interface WebAnswer {
  readonly url: URL
  readonly status: number
  /** The header's value, or undefined. */
  readonly header: (name: string) => string | undefined
  readonly bytes: Buffer
  /** Whether the body continued beyond `maxBytes`. */
  readonly isTruncated: boolean
}

/** Time limit for the request and its response. */
const exchangeTimeoutMs = 30_000

const maxRedirects = 5

/**
 * Sends one request over its own connection and returns the response. Does not follow redirects. Reads the body up to
 * `maxBytes`, then closes the connection. Rejects with an `AddressRefusal` or a network error.
 */
export async function exchange(guard: AddressGuard, request: WebRequest): Promise<WebAnswer> {
  const { url, method, headers, body, maxBytes, timeoutMs = exchangeTimeoutMs } = request
  guard.check(url)
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)])
  const options: RequestOptions = {
    method,
    // Some servers compress all the same.
    headers: { 'accept-encoding': 'identity', 'user-agent': 'purser-mcp', ...headers },
    lookup: guard.lookupFor(url),
    agent: false,
    signal,
    maxHeaderSize: 32 * 1024,
  }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const send = url.protocol === 'https:' ? tlsRequest : plainRequest
    const sent = send(url, options, resolve)
    sent.on('error', reject)
    // Also after a 101, which Node answers by closing the connection without an error.
    sent.on('close', () => reject(new Error('the connection was closed without a response')))
    sent.end(body)
  })
  try {
    const { bytes, isTruncated } = await readUpTo(decoded(response), maxBytes)
    return {
      url,
      status: response.statusCode ?? 0,
      header: (name) => response.headers[name]?.toString(),
      bytes,
      isTruncated,
    }
  } finally {
    response.destroy()
  }
}

/** Like `exchange`, but follows redirects of a GET within the host. For requests without secrets. */
export async function exchangeFollowing(guard: AddressGuard, request: WebRequest): Promise<WebAnswer> {
  let answer = await exchange(guard, request)
  for (let redirects = 0; redirects < maxRedirects; redirects++) {
    const target = redirectOf(answer)
    if (target === undefined || target.host !== request.url.host || request.method !== 'GET') return answer
    if (target.protocol !== request.url.protocol) return answer
    answer = await exchange(guard, { ...request, url: target })
  }
  return answer
}

/** The target of a redirect; undefined for other responses. */
export function redirectOf(answer: WebAnswer): URL | undefined {
  const location = answer.header('location')
  if (location === undefined || !redirects.has(answer.status)) return undefined
  return URL.parse(location, answer.url) ?? undefined
}

const redirects = new Set([301, 302, 303, 307, 308])

// Like browsers, they accept an empty body and a missing end.
const unzip = () => createUnzip({ finishFlush: constants.Z_SYNC_FLUSH })
const decoders = new Map<string, () => Transform>([
  ['br', () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH })],
  ['deflate', unzip],
  ['gzip', unzip],
  ['x-gzip', unzip],
])

/** The body of a response, decompressed. */
function decoded(response: IncomingMessage): Readable {
  const decoder = decoders.get(response.headers['content-encoding']?.toLowerCase() ?? '')
  // The reader gets an error of either.
  return decoder ? pipeline(response, decoder(), () => undefined) : response
}

async function readUpTo(body: Readable, maxBytes: number): Promise<{ bytes: Buffer; isTruncated: boolean }> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxBytes) break
  }
  const bytes = Buffer.concat(chunks)
  return { bytes: bytes.subarray(0, maxBytes), isTruncated: length > maxBytes }
}
