import type { Operation } from '../../src/store/ledger/operation.ts'

/** An operation and its arguments. */
export interface RandomCall {
  readonly operation: Operation<unknown, unknown>
  readonly call: unknown
}

export function made<Call, Outcome>(operation: Operation<Call, Outcome>, call: Call): RandomCall {
  return { operation: operation as Operation<unknown, unknown>, call }
}
