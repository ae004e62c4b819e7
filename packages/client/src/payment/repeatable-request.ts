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

/**
 * Whether the request can be sent twice. A stream is gone once it was read, and the body of a `Request` is a stream;
 * keeping a copy would hold all of it in memory.
 */
export function isRepeatable({ input, init }: FetchArguments): boolean {
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

/** By its shape: the platform's fetch also takes the `Request` of a library. */
function isRequest(input: FetchArguments['input']): input is Request {
  return typeof input === 'object' && !(input instanceof URL)
}
