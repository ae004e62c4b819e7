import { sql, type RawBuilder } from 'kysely'

import type { TransactionStatus } from '@purser/wire/transactions'

import { normalizeHostName } from '../../../domain/host-name.ts'
import { idsFrom, timeOfNonce } from '../../../domain/id-time.ts'
import type { Scope, Transaction } from '../../../domain/records.ts'
import { idBytes } from '../../../domain/type-id.ts'
import type { ConsoleReads } from '../../console/store.ts'
import type { ListFilter } from '../../console/source.ts'
import {
  QueryTooSlowError,
  StoreUnavailableError,
  type Page,
  type PageOf,
  type RecordKey,
} from '../../store.ts'
import {
  entries,
  evaluations,
  mandates,
  payments,
  type EntryRow,
  type EvaluationRow,
  type PaymentRow,
} from '../tables.ts'
import { sqlName, type Table, type TableRow } from '../table.ts'
import { boundOf, idFrom, idOf, tableOf, valueOf, type ReadDialect, type Reader } from './dialect.ts'

/** How far the time in an id may lie from the time of its record: clocks are set, and machines have several. */
export const clockSlackMs = 10 * 60_000

/** How many entries are looked at for each that a page of the console may hold. */
const lookedAtForEach = 6

/** How many in one step towards a full page, and however large that is, at the most. */
const lookedAtInOneStep = 20
const maxInOneStep = 4_000

/** How long before its proof a payment may have been evaluated. */
const evaluatedWithinMs = 60 * 60_000

/** How many entries of the mandate before a proof are looked at for its evaluation. */
const entriesLookedAt = 100

/** An entry of the journal with the payment or the evaluation that it tells of. */
export interface JournalRow {
  readonly entry: EntryRow
  readonly payment: PaymentRow | undefined
  readonly evaluation: EvaluationRow | undefined
}

type RawRow = Readonly<Record<string, unknown>>

