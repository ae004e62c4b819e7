import type { CustomFetchOptions } from 'openid-client'

import { traceHeaders } from '../http/request-trace.ts'
import { isLoopbackHost } from '../settings/loopback.ts'

/** Max response size of an identity provider; real ones have a few kilobytes. */
const maxAnswerBytes = 256 * 1024

/**
 * The `fetch` for the identity provider: bounded responses, within the caller's signal, and plain HTTP only
 * to this machine, whatever URLs the provider's metadata has.
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
