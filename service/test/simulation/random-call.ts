import type { Operation } from '../../src/store/ledger/operation.ts'

/** An operation, and what it is called with. */
export interface RandomCall {
  readonly operation: Operation<unknown, unknown>
  readonly call: unknown
}

export function made<Call, Outcome>(operation: Operation<Call, Outcome>, call: Call): RandomCall {
  return { operation: operation as Operation<unknown, unknown>, call }
}
