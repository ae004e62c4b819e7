/** The options of a client. */
export interface PurserOptions {
  /**
   * The API key. `null` sends none: for health checks, or if something else authenticates. `undefined`, such
   * as an unset environment variable, throws.
   */
  readonly apiKey?: string | null | undefined
  /** The URL of the service; default `http://127.0.0.1:8080`. A path is kept, for example behind a proxy. */
  readonly baseUrl?: string | undefined
  /** Max milliseconds per attempt, including the body; default 10,000. */
  readonly timeout?: number | undefined
  /** Max number of retries for requests that are safe to repeat; default 2, max 10. */
  readonly maxRetries?: number | undefined
  /** The `fetch` that sends the requests; by default the platform's. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** A random number in [0, 1) for the jitter between attempts; for tests. */
  readonly random?: (() => number) | undefined
  /** Resolves after the given milliseconds, and rejects if the signal aborts; for tests. */
  readonly sleep?: Sleep | undefined
}

export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>

/** The options of one call. */
export interface CallOptions {
  /** Aborts the call, including its pauses; the call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** As `PurserOptions.timeout`, for this call. */
  readonly timeout?: number | undefined
  /** As `PurserOptions.maxRetries`, for this call. */
  readonly maxRetries?: number | undefined
}
