// Longer than 400 lines: lists, exports and the feed read the journal in the same way.
import type { TransactionStatus } from '@purser/wire/transactions'

import { normalizeHostName } from '../../../domain/host-name.ts'
import { timeOfId, timeOfNonce, transactionsFrom } from '../../../domain/id-time.ts'
import { formatSum, type MicroUsdc } from '../../../domain/money.ts'
import type { Scope, Transaction } from '../../../domain/records.ts'
import { idBytes } from '../../../domain/type-id.ts'
import type { ConsoleFilter, ConsoleReads } from '../../console/store.ts'
import {
  QueryTooSlowError,
  StoreUnavailableError,
  type Page,
  type PageOf,
  type RecordKey,
} from '../../store.ts'
import { maxRefunds } from '../operations/refunds.ts'
import { isOfOtherAccount, quarterMs, type ActivitySum } from '../activity.ts'
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
import { waitingIn } from './console-figures.ts'
import { hasMetadata, type LedgerReader } from './ledger-reader.ts'
import { capturedTextOf } from './records.ts'
import {
  clockSlackMs,
  columnsOf,
  findRows,
  firstId,
  firstIdAt,
  from,
  hasRows,
  id,
  idFrom,
  ofAccount,
  rowOf,
  type Int,
  type RawRow,
} from './rows.ts'
import { sql, type Sql } from '../../sql.ts'

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
const maxMandates = 128

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

/** Where the entries that may match a filter are. */
interface Sources {
  /** Tables with conditions; no entry is in two of them. */
  readonly parts: readonly Sql[]
  /** The sums of everything that may match, if any. */
  readonly sums: { readonly dimension: ActivitySum['dimension']; readonly subject: string } | undefined
}

