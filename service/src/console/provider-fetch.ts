import type { CustomFetchOptions } from 'openid-client'

import { traceHeaders } from '../http/request-trace.ts'
import { isLoopbackHost } from '../settings/loopback.ts'

/** The largest answer that an identity provider may give; real ones have a few kilobytes. */
const maxAnswerBytes = 256 * 1024

/**
 * How the identity provider is asked: answers are read up to a bound, within the time that the caller's signal allows,
 * and plain HTTP goes to this machine only, whatever addresses the provider names for its endpoints and keys.
 */
export async function fetchFromProvider(url: string, options: CustomFetchOptions): Promise<Response> {
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'https:' && !isLoopbackHost(hostname)) {
    throw new Error(`the identity provider names ${url}, which is neither https nor on this machine`)
  }
  const sent = { ...(options as RequestInit), headers: { ...options.headers, ...traceHeaders() } }
  const { status, headers, body } = await fetch(url, sent)
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop cancels the body, which ends the transfer.
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxAnswerBytes) throw new Error(`the answer of ${url} has more than ${maxAnswerBytes} bytes`)
    chunks.push(chunk)
  }
  return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers })
}
