import type { Kysely } from 'kysely'

import { prepareDecisions } from './decisions.ts'
import { prepareFigures } from './figures.ts'
import { prepareConsoleLists } from './lists.ts'
import type { ConsoleDialect } from './source.ts'
import type { ConsoleReads } from './store.ts'
import { prepareOpenHolds } from './open-holds.ts'
import { preparePaidCategories } from '../paid-categories.ts'
import type { Tables } from '../rows.ts'
import type { StoreReads } from '../store.ts'
import { prepareTransactionPages } from '../transaction-pages.ts'

/** The reads that are kept off the payments' connections, written once for every database. */
export function prepareConsoleReads(
  db: Kysely<Tables>,
  dialect: ConsoleDialect,
): Omit<ConsoleReads, 'findSession' | 'findAccount' | 'readFigures'> & Pick<StoreReads, 'listTransactions'> {
  const toTransactions = preparePaidCategories(db, dialect)
  return {
    ...prepareFigures(db, dialect),
    ...prepareConsoleLists(db, toTransactions),
    ...prepareTransactionPages(db, dialect, toTransactions),
    ...prepareDecisions(db, toTransactions),
    ...prepareOpenHolds(db, dialect),
  }
}