/** The transactions of the journal, newest first: for the API, the console, and exports. */
export function prepareTransactionReads(db: Reader, dialect: ReadDialect) {
  const from = (table: Table) => tableOf(dialect, table)
  const bound = (text: string) => boundOf(dialect, 'transaction', text)

  /** The journal of an account, or of one of its mandates. */
  async function journalOf(
    { accountId }: Pick<Scope, 'accountId'>,
    { mandateId }: Pick<ListFilter, 'mandateId'>,
  ): Promise<RawBuilder<unknown>> {
    const own = sql`account_id = ${idOf(dialect, 'account', accountId)}`
    const all = sql`${from(entries)} where ${own}`
    if (mandateId === undefined || idBytes('mandate', mandateId) === undefined) return all
    // An evaluation may have named a mandate that is none of the account's: its entry names none.
    const mandate = idOf(dialect, 'mandate', mandateId)
    const { rows } = await sql`select 1 from ${from(mandates)} where ${own} and id = ${mandate}`.execute(db)
    if (rows.length === 0) return all
    return sql`${await dialect.entriesOfMandates([mandateId])} where ${own} and mandate_id = ${mandate}`
  }

  /** A page of those that fit; a short one where few do, of so many that are looked at. */
  async function readTransactions(
    scope: Scope,
    filter: ListFilter,
    { limit, olderThan, maxLookedAt }: Page & { readonly maxLookedAt: number },
  ): Promise<PageOf<Transaction>> {
    const journal = await journalOf(scope, filter)
    const between = {
      first: bound(idsFrom('txn', (filter.fromMs ?? 0) - clockSlackMs)),
      olderThan: bound(earlier(olderThan, filter.beforeMs) ?? '~'),
    }
    const lookedAt = sql`select * ${entriesOf(journal, between)} limit ${sql.lit(maxLookedAt)}`
    const { rows } = await sql<RawRow>`
      select ${journalColumns} from (${lookedAt}) e ${records()}
      where ${fits(scope, filter)} order by e.id desc limit ${sql.lit(limit + 1)}`.execute(db)
    const found = rows.map(toJournalRow)
    const isFull = found.length > limit
    const next = isFull ? found[limit - 1]?.entry.id : await lastLookedAt(journal, between, maxLookedAt)
    // What was added between the two questions is newer, and may have moved the last up, past some of the rows.
    const page = next === undefined ? found : found.filter(({ entry }) => entry.id >= next)
    // All that was looked at may be of the other environment, and this one have none at all.
    const isEnd = page.length === 0 && next !== undefined && !(await hasEntries(scope))
    return { items: await toTransactions(scope, page), next: isEnd ? undefined : next }
  }

  async function hasEntries({ accountId, environment }: Scope): Promise<boolean> {
    const { rows } = await sql`
      select 1 from ${from(entries)} where account_id = ${idOf(dialect, 'account', accountId)}
        and environment = ${environment} and kind <> 'more_denied' ${dialect.inTime} limit 1`.execute(db)
    return rows.length > 0
  }

  /** The id of the last entry that a page looks at; undefined when it looks at all of them. */
  async function lastLookedAt(
    journal: RawBuilder<unknown>,
    between: Parameters<typeof entriesOf>[1],
    maxLookedAt: number,
  ): Promise<string | undefined> {
    const { rows } = await sql<{ id: unknown }>`
      select id ${entriesOf(journal, between)} limit 1 offset ${sql.lit(maxLookedAt - 1)}`.execute(db)
    return rows[0] && idFrom('transaction', rows[0].id)
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
        maxLookedAt: Math.min(page.limit * lookedAtInOneStep, maxInOneStep),
      })
      items.push(...found.items)
      olderThan = found.next
    } while (olderThan !== undefined && items.length <= page.limit)
    const next = items.length > page.limit ? items[page.limit - 1]?.id : undefined
    return { items: items.slice(0, page.limit), next }
  }

  /** The payment or the evaluation of each entry `e`. */
  function records(): RawBuilder<unknown> {
    return sql`
      left join ${from(payments)} p on p.account_id = e.payer_id and p.nonce = e.nonce
      left join ${from(evaluations)} v on v.account_id = e.account_id and v.id = e.id`
  }

  /** Whether an entry `e` is a transaction of a scope, and fits a filter. */
  function fits({ accountId, environment }: Scope, filter: ListFilter): RawBuilder<unknown> {
    const { agentId, mandateId, merchantDomain, direction, reasonCode, fromMs, beforeMs, receivedOnly } =
      filter
    const conditions = [sql`e.environment = ${environment}`, sql`e.kind <> 'more_denied'`]
    if (agentId !== undefined) {
      conditions.push(sql`(p.agent_id = ${idOf(dialect, 'agent', agentId)} or v.agent_id = ${agentId})`)
    }
    if (mandateId !== undefined) {
      conditions.push(
        sql`(p.mandate_id = ${idOf(dialect, 'mandate', mandateId)} or v.mandate_id = ${mandateId})`,
      )
    }
    if (filter.status !== undefined) conditions.push(hasStatus(filter.status))
    if (merchantDomain !== undefined) {
      conditions.push(
        sql`coalesce(p.merchant_domain, v.merchant_domain) = ${normalizeHostName(merchantDomain)}`,
      )
    }
    if (direction !== undefined) {
      conditions.push(direction === 'sent' ? sql`e.kind <> 'received'` : sql`e.kind = 'received'`)
    }
    if (reasonCode !== undefined) {
      conditions.push(
        reasonCode === 'within_policy' ? sql`e.kind = 'approved'` : sql`v.reason_code = ${reasonCode}`,
      )
    }
    if (fromMs !== undefined) conditions.push(sql`e.at_ms >= ${fromMs}`)
    if (beforeMs !== undefined) conditions.push(sql`e.at_ms < ${beforeMs}`)
    if (receivedOnly) {
      // A payment to an unregistered domain was collected by this account itself.
      const account = idOf(dialect, 'account', accountId)
      conditions.push(
        sql`e.kind in ('paid', 'received') and (p.seller_account_id is null or p.seller_account_id = ${account})`,
      )
    }
    return sql.join(conditions, sql` and `)
  }

  /** The transaction of an entry, with the category that a payment was evaluated under. */
  async function toTransactions(scope: Scope, rows: readonly JournalRow[]): Promise<Transaction[]> {
    const categories = await categoriesOf(scope, rows)
    return rows.map((row) => toTransaction(row, categories.get(row.entry.id) ?? null))
  }

  /**
   * A proof carries no category, so a payment has that of the latest approved evaluation of the same purchase before its
   * proof: the same agent, mandate, merchant, resource and amount. What was received from another account has none.
   */
  async function categoriesOf(
    { accountId, environment }: Scope,
    rows: readonly JournalRow[],
  ): Promise<ReadonlyMap<string, string | null>> {
    const paid = rows.flatMap(({ entry, payment }) =>
      entry.kind === 'paid' && payment ? [{ entry, payment }] : [],
    )
    if (paid.length === 0) return new Map()
    const account = idOf(dialect, 'account', accountId)
    const journal = await dialect.entriesOfMandates([
      ...new Set(paid.map(({ payment }) => payment.mandateId)),
    ])
    const selects = paid.map(({ entry, payment }, place) => {
      const issuedAtMs = timeOfNonce(payment.nonce)
      return sql`
        select * from (
          select cast(${sql.lit(place)} as bigint) as place, v.category from (
            select id from ${journal}
            where account_id = ${account} and mandate_id = ${idOf(dialect, 'mandate', payment.mandateId)}
              and id >= ${bound(idsFrom('txn', issuedAtMs - evaluatedWithinMs))}
              and id < ${bound(idsFrom('txn', issuedAtMs + 1))}
            order by id desc limit ${sql.lit(entriesLookedAt)}) e
            join ${from(evaluations)} v on v.account_id = ${account} and v.id = e.id
          where v.environment = ${environment} and v.subject = 'transaction' and v.reason_code is null
            and v.mandate_id = ${payment.mandateId}
            and v.merchant_domain = ${payment.merchantDomain} and v.resource_url = ${payment.resourceUrl}
            and v.amount_micro = ${payment.amountMicro}
          order by e.id desc limit 1) ${sql.ref(`of_${entry.kind}_${place}`)}`
    })
    const categories = new Map<string, string | null>()
    for (let done = 0; done < selects.length; done += selectsAtOnce) {
      const some = selects.slice(done, done + selectsAtOnce)
      const { rows: found } = await sql<{ place: unknown; category: string | null }>`
        ${sql.join(some, sql` union all `)}`.execute(db)
      for (const { place, category } of found) {
        const id = paid[Number(place)]?.entry.id
        if (id !== undefined) categories.set(id, category)
      }
    }
    return categories
  }

  /** The entry of a transaction, whatever its environment. */
  async function findEntry({ accountId, id, environment }: RecordKey, filter: ListFilter) {
    const { rows } = await sql<RawRow>`
      select ${journalColumns} from ${from(entries)} e ${records()}
      where e.account_id = ${idOf(dialect, 'account', accountId)} and e.id = ${idOf(dialect, 'transaction', id)}
        and ${fits({ accountId, environment }, filter)}`.execute(db)
    return rows[0] && toJournalRow(rows[0])
  }

  return {
    findEntry,
    toTransactions,

    async findTransaction(key: RecordKey, filter: ListFilter): Promise<Transaction | undefined> {
      const found = await findEntry(key, filter)
      return found && (await toTransactions(key, [found]))[0]
    },

    listConsoleTransactions: (scope: Scope, filter: ListFilter, page: Page) =>
      readTransactions(scope, filter, { ...page, maxLookedAt: page.limit * lookedAtForEach }),

    async listTransactions(scope: Scope, filter: ListFilter, page: Page): Promise<PageOf<Transaction>> {
      try {
        return await fullPage(scope, filter, page)
      } catch (error) {
        if (!(error instanceof QueryTooSlowError)) throw error
        throw new StoreUnavailableError(error.message, { retryAfterSeconds: 1, cause: error })
      }
    },

    newestTransactions: (async (scope, { id, limit }) => {
      const after = idBytes('transaction', id)
        ? sql`id > ${idOf(dialect, 'transaction', id)}`
        : sql`id >= ${bound(id)}`
      const { rows } = await sql<RawRow>`
        select ${journalColumns} from (
          select * from ${from(entries)} where account_id = ${idOf(dialect, 'account', scope.accountId)} and ${after}
          order by id desc limit ${sql.lit(limit)}) e ${records()}
        order by e.id desc`.execute(db)
      const own = rows
        .map(toJournalRow)
        .filter(({ entry }) => entry.environment === scope.environment && entry.kind !== 'more_denied')
      return { items: await toTransactions(scope, own), isCutOff: rows.length === limit }
    }) satisfies ConsoleReads['newestTransactions'],
  }
}

