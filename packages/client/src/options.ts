/** What a client is made of. */
export interface PurserOptions {
  /**
   * The text of an API key. `null` sends none: for health, or where something else authenticates. `undefined`, such as an
   * environment variable that is not set, throws.
   */
  readonly apiKey?: string | null | undefined
  /** Where the service answers; `http://127.0.0.1:8080` when left out. A path is kept, as behind a proxy. */
  readonly baseUrl?: string | undefined
  /** Milliseconds that one attempt may take, its body included; 10,000 when left out. */
  readonly timeout?: number | undefined
  /** How often a request that may be repeated is repeated, at the most; 2 when left out, 10 at the most. */
  readonly maxRetries?: number | undefined
  /** What sends the requests; the `fetch` of the platform when left out. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** A number from 0 to below 1, by which the pauses between attempts are spread; for tests. */
  readonly random?: (() => number) | undefined
  /** Resolves after so many milliseconds, and rejects when the signal aborts; for tests. */
  readonly sleep?: Sleep | undefined
}

export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>

/** What one call may say for itself. */
export interface CallOptions {
  /** Ends the call, its pauses too; the call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** As `PurserOptions.timeout`, for this call. */
  readonly timeout?: number | undefined
  /** As `PurserOptions.maxRetries`, for this call. */
  readonly maxRetries?: number | undefined
}
