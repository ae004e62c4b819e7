import type { CallOptions } from './options.ts'
import { randomKey } from './random-key.ts'
import type { Send } from './send.ts'

export interface IdempotentOptions extends CallOptions {
  /**
   * The same request with the same key takes effect once, and gets the first result again. By default a new key is used for
   * each call and its retries; pass your own to cover your own retries too.
   */
  readonly idempotencyKey?: string | undefined
}

/** Sends a POST that takes effect once for its key, so it is retried. */
export async function sendOnce(
  send: Send,
  { path, body }: { readonly path: string; readonly body?: object },
  { idempotencyKey = randomKey(), ...call }: IdempotentOptions = {},
): Promise<unknown> {
  const headers = { 'idempotency-key': idempotencyKey }
  return (await send({ method: 'POST', path, body, headers, isRepeatable: true }, call)).body
}
