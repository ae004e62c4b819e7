import { sql, type Kysely, type RawBuilder } from 'kysely'

import { idsFrom } from '../domain/id-time.ts'
import { normalizeHostName } from '../domain/host-name.ts'
import type { Scope, Transaction } from '../domain/records.ts'
import { readPage } from './bounded-list.ts'
import type { ConsoleDialect, ListFilter } from './console/source.ts'
import type { ToTransactions } from './paid-categories.ts'
import { listedColumns, type ListedRow, type Tables } from './rows.ts'
import { QueryTooSlowError, StoreUnavailableError, type Page, type PageOf } from './store.ts'

/** The lists of transactions, newest first: of the console, and of everybody else. */
export function prepareTransactionPages(
  db: Kysely<Tables>,
  { transactions, pending }: Pick<ConsoleDialect, 'transactions' | 'pending'>,
  toTransactions: ToTransactions,
) {
  /** A page of those that fit; a short one where few do, of so many that are looked at. */
  async function readTransactions(
    scope: Scope,
    asked: ListFilter,
    { limit, olderThan, mostLookedAt }: Page & { readonly mostLookedAt: number },
  ): Promise<PageOf<Transaction>> {
    const filter = asStored(asked)
    const question = {
      columns: sql.raw(listedColumns.join(', ')),
      fits: fitsTransaction(scope, filter),
      mostLookedAt,
      from: idsFrom('txn', (filter.fromMs ?? 0) - clockSlackMs),
      limit,
      olderThan: earlier(olderThan, filter.beforeMs),
    }
    const sources = transactions(scope, filter)
    const { items, next } = await readPage(db, sources, question, (row: ListedRow) => row)
    // All that was looked at may be of the other environment, and this one have none at all.
    const isEnd = items.length === 0 && next !== undefined && !(await hasTransactions(scope))
    return { items: await toTransactions(scope, items), next: isEnd ? undefined : next }
  }

  async function hasTransactions(scope: Scope): Promise<boolean> {
    const { rows } = await sql`
      select 1 from activity where account_id = ${scope.accountId} and environment = ${scope.environment}
      union all
      select 1 from (${pending(scope)}) latest limit 1`.execute(db)
    return rows.length > 0
  }

  /** A page that is full whenever there are enough; it is looked for in short steps. */
  async function fullPage(scope: Scope, filter: ListFilter, page: Page): Promise<PageOf<Transaction>> {
    const items: Transaction[] = []
    let olderThan = page.olderThan
    do {
      const found = await readTransactions(scope, filter, {
        // One more than the page holds tells whether there is another.
        limit: page.limit + 1 - items.length,
        olderThan,
        mostLookedAt: Math.min(page.limit * lookedAtInOneStep, mostInOneStep),
      })
      items.push(...found.items)
      olderThan = found.next
    } while (olderThan !== undefined && items.length <= page.limit)
    const next = items.length > page.limit ? items[page.limit - 1]?.id : undefined
    return { items: items.slice(0, page.limit), next }
  }

  return {
    listConsoleTransactions: (scope: Scope, filter: ListFilter, page: Page) =>
      readTransactions(scope, filter, { ...page, mostLookedAt: page.limit * lookedAtForEach }),

    async listTransactions(scope: Scope, filter: ListFilter, page: Page): Promise<PageOf<Transaction>> {
      try {
        return await fullPage(scope, filter, page)
      } catch (error) {
        if (!(error instanceof QueryTooSlowError)) throw error
        throw new StoreUnavailableError(error.message, { retryAfterSeconds: 1, cause: error })
      }
    },
  }
}

/** How many transactions are looked at for each that a page of the console may hold. */
const lookedAtForEach = 6

/** How many in one step towards a full page, and however large that is, at the most. */
const lookedAtInOneStep = 20
const mostInOneStep = 4_000

/** How far the time in an id may lie from the time of its record: clocks are set, and machines have several. */
const clockSlackMs = 10 * 60_000

/** Where a page begins that shows nothing from a moment on. */
function earlier(olderThan: string | undefined, beforeMs: number | undefined): string | undefined {
  if (beforeMs === undefined) return olderThan
  const start = idsFrom('txn', beforeMs + clockSlackMs)
  return olderThan === undefined || start < olderThan ? start : olderThan
}

/** The filter as the store looks for it: a reason goes with one status only, which an index may know. */
function asStored(filter: ListFilter): ListFilter {
  const { merchantDomain, reasonCode } = filter
  const ofReason =
    reasonCode === undefined ? undefined : reasonCode === 'within_policy' ? 'approved' : 'denied'
  return {
    ...filter,
    status: filter.status ?? ofReason,
    merchantDomain: merchantDomain === undefined ? undefined : normalizeHostName(merchantDomain),
  }
}

/** Whether a transaction is of a scope, and fits a filter. */
export function fitsTransaction({ accountId, environment }: Scope, filter: ListFilter): RawBuilder<boolean> {
  const {
    agentId,
    mandateId,
    status,
    merchantDomain,
    direction,
    reasonCode,
    fromMs,
    beforeMs,
    receivedOnly,
  } = filter
  const conditions = [sql<boolean>`environment = ${environment}`]
  if (agentId !== undefined) conditions.push(sql`agent_id = ${agentId}`)
  if (mandateId !== undefined) conditions.push(sql`mandate_id = ${mandateId}`)
  if (status !== undefined) conditions.push(sql`status = ${status}`)
  if (merchantDomain !== undefined) conditions.push(sql`merchant_domain = ${merchantDomain}`)
  if (direction !== undefined) conditions.push(sql`side = ${direction === 'sent' ? 'payer' : 'payee'}`)
  if (reasonCode !== undefined) conditions.push(sql`reason_code = ${reasonCode}`)
  if (fromMs !== undefined) conditions.push(sql`created_at_ms >= ${fromMs}`)
  if (beforeMs !== undefined) conditions.push(sql`created_at_ms < ${beforeMs}`)
  if (receivedOnly) {
    // A payment to an unregistered domain was collected by this account itself.
    conditions.push(sql`status = 'paid' and (seller_account_id is null or seller_account_id = ${accountId})`)
  }
  return sql<boolean>`${sql.join(conditions, sql` and `)}`
}
