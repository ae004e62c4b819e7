import type { CreationAttempt } from '../../../domain/creation-attempt.ts'
import type { Scope } from '../../../domain/records.ts'
import { look, put, type Change, type Facts, type Read } from '../operation.ts'
import { creations } from '../tables.ts'

/** A record to be created. */
interface NewRecord extends Scope {
  readonly id: string
  readonly createdAtMs: number
}

/** Reads what an earlier request with the same `Idempotency-Key` has created. */
export function creationReads(scope: Scope, attempt: CreationAttempt | undefined): readonly Read[] {
  return attempt ? [look(creations, keyOf(scope, attempt))] : []
}

/** The id of the record that an earlier request with the same `Idempotency-Key` has created; undefined for none. */
export function earlierCreation(
  scope: Scope,
  attempt: CreationAttempt | undefined,
  facts: Facts,
): string | undefined {
  const earlier = attempt && facts.row(creations, keyOf(scope, attempt))
  if (!earlier) return undefined
  return earlier.requestHash === attempt.requestHash ? earlier.recordId : 'idempotency_key_reused'
}

/** Records what the `Idempotency-Key` has created. */
export function creationOf(record: NewRecord, attempt: CreationAttempt | undefined): readonly Change[] {
  if (!attempt) return []
  const { id: recordId, createdAtMs } = record
  return [
    put(creations, { ...keyOf(record, attempt), requestHash: attempt.requestHash, recordId, createdAtMs }),
  ]
}

function keyOf({ accountId, environment }: Scope, { kind, requestKey }: CreationAttempt) {
  return { accountId, environment, kind, requestKey }
}