/** The transactions of the journal, newest first: for the API, the console, and exports. */
export function prepareTransactionReads(db: LedgerReader) {
  /** Where the matching entries may be: parts of the journal, and sums about them, if any. */
  async function sourcesOf({ accountId }: Pick<Scope, 'accountId'>, filter: ConsoleFilter): Promise<Sources> {
    const { mandateId, agentId, merchantDomain, reasonCode } = filter
    const own = ofAccount(accountId)
    const ofMandate = (journal: Sql, one: string) =>
      sql`${journal} where ${own} and mandate_id = ${id('mandate', one)}`
    if (mandateId !== undefined) {
      // An evaluation may have named a mandate that is not the account's: its entry has none.
      if (await hasRows(db, mandates, sql`${own} and id = ${id('mandate', mandateId)}`)) {
        const journal = await db.entriesOfMandates([mandateId])
        return { parts: [ofMandate(journal, mandateId)], sums: { dimension: 'mandate', subject: mandateId } }
      }
    }
    if (agentId !== undefined) {
      // Payments by agents of other accounts were received.
      const agent = id('agent', agentId)
      const { rows } = await sql<{ id: unknown }>`
        select null as id from ${from(agents)} where ${own} and id = ${agent} union all
        select * from (select id from ${from(mandates)} where ${own} and agent_id = ${agent}
          limit ${sql.lit(maxMandates + 1)}) of_agent`.execute(db)
      const ids = rows.flatMap((row) => (row.id === null ? [] : [idFrom('mandate', row.id)]))
      if (rows.length > ids.length && ids.length <= maxMandates) {
        const journal = await db.entriesOfMandates(ids)
        const stray = sql`(
          select e.* from ${from(strayEvaluations)} s
            cross join ${from(entries)} e where e.account_id = s.account_id and e.id = s.id
              and s.account_id = ${id('account', accountId)} and s.agent_id = ${agentId}) stray where 1 = 1`
        return { parts: [...ids.map((one) => ofMandate(journal, one)), stray], sums: undefined }
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
    filter: ConsoleFilter,
    { limit, olderThan }: Page,
    looks: { readonly max: number; readonly firstStep: number },
  ): Promise<PageOf<Transaction>> {
    if (filter.status === 'pending') return { items: [], next: undefined }
    const sources = await sourcesOf(scope, filter)
    const found: JournalRow[] = []
    let next = olderThan
    let left = looks.max
    let step = looks.firstStep
    do {
      const most = Math.max(1, Math.floor(Math.min(left, step, maxInOneStep / sources.parts.length)))
      // One more than the page holds, to know whether there is another page.
      const page = { limit: limit + 1 - found.length, olderThan: next }
      const { items, next: last } = await readStep(scope, filter, sources, { ...page, maxLookedAt: most })
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
    filter: ConsoleFilter,
    { parts }: Sources,
    { limit, olderThan, maxLookedAt }: Page & { readonly maxLookedAt: number },
  ): Promise<PageOf<JournalRow>> {
    // Ids are in the time of the machine, and a test clock may have been ahead of it.
    const fromMs = (filter.fromMs ?? 0) - (scope.clockOffsetMs ?? 0)
    const between = sql`id >= ${firstIdAt(fromMs - clockSlackMs)}
      and id < ${firstEntry(earlier(olderThan, filter.beforeMs) ?? '~')}`
    const latest = (columns: Sql, place: Sql) => {
      const selects = parts.map(
        (part, index) => sql`
          select * from (select ${columns} from ${part} and ${between} order by id desc
            limit ${sql.lit(maxLookedAt)}) ${sql.ref(`part_${index}`)}`,
      )
      return sql`select * from (${sql.join(selects, sql` union all `)}) looked_at order by id desc ${place}`
    }
    const lookedAt = latest(columnsOf(entries), sql`limit ${sql.lit(maxLookedAt)}`)
    const place = sql`order by e.id desc limit ${sql.lit(limit)}`
    const found = await journalRows(scope, lookedAt, sql`and ${fits(scope, filter)} ${place}`)
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
    scope: Scope,
    { status, receivedOnly, moneyOnly }: ConsoleFilter,
    { sums }: Sources,
    next: string,
  ): Promise<string | undefined> {
    if (!sums) return next
    const { accountId, environment, clockOffsetMs = 0 } = scope
    const { dimension, subject } = sums
    const own = ofAccount(accountId)
    const beforeMs = timeOfId(next) + clockOffsetMs + clockSlackMs
    const ofStatus = status ? sql.ref(`${status}_count`) : sql`1`
    const counts = receivedOnly || moneyOnly ? sql`paid_count + refunded_count` : ofStatus
    const latest = (condition: Sql) => sql`
      (select starts_at_ms from ${from(activity)}
        where ${own} and environment = ${environment} and dimension = ${dimension} and subject = ${subject}
          and ${condition} order by starts_at_ms desc limit 1)`
    const known = latest(
      sql`starts_at_ms >= ${beforeMs - searchedMs} and starts_at_ms < ${beforeMs} and ${counts} > 0`,
    )
    const { rows } = await sql<RawRow & { starts_at_ms: Int | null }>`
      select coalesce(${known}, ${latest(sql`starts_at_ms < ${beforeMs - searchedMs}`)}) as starts_at_ms, null as parts
      union all
      select null, parts from ${from(activityParts)} where ${own}`.execute(db)
    const kept = rows.flatMap(({ starts_at_ms }) => (starts_at_ms === null ? [] : [Number(starts_at_ms)]))
    const waiting = waitingIn(rows, scope, { dimension, subjects: [subject], untilMs: beforeMs })
    const latestMs = Math.max(...kept, ...waiting.map(({ startsAtMs }) => startsAtMs))
    if (latestMs === -Infinity) return undefined
    const end = transactionsFrom(latestMs + quarterMs + clockSlackMs).padEnd(next.length, '0')
    return end < next ? end : next
  }

  /**
   * The entries `e` of an account that are `found`, with their payments or evaluations. If another account's payments are
   * read first, one made since is missing; its entry is then left to the next read.
   */
  async function journalRows({ accountId }: Scope, found: Sql, listed: Sql): Promise<JournalRow[]> {
    const account = id('account', accountId)
    const { rows } = await sql<RawRow>`
      select ${journalColumns} from (${found}) e ${await db.joinPayments(account, found)}
        left join ${from(evaluations)} v on v.account_id = ${account} and v.id = e.id
        left join ${from(refunds)} r on r.account_id = ${account} and r.id = e.id
      where (e.kind not in ('received', 'refund_sent') or p.nonce is not null) ${listed}`.execute(db)
    return rows.map(toJournalRow)
  }

  /** Whether an entry `e` is a transaction of a scope that matches a filter. */
  function fits({ accountId, environment }: Scope, filter: ConsoleFilter): Sql {
    const { agentId, mandateId, merchantDomain, direction, reasonCode, fromMs, beforeMs } = filter
    const { status, receivedOnly, moneyOnly, metadata } = filter
    const isOfOther = sql`e.kind in ('received', 'refund_sent')`
    return sql.and(
      sql`e.environment = ${environment} and e.kind <> 'more_denied'`,
      agentId !== undefined && sql`(p.agent_id = ${id('agent', agentId)} or v.agent_id = ${agentId})`,
      mandateId !== undefined &&
        sql`(p.mandate_id = ${id('mandate', mandateId)} or v.mandate_id = ${mandateId})`,
      status !== undefined && sql`e.kind in (${sql.raw(kindsOf[status])})`,
      merchantDomain !== undefined &&
        sql`coalesce(p.merchant_domain, v.merchant_domain) = ${normalizeHostName(merchantDomain)}`,
      direction === 'received' && isOfOther,
      direction === 'sent' && sql`not ${isOfOther}`,
      reasonCode === 'within_policy'
        ? sql`e.kind = 'approved'`
        : reasonCode !== undefined && sql`v.reason_code = ${reasonCode}`,
      fromMs !== undefined && sql`e.at_ms >= ${fromMs}`,
      beforeMs !== undefined && sql`e.at_ms < ${beforeMs}`,
      // What another account has noted is not disclosed.
      metadata !== undefined &&
        sql`not ${isOfOther} and ${hasMetadata(db, sql`coalesce(p.metadata, v.metadata)`, metadata)}`,
      (moneyOnly || receivedOnly) && sql`e.kind in ('paid', 'received', 'refunded', 'refund_sent')`,
      // A payment to an unregistered domain was collected by this account itself.
      receivedOnly && sql`(p.seller_account_id is null or p.seller_account_id = ${id('account', accountId)})`,
    )
  }

  /**
   * The transactions of entries. A payment whose proof has no category gets that of the latest approved evaluation of the same
   * purchase before its proof: the same agent, mandate, merchant, resource and amount. Payments received from another account
   * have none.
   */
  async function toTransactions(
    { accountId, environment }: Scope,
    rows: readonly JournalRow[],
  ): Promise<Transaction[]> {
    const paid = rows.flatMap(({ entry, payment }, place) =>
      payment?.category === null && !isOfOtherAccount(entry.kind) ? [{ place, payment }] : [],
    )
    const journal = await db.entriesOfMandates([...new Set(paid.map(({ payment }) => payment.mandateId))])
    const selects = paid.map(({ place, payment }) => {
      const issuedAtMs = timeOfNonce(payment.nonce)
      return sql`
        select * from (
          select cast(${sql.lit(place)} as bigint) as place, v.category from (
            select id from ${journal}
            where ${ofAccount(accountId)} and mandate_id = ${id('mandate', payment.mandateId)}
              and id >= ${firstIdAt(issuedAtMs - evaluatedWithinMs)} and id < ${firstIdAt(issuedAtMs + 1)}
            order by id desc limit ${sql.lit(entriesLookedAt)}) e
            join ${from(evaluations)} v on v.account_id = ${id('account', accountId)} and v.id = e.id
          where v.environment = ${environment} and v.subject = 'transaction' and v.reason_code is null
            and v.mandate_id = ${payment.mandateId}
            and v.merchant_domain = ${payment.merchantDomain} and v.resource_url = ${payment.resourceUrl}
            and v.amount_micro = ${payment.amountMicro}
            and v.created_at_ms >= ${payment.issuedAtMs - evaluatedWithinMs}
          order by e.id desc limit 1) ${sql.ref(`of_${place}`)}`
    })
    const categories = new Map<number, string | null>()
    for (let done = 0; done < selects.length; done += selectsAtOnce) {
      const some = sql.join(selects.slice(done, done + selectsAtOnce), sql` union all `)
      const { rows: found } = await sql<{ place: Int; category: string | null }>`${some}`.execute(db)
      for (const { place, category } of found) categories.set(Number(place), category)
    }
    return rows.map((row, place) => toTransaction(row, categories.get(place) ?? null))
  }

  /** An entry of the scope that matches a filter. */
  async function findEntry(key: RecordKey, filter: ConsoleFilter): Promise<JournalRow | undefined> {
    const found = sql`
      select * from ${from(entries)} where ${ofAccount(key.accountId)} and id = ${id('transaction', key.id)}`
    const [entry] = await journalRows(key, found, sql`and ${fits(key, filter)}`)
    return entry
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
        sql`${ofAccount(accountId)} and nonce = ${id('nonce', nonce)} and payer_id = ${id('account', payerId)}
          order by id limit ${sql.lit(maxRefunds)}`,
      ),

    async findTransaction(key: RecordKey, filter: ConsoleFilter): Promise<Transaction | undefined> {
      const found = await findEntry(key, filter)
      return found && (await toTransactions(key, [found]))[0]
    },

    listConsoleTransactions(scope: Scope, filter: ConsoleFilter, page: Page): Promise<PageOf<Transaction>> {
      const max = page.limit * lookedAtForEach
      return readTransactions(scope, filter, page, { max, firstStep: max / 2 })
    },

    async listTransactions(scope: Scope, filter: ConsoleFilter, page: Page): Promise<PageOf<Transaction>> {
      try {
        const firstStep = page.limit * lookedAtInFirstStep
        return await readTransactions(scope, filter, page, { max: maxLookedAtByApi, firstStep })
      } catch (error) {
        if (!(error instanceof QueryTooSlowError)) throw error
        throw new StoreUnavailableError(error.message, { retryAfterSeconds: 1, cause: error })
      }
    },

    newestTransactions: (async (scope, { id: last, limit }) => {
      const after = idBytes('transaction', last)
        ? sql`id > ${id('transaction', last)}`
        : sql`id >= ${firstEntry(last)}`
      const found = sql`
        select * from ${from(entries)} where ${ofAccount(scope.accountId)} and ${after}
        order by id desc limit ${sql.lit(limit)}`
      const rows = await journalRows(scope, found, sql`order by e.id desc`)
      const own = rows.filter(
        ({ entry }) => entry.environment === scope.environment && entry.kind !== 'more_denied',
      )
      const readDownTo = rows.length === limit ? rows.at(-1)?.entry.id : undefined
      return { items: await toTransactions(scope, own), readDownTo }
    }) satisfies ConsoleReads['newestTransactions'],
  }
}

const firstEntry = (text: string) => firstId('transaction', text)

/** Max lookups per statement; SQLite's limit is 500. */
const selectsAtOnce = 100

/** Where a page starts that shows nothing after a point in time. */
function earlier(olderThan: string | undefined, beforeMs: number | undefined): string | undefined {
  if (beforeMs === undefined) return olderThan
  const start = transactionsFrom(beforeMs + clockSlackMs)
  return olderThan === undefined || start < olderThan ? start : olderThan
}

/** The kinds of the entries with a status, as an SQL list. The ledger has no pending transactions. */
const kindsOf: Readonly<Record<TransactionStatus, string>> = {
  paid: "'paid', 'received'",
  refunded: "'refunded', 'refund_sent'",
  approved: "'approved'",
  denied: "'denied'",
  pending: 'null',
}

/** All columns of an entry, its payment, its evaluation and its refund, each with its own name. */
const journalColumns = sql.join([
  columnsOf(entries, 'e', 'e_'),
  columnsOf(payments, 'p', 'p_'),
  columnsOf(evaluations, 'v', 'v_'),
  columnsOf(refunds, 'r', 'r_'),
])

function toJournalRow(raw: RawRow): JournalRow {
  return {
    entry: rowOf(entries, raw, 'e_'),
    payment: raw['p_nonce'] === null ? undefined : rowOf(payments, raw, 'p_'),
    evaluation: raw['v_id'] === null ? undefined : rowOf(evaluations, raw, 'v_'),
    refund: raw['r_id'] === null ? undefined : rowOf(refunds, raw, 'r_'),
  }
}

function toTransaction(
  { entry, payment, evaluation, refund }: JournalRow,
  category: string | null,
): Transaction {
  if (payment) {
    const isOfOther = isOfOtherAccount(entry.kind)
    return {
      ...commonOf(entry, payment),
      status: refund ? 'refunded' : 'paid',
      amountText: refund ? refund.amountText : capturedTextOf(payment),
      reasonDetail: refund?.reason ?? null,
      refundOf: refund ? payment.transactionId : null,
      refundedText: refund ? null : formatSum(payment.refundedMicro ?? (0n as MicroUsdc)),
      orderId: payment.orderId,
      isExpense: !isOfOther,
      isRevenue: payment.sellerAccountId === entry.accountId,
      mandateVersion: payment.mandateVersion ?? 1,
      // The payer's notes are not disclosed to another account.
      category: isOfOther ? null : (payment.category ?? category),
      metadata: isOfOther ? null : payment.metadata,
    }
  }
  if (!evaluation) throw new Error(`the entry ${entry.id} has neither a payment nor an evaluation`)
  const { reasonCode, reasonDetail } = evaluation
  return {
    ...commonOf(entry, evaluation),
    status: reasonCode === null ? 'approved' : 'denied',
    reasonCode: reasonCode ?? 'within_policy',
    reasonDetail,
  }
}

/** A transaction as far as payments and evaluations are alike. */
function commonOf(
  { accountId, environment, id: entryId, amountMicro, atMs }: EntryRow,
  of: PaymentRow | EvaluationRow,
): Omit<Transaction, 'status'> {
  return {
    accountId,
    environment,
    id: entryId,
    agentId: of.agentId,
    mandateId: of.mandateId,
    amountText: of.amountText,
    amountMicro,
    currency: of.currency,
    resourceUrl: of.resourceUrl,
    merchantDomain: of.merchantDomain ?? '',
    sellerId: of.sellerId,
    category: of.category,
    reasonCode: null,
    reasonDetail: null,
    refundOf: null,
    refundedText: null,
    orderId: null,
    isExpense: false,
    isRevenue: false,
    mandateVersion: of.mandateVersion,
    metadata: of.metadata,
    createdAtMs: atMs,
  }
}
