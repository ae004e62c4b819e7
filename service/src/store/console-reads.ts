import type { Kysely, RawBuilder } from 'kysely'

import type { Scope } from '../domain/records.ts'
import { prepareDecisions } from './console-decisions.ts'
import { prepareFigures } from './console-figures.ts'
import { prepareConsoleLists } from './console-lists.ts'
import type { ConsoleFilter, ConsoleReads } from './console-store.ts'
import type { Tables } from './rows.ts'

/** What the reads of the console differ in from store to store. */
export interface ConsoleDialect {
  /** The transactions of a scope that are not added up yet, with the columns that the sums are made from. */
  readonly pending: (scope: Scope) => RawBuilder<unknown>
  /** The transactions of an account that an index finds by what the filter names. */
  readonly transactions: (scope: Scope, filter: ConsoleFilter) => RawBuilder<unknown>
  /** A condition that ends a long statement when its time is over, for a database that does not by itself. */
  readonly inTime: RawBuilder<unknown>
}

/** The reads of the console, written once for every database. */
export function prepareConsoleReads(
  db: Kysely<Tables>,
  dialect: ConsoleDialect,
): Omit<ConsoleReads, 'findSession' | 'findAccount' | 'readFigures'> {
  return {
    ...prepareFigures(db, dialect),
    ...prepareConsoleLists(db, dialect),
    ...prepareDecisions(db),
  }
}
