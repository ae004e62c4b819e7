import type { CallOptions } from './options.ts'
import { randomKey } from './random-key.ts'
import type { Send } from './send.ts'

export interface CreationOptions extends CallOptions {
  /**
   * Identifies the record: the same request with the same key creates it once, and returns it again. By default a random
   * key, which covers the retries of one call.
   */
  readonly idempotencyKey?: string | undefined
}

/** Sends a request that takes effect once for its key, so it is retried. */
export async function createOnce(
  send: Send,
  { path, body }: { readonly path: string; readonly body?: object },
  { idempotencyKey = randomKey(), ...call }: CreationOptions = {},
): Promise<unknown> {
  const headers = { 'idempotency-key': idempotencyKey }
  return (await send({ method: 'POST', path, body, headers, isRepeatable: true }, call)).body
}
