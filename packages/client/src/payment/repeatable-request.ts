/** A request as it was handed to a fetch. */
export interface FetchArguments {
  /** Named by the function: Node's types have no `RequestInfo`. */
  readonly input: Parameters<typeof globalThis.fetch>[0]
  readonly init: RequestInit | undefined
}

/** The address as it was asked for; empty when only the platform knows what it is relative to. */
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

/** The settings of a request for a fetch of another address: all but its address, body and redirect mode. */
export function settingsOf({ input, init }: FetchArguments): RequestInit {
  if (!isRequest(input)) return { ...init }
  const { cache, credentials, integrity, keepalive, mode, referrerPolicy } = input
  return { cache, credentials, integrity, keepalive, mode, referrerPolicy, ...init }
}

/** A request whose body may have to be sent again. */
export interface KeptRequest {
  /** The request with a body that can be sent any number of times; undefined when it has none of that kind. */
  readonly repeatable: () => Promise<FetchArguments | undefined>
  /** Frees what was kept. */
  readonly release: () => void
}

/** The longest body of a `Request` that is kept, in bytes. */
const maxKeptBytes = 10 * 1024 * 1024

/**
 * Keeps what it takes to send a request again; to be called before it is sent. The body of a `Request` is a stream, so
 * a copy is read beside the sending, up to 10 MiB. A stream in `init.body` is not kept.
 */
export function keepRequest(request: FetchArguments): KeptRequest {
  const { input, init } = request
  if (isRepeatableRequest(request)) return kept(request)
  const isBodyOfRequest = isRequest(input) && (init?.body ?? null) === null
  if (!isBodyOfRequest || input.bodyUsed) return kept(undefined)
  const reader = input.clone().body?.getReader()
  const reading = readUpTo(reader, maxKeptBytes).catch(() => undefined)
  return {
    repeatable: async () => {
      const bytes = await reading
      return bytes && { input, init: { ...init, body: bytes } }
    },
    release: () => void reader?.cancel().catch(() => {}),
  }
}

function kept(request: FetchArguments | undefined): KeptRequest {
  return { repeatable: () => Promise.resolve(request), release: () => {} }
}

/** Whether the request can be sent any number of times as it is. */
export function isRepeatableRequest({ input, init }: FetchArguments): boolean {
  const body = init?.body ?? null
  if (body === null) return !isRequest(input) || input.body === null || init?.body === null
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

/** All bytes; undefined when there are more than `maxBytes`, and then the rest is left alone. */
async function readUpTo(
  reader: ByteReader | undefined,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (;;) {
    const chunk = await reader?.read()
    if (!chunk || chunk.done) return joined(chunks, size)
    size += chunk.value.length
    if (size > maxBytes) {
      await reader?.cancel()
      return undefined
    }
    chunks.push(chunk.value)
  }
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}

/** By its shape: the platform's fetch also takes the `Request` of a library. */
function isRequest(input: FetchArguments['input']): input is Request {
  return typeof input === 'object' && !(input instanceof URL)
}
