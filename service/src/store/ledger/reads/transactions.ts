// Longer than 400 lines: lists, exports and the feed read the journal in the same way.
import type { TransactionStatus } from '@purser/wire/transactions'

import { normalizeHostName } from '../../../domain/host-name.ts'
import { idsFrom, timeOfId, timeOfNonce } from '../../../domain/id-time.ts'
import type { Scope, Transaction } from '../../../domain/records.ts'
import { idBytes } from '../../../domain/type-id.ts'
import type { ConsoleFilter, ConsoleReads } from '../../console/store.ts'
import {
  QueryTooSlowError,
  StoreUnavailableError,
  type Page,
  type PageOf,
  type RecordKey,
  type TransactionFilter,
} from '../../store.ts'
import { maxRefunds } from '../operations/refunds.ts'
import { isOfOtherAccount, quarterMs, sumsOfParts, type ActivityPart, type ActivitySum } from '../activity.ts'
import {
  activity,
  activityParts,
  agents,
  entries,
  evaluations,
  mandates,
  payments,
  refunds,
  strayEvaluations,
  type EntryRow,
  type EvaluationRow,
  type PaymentRow,
  type RefundRow,
} from '../tables.ts'
import { sqlName, type Table, type TableRow } from '../table.ts'
import { capturedTextOf } from './records.ts'
import {
  boundOf,
  columnsOf,
  findRows,
  hasMetadata,
  idFrom,
  idOf,
  tableOf,
  valueOf,
  type Int,
  type ReadDialect,
} from './dialect.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** The filters of transactions, in the console and elsewhere. */
type ListFilter = ConsoleFilter & TransactionFilter

/** How far the time in an id may differ from the time of its record: clocks are set, and machines differ. */
export const clockSlackMs = 10 * 60_000

/** How many entries are read for each item of a console page. */
const lookedAtForEach = 6

/**
 * Max entries read for a page of the API, and how many in its first step for each item. Each step reads twice as
 * many.
 */
const maxLookedAtByApi = 10_000
const lookedAtInFirstStep = 20
const maxInOneStep = 4_000

/** For an agent with more mandates, the whole journal is searched. */
const maxMandates = 64

/** The time range of one query of the sums: a quarter of a year is 8,640 quarters of an hour. */
const searchedMs = 90 * 24 * 60 * 60_000

/** How long before its proof a payment may have been evaluated. */
const evaluatedWithinMs = 60 * 60_000

/** How many entries of the mandate before a proof are searched for its evaluation. */
const entriesLookedAt = 100

/** An entry of the journal with its payment or evaluation; a refund's entry also with the refund. */
export interface JournalRow {
  readonly entry: EntryRow
  readonly payment: PaymentRow | undefined
  readonly evaluation: EvaluationRow | undefined
  readonly refund: RefundRow | undefined
}

type RawRow = Readonly<Record<string, unknown>>

/** Where the entries that may match a filter are. */
interface Sources {
  /** Tables with conditions; no entry is in two of them. */
  readonly parts: readonly Sql[]
  /** The sums of everything that may match, if any. */
  readonly sums: { readonly dimension: ActivitySum['dimension']; readonly subject: string } | undefined
}

/** Max entries that a page reads, and how many of them first. */
interface Looks {
  readonly maxLookedAt: number
  readonly firstStep: number
}

