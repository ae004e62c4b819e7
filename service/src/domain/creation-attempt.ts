import { hash } from 'node:crypto'

/** The `Idempotency-Key` of a request that creates a record, and a hash of the request. */
export interface CreationAttempt {
  readonly kind: 'mandate' | 'budget'
  readonly requestKey: string
  readonly requestHash: string
}

/** The attempt of a request with an `Idempotency-Key`: the same body has the same hash, in any order of its members. */
export function creationAttempt(
  kind: CreationAttempt['kind'],
  requestKey: string | null,
  body: unknown,
): CreationAttempt | undefined {
  if (requestKey === null) return undefined
  return { kind, requestKey, requestHash: hash('sha256', JSON.stringify(body, sorted), 'hex') }
}

function sorted(_name: string, part: unknown): unknown {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
  return Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
