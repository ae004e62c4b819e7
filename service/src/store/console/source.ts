import type { RawBuilder } from 'kysely'

import type { TransactionStatus } from '@purser/wire/transactions'

import type { Scope } from '../../domain/records.ts'
import type { Source } from '../bounded-list.ts'
import type { ConsoleFilter } from './store.ts'
import type { TransactionFilter } from '../store.ts'

/** What transactions are looked for by, in the console or elsewhere. */
export type ListFilter = ConsoleFilter & TransactionFilter

/** What the reads of the console differ in from store to store. */
export interface ConsoleDialect {
  /** The transactions of a scope that are not added up yet, with the columns that the sums are made from. */
  readonly pending: (scope: Scope) => RawBuilder<unknown>
  /** The indexes that lead to transactions by what the filter names: each to all that fit, and to others. */
  readonly transactions: (scope: Scope, filter: ListFilter) => readonly [Source, ...Source[]]
  /** A condition that ends a long statement when its time is over, for a database that does not by itself. */
  readonly inTime: RawBuilder<unknown>
}

/** Whether an index leads to transactions of a status; most are paid, and found by the primary key. */
export function isIndexed(
  status: TransactionStatus | undefined,
): status is Exclude<TransactionStatus, 'paid'> {
  return status !== undefined && status !== 'paid'
}
