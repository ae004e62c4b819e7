import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingHttpHeaders } from 'node:http'

import { keyPrefixes } from '@purser/wire/api-keys'

/** The trace of a request, as defined by W3C Trace Context. */
export interface Trace {
  readonly traceId: string
  /** The header, unchanged. */
  readonly traceparent: string
  readonly tracestate: string | undefined
}

/** Characters that are safe in logs and headers; the length fits the ids of common proxies. */
const safeRequestId = /^[\w.~:=@+/-]{1,128}$/

/**
 * The id of a request: its `x-request-id` if that is 1 to 128 safe characters and no API key, or a new one with 53 random
 * bits. A counter would reveal to each tenant how much the others do.
 *
 * @example
 * requestIdOf({ 'x-request-id': 'order-17' }) // 'order-17'
 */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id']
  if (typeof given === 'string' && safeRequestId.test(given) && !containsKey(given)) return given
  return Math.random().toString(36).slice(2)
}

/** Logs contain the ids of requests, but never keys. */
function containsKey(text: string): boolean {
  return Object.values(keyPrefixes).some((prefix) => text.includes(prefix))
}

/** Version, trace id, parent id and flags; a later version may have more. */
const traceparentFormat =
  /^(?!ff)(?<version>[\da-f]{2})-(?!0{32})(?<traceId>[\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?<more>-[\x20-\x7e]{0,256})?$/

/** Max length of a forwarded `tracestate`. */
const maxTracestateLength = 512

/**
 * The trace of a request; undefined if it has no valid one.
 *
 * @example
 * traceOf({ traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' })?.traceId
 */
export function traceOf({ traceparent, tracestate }: IncomingHttpHeaders): Trace | undefined {
  if (typeof traceparent !== 'string') return undefined
  const { version, traceId, more } = traceparentFormat.exec(traceparent)?.groups ?? {}
  if (traceId === undefined || (version === '00' && more !== undefined)) return undefined
  const hasState = typeof tracestate === 'string' && tracestate.length <= maxTracestateLength
  return { traceId, traceparent, tracestate: hasState ? tracestate : undefined }
}

const currentTrace = new AsyncLocalStorage<Trace | undefined>()

/** Runs a function whose outgoing calls carry the trace of the request. */
export function withTraceOf<Result>(headers: IncomingHttpHeaders, work: () => Result): Result {
  return currentTrace.run(traceOf(headers), work)
}

/** The trace headers for outgoing calls within `withTraceOf`. */
export function traceHeaders(): Record<string, string> {
  const trace = currentTrace.getStore()
  if (!trace) return {}
  const { traceparent, tracestate } = trace
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate }
}