/** The transactions of the journal, newest first: for the API, the console, and exports. */
export function prepareTransactionReads(db: Reader, dialect: ReadDialect) {
  const from = (table: Table) => tableOf(dialect, table)
  const bound = (text: string) => boundOf(dialect, 'transaction', text)

  /** Where the matching entries may be: parts of the journal, and sums about them, if any. */
  async function sourcesOf({ accountId }: Pick<Scope, 'accountId'>, filter: ListFilter): Promise<Sources> {
    const { mandateId, agentId, merchantDomain, reasonCode } = filter
    const own = sql`account_id = ${idOf(dialect, 'account', accountId)}`
    if (mandateId !== undefined && idBytes('mandate', mandateId) !== undefined) {
      // An evaluation may have named a mandate that is not the account's: its entry has none.
      const mandate = idOf(dialect, 'mandate', mandateId)
      const { rows } = await sql`select 1 from ${from(mandates)} where ${own} and id = ${mandate}`.execute(db)
      const entriesOf = await dialect.entriesOfMandates([mandateId])
      const part = sql`${entriesOf} where ${own} and mandate_id = ${mandate}`
      if (rows.length > 0) return { parts: [part], sums: { dimension: 'mandate', subject: mandateId } }
    }
    if (agentId !== undefined && idBytes('agent', agentId) !== undefined) {
      // Payments by agents of other accounts were received.
      const agent = idOf(dialect, 'agent', agentId)
      const { rows } = await sql<{ id: unknown }>`
        select null as id from ${from(agents)} where ${own} and id = ${agent} union all
        select * from (select id from ${from(mandates)} where ${own} and agent_id = ${agent}
          limit ${sql.lit(maxMandates + 1)}) of_agent`.execute(db)
      const ids = rows.flatMap(({ id }) => (id === null ? [] : [idFrom('mandate', id)]))
      if (rows.length > ids.length && ids.length <= maxMandates) {
        const entriesOf = await dialect.entriesOfMandates(ids)
        const stray = sql`(
          select e.* from ${from(strayEvaluations)} s
            cross join ${from(entries)} e where e.account_id = s.account_id and e.id = s.id
              and s.account_id = ${idOf(dialect, 'account', accountId)} and s.agent_id = ${agentId}) stray where 1 = 1`
        const parts = ids.map(
          (id) => sql`${entriesOf} where ${own} and mandate_id = ${idOf(dialect, 'mandate', id)}`,
        )
        return { parts: [...parts, stray], sums: undefined }
      }
    }
    const all = sql`${from(entries)} where ${own}`
    if (merchantDomain === undefined && reasonCode !== undefined && reasonCode !== 'within_policy') {
      return { parts: [all], sums: { dimension: 'reason', subject: reasonCode } }
    }
    const subject = merchantDomain === undefined ? '' : normalizeHostName(merchantDomain)
    return { parts: [all], sums: { dimension: 'domain', subject } }
  }

  /** A page of the matching entries. It is short, with a next page, if few of the entries that it may read match. */
  async function readTransactions(
    scope: Scope,
    filter: ListFilter,
    { limit, olderThan, maxLookedAt, firstStep }: Page & Looks,
  ): Promise<PageOf<Transaction>> {
    if (filter.status === 'pending') return { items: [], next: undefined }
    const sources = await sourcesOf(scope, filter)
    const found: JournalRow[] = []
    let next = olderThan
    let left = maxLookedAt
    let step = firstStep
    do {
      const most = Math.max(1, Math.floor(Math.min(left, step, maxInOneStep / sources.parts.length)))
      // One more than the page holds, to know whether there is another page.
      const page = { limit: limit + 1 - found.length, olderThan: next, maxLookedAt: most }
      const { items, next: last } = await readStep(scope, filter, sources, page)
      found.push(...items)
      next = last && found.length <= limit ? await skip(scope, filter, sources, last) : last
      left -= most
      step *= 2
    } while (next !== undefined && found.length <= limit && left > 0)
    const shown = found.slice(0, limit)
    if (found.length > limit) next = shown.at(-1)?.entry.id
    return { items: await toTransactions(scope, shown), next }
  }

  /** The matching ones of some entries, and the last that was read, unless it was the end. */
  async function readStep(
    scope: Scope,
    filter: ListFilter,
    { parts }: Sources,
    { limit, olderThan, maxLookedAt }: Page & { readonly maxLookedAt: number },
  ): Promise<PageOf<JournalRow>> {
    // Ids are in the time of the machine, and a test clock may have been ahead of it.
    const fromMs = (filter.fromMs ?? 0) - (scope.clockOffsetMs ?? 0)
    const between = sql`id >= ${bound(idsFrom('txn', fromMs - clockSlackMs))}
      and id < ${bound(earlier(olderThan, filter.beforeMs) ?? '~')}`
    const latest = (columns: Sql, place: Sql) => {
      const selects = parts.map(
        (part, index) => sql`
          select * from (select ${columns} from ${part} and ${between} order by id desc
            limit ${sql.lit(maxLookedAt)}) ${sql.ref(`part_${index}`)}`,
      )
      return sql`select * from (${sql.join(selects, sql` union all `)}) looked_at order by id desc ${place}`
    }
    const lookedAt = latest(columnsOf(entries), sql`limit ${sql.lit(maxLookedAt)}`)
    const { rows } = await sql<RawRow>`
      select ${journalColumns} from (${lookedAt}) e ${await records(scope, lookedAt)}
      where ${fits(scope, filter)} order by e.id desc limit ${sql.lit(limit)}`.execute(db)
    const found = rows.map(toJournalRow)
    if (found.length === limit) return { items: found, next: found.at(-1)?.entry.id }
    const last = latest(sql`id`, sql`limit 1 offset ${sql.lit(maxLookedAt - 1)}`)
    const { rows: ids } = await sql<{ id: unknown }>`${last}`.execute(db)
    const next = ids[0] && idFrom('transaction', ids[0].id)
    // Entries added between the two queries are newer, and may have shifted the last one up, past some rows.
    return { items: next === undefined ? found : found.filter(({ entry }) => entry.id >= next), next }
  }

  /**
   * Where a list continues after quarters of an hour without matches, which the sums show. Undefined if nothing older
   * matches.
   */
  async function skip(
    { accountId, environment, clockOffsetMs = 0 }: Scope,
    { status, receivedOnly, moneyOnly }: ListFilter,
    { sums }: Sources,
    next: string,
  ): Promise<string | undefined> {
    if (!sums) return next
    const own = sql`account_id = ${idOf(dialect, 'account', accountId)}`
    const beforeMs = timeOfId(next) + clockOffsetMs + clockSlackMs
    const counts =
      receivedOnly || moneyOnly
        ? sql`paid_count + coalesce(refunded_count, 0)`
        : status
          ? sql.ref(`${status}_count`)
          : sql`1`
    const latest = (condition: Sql) => sql`
      (select starts_at_ms from ${from(activity)}
        where ${own} and environment = ${environment} and dimension = ${sums.dimension} and subject = ${sums.subject}
          and ${condition} order by starts_at_ms desc limit 1)`
    const known = latest(
      sql`starts_at_ms >= ${beforeMs - searchedMs} and starts_at_ms < ${beforeMs} and ${counts} > 0`,
    )
    const { rows } = await sql<{ starts_at_ms: Int | null; parts: string | null }>`
      select coalesce(${known}, ${latest(sql`starts_at_ms < ${beforeMs - searchedMs}`)}) as starts_at_ms, null as parts
      union all
      select null, parts from ${from(activityParts)} where ${own}`.execute(db)
    const kept = rows.flatMap(({ starts_at_ms }) => (starts_at_ms === null ? [] : [Number(starts_at_ms)]))
    const waiting = rows.flatMap(({ parts }) => JSON.parse(parts ?? '[]') as readonly ActivityPart[])
    const isWaiting = (sum: ActivitySum) =>
      sum.environment === environment && sum.dimension === sums.dimension && sum.subject === sums.subject
    const starts = [
      ...kept,
      ...sumsOfParts(waiting)
        .filter(isWaiting)
        .map(({ startsAtMs }) => startsAtMs),
    ]
    const latestMs = Math.max(...starts.filter((startsAtMs) => startsAtMs < beforeMs))
    if (latestMs === -Infinity) return undefined
    const end = idsFrom('txn', latestMs + quarterMs + clockSlackMs).padEnd(next.length, '0')
    return end < next ? end : next
  }

  /** The payment or the evaluation of each entry `e` of an account, among those that are `found`. */
  async function records({ accountId }: Pick<Scope, 'accountId'>, found: Sql): Promise<Sql> {
    const account = idOf(dialect, 'account', accountId)
    return sql`
      ${await dialect.joinPayments(account, found)}
      left join ${from(evaluations)} v on v.account_id = ${account} and v.id = e.id
      left join ${from(refunds)} r on r.account_id = ${account} and r.id = e.id`
  }

  /** Whether an entry `e` is a transaction of a scope that matches a filter. */
  function fits({ accountId, environment }: Scope, filter: ListFilter): Sql {
    const { agentId, mandateId, merchantDomain, direction, reasonCode, fromMs, beforeMs } = filter
    const { receivedOnly, moneyOnly, metadata } = filter
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
      const isReceived = sql`e.kind in ('received', 'refund_sent')`
      conditions.push(direction === 'sent' ? sql`not ${isReceived}` : isReceived)
    }
    if (reasonCode !== undefined) {
      conditions.push(
        reasonCode === 'within_policy' ? sql`e.kind = 'approved'` : sql`v.reason_code = ${reasonCode}`,
      )
    }
    if (fromMs !== undefined) conditions.push(sql`e.at_ms >= ${fromMs}`)
    if (beforeMs !== undefined) conditions.push(sql`e.at_ms < ${beforeMs}`)
    if (metadata !== undefined) {
      // What another account has noted is not disclosed.
      const noted = sql`coalesce(p.metadata, v.metadata)`
      conditions.push(sql`e.kind not in ('received', 'refund_sent')`, hasMetadata(dialect, noted, metadata))
    }
    if (moneyOnly || receivedOnly) {
      conditions.push(sql`e.kind in ('paid', 'received', 'refunded', 'refund_sent')`)
    }
    if (receivedOnly) {
      // A payment to an unregistered domain was collected by this account itself.
      const account = idOf(dialect, 'account', accountId)
      conditions.push(sql`(p.seller_account_id is null or p.seller_account_id = ${account})`)
    }
    return sql.join(conditions, sql` and `)
  }

  /** The transaction of an entry, with the category that its payment was evaluated under. */
  async function toTransactions(scope: Scope, rows: readonly JournalRow[]): Promise<Transaction[]> {
    const categories = await categoriesOf(scope, rows)
    return rows.map((row) => toTransaction(row, categories.get(row.entry.id) ?? null))
  }

  /**
   * A payment whose proof has no category gets that of the latest approved evaluation of the same purchase before its
   * proof: the same agent, mandate, merchant, resource and amount. Payments received from another account have none.
   */
  async function categoriesOf(
    { accountId, environment }: Scope,
    rows: readonly JournalRow[],
  ): Promise<ReadonlyMap<string, string | null>> {
    const paid = rows.flatMap(({ entry, payment }) =>
      payment?.category === null && !isOfOtherAccount(entry.kind) ? [{ entry, payment }] : [],
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

  /** The entry of a transaction, in any environment. */
  async function findEntry({ accountId, id, environment }: RecordKey, filter: ListFilter) {
    const found = sql`
      select * from ${from(entries)}
      where account_id = ${idOf(dialect, 'account', accountId)} and id = ${idOf(dialect, 'transaction', id)}`
    const { rows } = await sql<RawRow>`
      select ${journalColumns} from (${found}) e ${await records({ accountId }, found)}
      where ${fits({ accountId, environment }, filter)}`.execute(db)
    return rows[0] && toJournalRow(rows[0])
  }

  return {
    findEntry,
    toTransactions,

    /** The refunds of a payment, as an account sees them. Another payer's nonce may be the same. */
    findRefunds: (
      accountId: string,
      { nonce, accountId: payerId }: Pick<PaymentRow, 'nonce' | 'accountId'>,
    ): Promise<RefundRow[]> =>
      findRows(
        db,
        refunds,
        sql`select ${columnsOf(refunds)} from ${from(refunds)}
          where account_id = ${idOf(dialect, 'account', accountId)} and nonce = ${idOf(dialect, 'nonce', nonce)}
            and payer_id = ${idOf(dialect, 'account', payerId)}
          order by id limit ${sql.lit(maxRefunds)}`,
      ),

    async findTransaction(key: RecordKey, filter: ListFilter): Promise<Transaction | undefined> {
      const found = await findEntry(key, filter)
      return found && (await toTransactions(key, [found]))[0]
    },

    listConsoleTransactions: (scope: Scope, filter: ListFilter, page: Page) =>
      readTransactions(scope, filter, {
        ...page,
        maxLookedAt: page.limit * lookedAtForEach,
        firstStep: (page.limit * lookedAtForEach) / 2,
      }),

    async listTransactions(scope: Scope, filter: ListFilter, page: Page): Promise<PageOf<Transaction>> {
      try {
        const firstStep = page.limit * lookedAtInFirstStep
        return await readTransactions(scope, filter, { ...page, maxLookedAt: maxLookedAtByApi, firstStep })
      } catch (error) {
        if (!(error instanceof QueryTooSlowError)) throw error
        throw new StoreUnavailableError(error.message, { retryAfterSeconds: 1, cause: error })
      }
    },

    newestTransactions: (async (scope, { id, limit }) => {
      const after = idBytes('transaction', id)
        ? sql`id > ${idOf(dialect, 'transaction', id)}`
        : sql`id >= ${bound(id)}`
      const found = sql`
        select * from ${from(entries)} where account_id = ${idOf(dialect, 'account', scope.accountId)} and ${after}
        order by id desc limit ${sql.lit(limit)}`
      const { rows } = await sql<RawRow>`
        select ${journalColumns} from (${found}) e ${await records(scope, found)}
        order by e.id desc`.execute(db)
      const own = rows
        .map(toJournalRow)
        .filter(({ entry }) => entry.environment === scope.environment && entry.kind !== 'more_denied')
      return { items: await toTransactions(scope, own), isCutOff: rows.length === limit }
    }) satisfies ConsoleReads['newestTransactions'],
  }
}

/** Max lookups per statement; SQLite's limit is 500. */
const selectsAtOnce = 100

/** Where a page starts that shows nothing after a point in time. */
function earlier(olderThan: string | undefined, beforeMs: number | undefined): string | undefined {
  if (beforeMs === undefined) return olderThan
  const start = idsFrom('txn', beforeMs + clockSlackMs)
  return olderThan === undefined || start < olderThan ? start : olderThan
}

function hasStatus(status: TransactionStatus): Sql {
  switch (status) {
    case 'paid':
      return sql`e.kind in ('paid', 'received')`
    case 'refunded':
      return sql`e.kind in ('refunded', 'refund_sent')`
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
  ['r', refunds],
] as const

/** All columns of an entry, its payment, its evaluation and its refund, each with its own name. */
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
    refund: raw['r_id'] === null ? undefined : part('r', refunds, raw),
  }
}

