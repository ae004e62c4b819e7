import { sql, type RawBuilder } from 'kysely'

import type { TransactionStatus } from '@purser/wire/transactions'

import type { Scope } from '../domain/records.ts'
import type { ConsoleFilter } from './console-store.ts'

/** What the reads of the console differ in from store to store. */
export interface ConsoleDialect {
  /** The transactions of a scope that are not added up yet, with the columns that the sums are made from. */
  readonly pending: (scope: Scope) => RawBuilder<unknown>
  /** Where an index finds transactions by what the filter names. */
  readonly transactions: (scope: Scope, filter: ConsoleFilter) => Source
  /** A condition that ends a long statement when its time is over, for a database that does not by itself. */
  readonly inTime: RawBuilder<unknown>
}

/** Rows that an index leads through by their ids. */
export interface Source {
  /** The ids between two, newest first, without an order of their own where there is none to be had. */
  readonly ids: (between: Between) => RawBuilder<unknown>
  /** The rows between two ids that fit, newest first. */
  readonly rows: (between: Between, fits: RawBuilder<unknown>, limit: number) => RawBuilder<unknown>
}

/** Ids from one on that are older than another. */
export interface Between {
  readonly from: string
  readonly olderThan: string
}

/** Rows that are selected with a plain condition. */
export function plainSource(select: RawBuilder<unknown>): Source {
  return {
    ids: ({ from, olderThan }) =>
      sql`select id from (${select}) source where id >= ${from} and id < ${olderThan}`,
    rows: ({ from, olderThan }, fits, limit) => sql`
      select * from (${select}) source where id >= ${from} and id < ${olderThan} and ${fits}
      order by id desc limit ${limit}`,
  }
}

/** Whether an index leads to transactions of a status; most are paid, and found by the primary key. */
export function isIndexed(
  status: TransactionStatus | undefined,
): status is Exclude<TransactionStatus, 'paid'> {
  return status !== undefined && status !== 'paid'
}

/** The condition written out, with the words of the index: a planner does not see that the one implies the other. */
export function hasStatus(status: TransactionStatus): RawBuilder<unknown> {
  return sql`status = ${sql.lit(status)} and status <> 'paid'`
}
