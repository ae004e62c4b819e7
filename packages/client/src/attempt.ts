import { textUpTo } from './bounded-body.ts'
import { timerMs, unlessAborted } from './timers.ts'
import { notAnswered, notAnsweredWithin } from './unanswered.ts'

/** One request over the network, and its timeout. */
export interface Attempt {
  readonly fetch: typeof globalThis.fetch
  readonly url: string
  readonly init: RequestInit
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/** A complete response of the service. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** The body as JSON, or its text if it is not JSON. */
  readonly body: unknown
}

/**
 * The response to one request. Rejects with a `TimeoutError`, a `ConnectionError`, or the signal's reason.
 * The timeout works even if the given `fetch` ignores its signal.
 */
export async function attempt({ fetch, url, init, timeoutMs, signal }: Attempt): Promise<Reply> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  const stop = (reason: unknown) => controller.abort(reason)
  const onTimeout = () => stop(notAnsweredWithin(timeoutMs, `${init.method} ${url}`))
  const timer = setTimeout(onTimeout, timerMs(timeoutMs))
  const onAbort = () => stop(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    const replying = exchange(fetch, url, { ...init, signal: controller.signal })
    return await unlessAborted(replying, controller.signal)
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason
    throw notAnswered(`${init.method} ${url}`, error)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

async function exchange(fetch: Attempt['fetch'], url: string, init: RequestInit): Promise<Reply> {
  return replyOf(await fetch(url, init))
}

/** Max length of a response, in bytes; the service sends pages of 512 KiB. */
const maxReplyBytes = 8 * 1024 * 1024

/** Reads the complete response; rejects if it is longer than any response of the service. */
export async function replyOf(response: Response): Promise<Reply> {
  const text = await textUpTo(response, maxReplyBytes)
  return { status: response.status, headers: response.headers, body: parse(text) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