/** How many look-ups one statement holds; SQLite takes 500 at the most. */
const selectsAtOnce = 100

/** Entries of a journal between two ids, newest first. */
function entriesOf(
  journal: RawBuilder<unknown>,
  { first, olderThan }: { readonly first: RawBuilder<unknown>; readonly olderThan: RawBuilder<unknown> },
): RawBuilder<unknown> {
  return sql`from ${journal} and id >= ${first} and id < ${olderThan} order by id desc`
}

/** Where a page begins that shows nothing from a moment on. */
function earlier(olderThan: string | undefined, beforeMs: number | undefined): string | undefined {
  if (beforeMs === undefined) return olderThan
  const start = idsFrom('txn', beforeMs + clockSlackMs)
  return olderThan === undefined || start < olderThan ? start : olderThan
}

function hasStatus(status: TransactionStatus): RawBuilder<unknown> {
  switch (status) {
    case 'paid':
      return sql`e.kind in ('paid', 'received')`
    case 'approved':
    case 'denied':
      return sql`e.kind = ${status}`
    case 'pending':
      return sql`1 = 0`
    default:
      return status satisfies never
  }
}

const prefixes = [
  ['e', entries],
  ['p', payments],
  ['v', evaluations],
] as const

/** All columns of an entry, of its payment and of its evaluation, each under a name of its own. */
const journalColumns = sql.raw(
  prefixes
    .flatMap(([prefix, { columns }]) =>
      Object.keys(columns).map((name) => `${prefix}.${sqlName(name)} as ${prefix}_${sqlName(name)}`),
    )
    .join(', '),
)

