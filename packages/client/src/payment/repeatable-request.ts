import { unlessAborted } from '../timers.ts'

/** A request as passed to a fetch. */
export interface FetchArguments {
  /** Derived from the function, because Node's types have no `RequestInfo`. */
  readonly input: Parameters<typeof globalThis.fetch>[0]
  readonly init: RequestInit | undefined
}

/** The requested URL; empty if it is relative to a base that only the platform knows. */
export function addressOf({ input }: FetchArguments): string {
  const text = isRequest(input) ? input.url : String(input)
  return URL.canParse(text) ? text : ''
}

export function methodOf({ input, init }: FetchArguments): string {
  return (init?.method ?? (isRequest(input) ? input.method : 'GET')).toUpperCase()
}

export function headersOf({ input, init }: FetchArguments): Headers {
  return new Headers(init?.headers ?? (isRequest(input) ? input.headers : undefined))
}

export function signalOf({ input, init }: FetchArguments): AbortSignal | undefined {
  return init?.signal ?? (isRequest(input) ? input.signal : undefined) ?? undefined
}

export function redirectModeOf({ input, init }: FetchArguments): NonNullable<RequestInit['redirect']> {
  return init?.redirect ?? (isRequest(input) ? input.redirect : undefined) ?? 'follow'
}

/** The settings of a request for fetching another URL: all but its URL, body and redirect mode. */
export function settingsOf({ input, init }: FetchArguments): RequestInit {
  if (!isRequest(input)) return { ...init }
  const { cache, credentials, integrity, keepalive, mode, referrerPolicy } = input
  return { cache, credentials, integrity, keepalive, mode, referrerPolicy, ...init }
}

/** A request whose body may need to be sent again. */
export interface KeptRequest {
  /**
   * The request with a repeatable body; undefined if its body cannot be repeated. Rejects if the signal of the request
   * aborts.
   */
  readonly repeatable: () => Promise<FetchArguments | undefined>
  /** Releases the copy of the body. */
  readonly release: () => void
}

/** Max bytes to copy from the body of a `Request`. */
const maxKeptBytes = 10 * 1024 * 1024

/**
 * Prepares a request for being sent again; call it before sending. The body of a `Request` is a stream, so up
 * to 10 MiB are copied while it is sent. A stream in `init.body` is not copied.
 */
export function keepRequest(request: FetchArguments): KeptRequest {
  const { input, init } = request
  const isRepeatable = isRepeatableRequest(request)
  if (isRepeatable || !isRequest(input) || init?.body || input.bodyUsed)
    return { repeatable: async () => (isRepeatable ? request : undefined), release: () => {} }
  const copy = input.clone()
  const reader = copy.body?.getReader()
  // Firefox has the body of a `Request` in memory, and does not stream it.
  const reading = (reader ? readUpTo(reader, maxKeptBytes) : copy.arrayBuffer()).catch(() => undefined)
  return {
    repeatable: async () => {
      const bytes = await unlessAborted(reading, signalOf(request))
      return bytes && { input, init: { ...init, body: bytes } }
    },
    release: () => void reader?.cancel().catch(() => {}),
  }
}

/** Whether the request can be repeated without a copy. */
export function isRepeatableRequest({ input, init }: FetchArguments): boolean {
  const body = init?.body ?? null
  if (body === null) return !isRequest(input) || input.body === null || /^(GET|HEAD)$/.test(input.method)
  return (
    typeof body === 'string' ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body) ||
    body instanceof Blob ||
    body instanceof FormData ||
    body instanceof URLSearchParams
  )
}

type ByteReader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>

/** All bytes; undefined if there are more than `maxBytes`, and then the rest is not read. */
async function readUpTo(reader: ByteReader, maxBytes: number): Promise<ArrayBuffer | undefined> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (;;) {
    const chunk = await reader.read()
    if (chunk.done) return new Blob(chunks).arrayBuffer()
    size += chunk.value.length
    if (size > maxBytes) {
      // Not awaited: cancelling a clone completes only when the original is read or cancelled too.
      void reader.cancel().catch(() => {})
      return undefined
    }
    chunks.push(chunk.value)
  }
}

/** Checks the shape, because the platform's fetch also accepts a library's `Request`. */
export function isRequest(input: FetchArguments['input']): input is Request {
  return typeof input === 'object' && !(input instanceof URL)
}