function toTransaction(
  { entry, payment, evaluation, refund }: JournalRow,
  category: string | null,
): Transaction {
  const { accountId, environment, id, atMs: createdAtMs } = entry
  if (payment) {
    const { agentId, mandateId, currency, resourceUrl, merchantDomain, sellerId } = payment
    return {
      accountId,
      environment,
      id,
      status: refund ? 'refunded' : 'paid',
      agentId,
      mandateId,
      amountText: refund ? refund.amountText : capturedTextOf(payment),
      amountMicro: entry.amountMicro,
      currency,
      resourceUrl,
      merchantDomain: merchantDomain ?? '',
      sellerId,
      // The payer's notes are not disclosed to another account.
      category: isOfOtherAccount(entry.kind) ? null : (payment.category ?? category),
      reasonCode: null,
      reasonDetail: refund?.reason ?? null,
      refundOf: refund ? payment.transactionId : null,
      orderId: payment.orderId,
      isExpense: !isOfOtherAccount(entry.kind),
      isRevenue: payment.sellerAccountId === accountId,
      mandateVersion: payment.mandateVersion ?? 1,
      metadata: isOfOtherAccount(entry.kind) ? null : payment.metadata,
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
    refundOf: null,
    orderId: null,
    isExpense: false,
    isRevenue: false,
    mandateVersion: evaluation.mandateVersion,
    metadata: evaluation.metadata,
    createdAtMs,
  }
}