function part<Of extends Table>(prefix: string, { columns }: Of, raw: RawRow): TableRow<Of> {
  return Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [
      name,
      valueOf(column, raw[`${prefix}_${sqlName(name)}`]),
    ]),
  ) as TableRow<Of>
}

function toJournalRow(raw: RawRow): JournalRow {
  return {
    entry: part('e', entries, raw),
    payment: raw['p_nonce'] === null ? undefined : part('p', payments, raw),
    evaluation: raw['v_id'] === null ? undefined : part('v', evaluations, raw),
  }
}

function toTransaction({ entry, payment, evaluation }: JournalRow, category: string | null): Transaction {
  const { accountId, environment, id, atMs: createdAtMs } = entry
  if (payment) {
    const { agentId, mandateId, amountText, amountMicro, currency, resourceUrl, merchantDomain, sellerId } =
      payment
    return {
      accountId,
      environment,
      id,
      status: 'paid',
      agentId,
      mandateId,
      amountText,
      amountMicro,
      currency,
      resourceUrl,
      merchantDomain: merchantDomain ?? '',
      sellerId,
      category,
      reasonCode: null,
      reasonDetail: null,
      createdAtMs,
    }
  }
  if (!evaluation) throw new Error(`the entry ${id} has neither a payment nor an evaluation`)
  const { agentId, mandateId, amountText, amountMicro, currency, resourceUrl, sellerId } = evaluation
  return {
    accountId,
    environment,
    id,
    status: evaluation.reasonCode === null ? 'approved' : 'denied',
    agentId,
    mandateId,
    amountText,
    amountMicro,
    currency,
    resourceUrl,
    merchantDomain: evaluation.merchantDomain ?? '',
    sellerId,
    category: evaluation.category,
    reasonCode: evaluation.reasonCode ?? 'within_policy',
    reasonDetail: evaluation.reasonDetail,
    createdAtMs,
  }
}
