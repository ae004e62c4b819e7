import { sql, type Kysely, type SelectQueryBuilder } from 'kysely'

import { transactionOfEvent } from '../domain/audit.ts'
import type { Agent, Hold, Mandate, Scope, Transaction } from '../domain/records.ts'
import { sessionIdleMs } from '../domain/session.ts'
import type { ToTransactions } from './paid-categories.ts'
import {
  ownerOfDomain,
  toAccount,
  toAgent,
  toApiKey,
  toAuditEvent,
  toHold,
  toMandate,
  toListedSeller,
  toSession,
  toTransaction,
  type AuditEventRow,
  type Tables,
} from './rows.ts'
import type {
  AgentFilter,
  AuditFilter,
  LedgerFault,
  OwnDomain,
  Page,
  PageOf,
  RecordKey,
  TransactionFilter,
} from './store.ts'
import { fitsTransaction } from './transaction-pages.ts'

/**
 * The ordinary reads and lists, written once for every database. Lists are newest first. Payments have no category unless
 * `toTransactions` finds it.
 */
export function prepareReads(
  db: Kysely<Tables>,
  toTransactions: ToTransactions = async (_, rows) => rows.map(toTransaction),
) {
  const sellersOf = ({ accountId, environment }: Scope) =>
    db
      .selectFrom('sellers')
      .selectAll()
      .select(ownerOfDomain.as('owner_id'))
      .where('account_id', '=', accountId)
      .where('environment', '=', environment)

  return {
    async findAgent({ accountId, environment, id }: RecordKey): Promise<Agent | undefined> {
      const row = await db
        .selectFrom('agents')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('environment', '=', environment)
        .where('id', '=', id)
        .executeTakeFirst()
      return row && toAgent(row)
    },

    async findMandate({ accountId, environment, id }: RecordKey): Promise<Mandate | undefined> {
      const row = await db
        .selectFrom('mandates')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('environment', '=', environment)
        .where('id', '=', id)
        .executeTakeFirst()
      return row && toMandate(row)
    },

    async findTransaction(key: RecordKey, filter: TransactionFilter): Promise<Transaction | undefined> {
      const row = await db
        .selectFrom('transactions')
        .selectAll()
        .where('account_id', '=', key.accountId)
        .where('id', '=', key.id)
        .where(fitsTransaction(key, filter))
        .executeTakeFirst()
      return row && (await toTransactions(key, [row]))[0]
    },

    async findProof(proof: Scope & { readonly nonce: string }): Promise<Hold | undefined> {
      const received = await db
        .selectFrom('transactions')
        .select('mandate_id')
        .where('account_id', '=', proof.accountId)
        .where('nonce', '=', proof.nonce)
        .where('side', '=', 'payee')
        .executeTakeFirst()
      const payer =
        received &&
        (await db
          .selectFrom('record_accounts')
          .select('account_id')
          .where('id', '=', received.mandate_id)
          .executeTakeFirst())
      const row = await db
        .selectFrom('holds')
        .selectAll()
        .where('account_id', '=', payer?.account_id ?? proof.accountId)
        .where('environment', '=', proof.environment)
        .where('nonce', '=', proof.nonce)
        .executeTakeFirst()
      return row && toHold(row)
    },

    async ownsDomain({ accountId, environment, domain }: Scope & { readonly domain: string }) {
      const row = await db
        .selectFrom('seller_domains')
        .select('account_id')
        .where('environment', '=', environment)
        .where('domain', '=', domain)
        .executeTakeFirst()
      return row?.account_id === accountId
    },

    async listAccounts(page: Page) {
      return pageOf(await takePage(db.selectFrom('accounts').selectAll(), page), page, toAccount)
    },

    async listSessions({ accountId }: { readonly accountId: string }, nowMs: number, page: Page) {
      const query = db
        .selectFrom('sessions')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('kind', '<>', 'set_up_link')
        .where('ends_at_ms', '>', nowMs)
        .where('used_at_ms', '>', nowMs - sessionIdleMs)
        // A session ends with its key.
        .where(
          sql<boolean>`(key_id is null or key_id in (
            select k.id from api_keys k where k.account_id = ${accountId} and k.revoked_at_ms is null))`,
        )
      return pageOf(await takePage(query, page), page, toSession)
    },

    async listApiKeys({ accountId }: { readonly accountId: string }, page: Page) {
      const query = db.selectFrom('api_keys').selectAll().where('account_id', '=', accountId)
      return pageOf(await takePage(query, page), page, toApiKey)
    },

    async listAgents(scope: Scope, filter: AgentFilter, page: Page) {
      let query = db
        .selectFrom('agents')
        .selectAll()
        .where('account_id', '=', scope.accountId)
        .where('environment', '=', scope.environment)
      if (filter.agentId !== undefined) query = query.where('id', '=', filter.agentId)
      return pageOf(await takePage(query, page), page, toAgent)
    },

    async listMandates(scope: Scope, filter: AgentFilter, page: Page) {
      let query = db
        .selectFrom('mandates')
        .selectAll()
        .where('account_id', '=', scope.accountId)
        .where('environment', '=', scope.environment)
      if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId)
      return pageOf(await takePage(query, page), page, toMandate)
    },

    async listSellers(scope: Scope, page: Page) {
      return pageOf(await takePage(sellersOf(scope), page), page, toListedSeller)
    },

    async findSeller({ domain, ...scope }: OwnDomain) {
      const row = await sellersOf(scope)
        .where('domain', '=', domain)
        .orderBy('id')
        .limit(1)
        .executeTakeFirst()
      return row && toListedSeller(row)
    },

    async listAuditEvents(scope: Scope, filter: AuditFilter, page: Page) {
      const { rows } = await auditEvents(scope, filter, page).execute(db)
      return pageOf(rows, page, toAuditEvent)
    },

    async findLedgerFaults(): Promise<LedgerFault[]> {
      const { rows } = await ledgerFaults.execute(db)
      return rows.map((row) => ({ accountId: row.account_id, subjectId: row.subject_id, fault: row.fault }))
    },
  }
}

/**
 * A page of the audit log, and one event more if there is one, from its two parts: the events that are
 * recorded, and the payments, each of which is its own event. Their ids are ordered by time alike.
 */
function auditEvents(scope: Scope, { type, subjectId }: AuditFilter, { olderThan, limit }: Page) {
  const own = sql`account_id = ${scope.accountId} and environment = ${scope.environment}`
  const ofSubject = subjectId === undefined ? sql`` : sql`and subject_id = ${subjectId}`
  const ofType = type === undefined ? sql`` : sql`and type = ${type}`
  // Said once more, for the index of all other types.
  const isOther =
    type === undefined || type === 'payment.verified' ? sql`` : sql`and type <> 'payment.verified'`
  const older = olderThan === undefined ? sql`` : sql`and id < ${olderThan}`
  const isWhole = type === undefined && subjectId === undefined ? sql`and not ${isPartOfStop}` : sql``
  const olderPayments =
    olderThan === undefined ? sql`` : sql`and subject_id < ${transactionOfEvent(olderThan)}`
  const recorded = sql`
    select * from (
      select * from recorded_events e where ${own} ${ofSubject} ${ofType} ${isOther} ${older} ${isWhole}
      order by id desc limit ${limit + 1}) recorded`
  const payments = sql`
    select * from (
      select * from payment_events where ${own} ${ofSubject} ${olderPayments}
      order by subject_id desc limit ${limit + 1}) payments`
  const hasPayments = type === undefined || type === 'payment.verified'
  return sql<AuditEventRow>`
    ${recorded} ${hasPayments ? sql`union all ${payments}` : sql``} order by id desc limit ${limit + 1}`
}

/**
 * Whether an event `e` is one of the many that a stop or a resumption left, and that its own event sums up. Until that is
 * written, as after a crash half way, they stand by themselves.
 */
const isPartOfStop = sql`(
  e.type in ('mandate.paused', 'mandate.resumed') and replace(e.data, '"stop_id"', '') <> e.data
  and exists (
    select 1 from recorded_events s
    where s.account_id = e.account_id and s.environment = e.environment and s.id > e.id
      and s.type = case e.type when 'mandate.paused' then 'agents.stopped' else 'agents.resumed' end
      and s.type <> 'payment.verified'
      and (s.subject_id = s.account_id or replace(e.data, s.subject_id, '') <> e.data)))`

/** The page's rows, and one more if there is one. Ids are time-ordered, so newest first is by id. */
async function takePage<Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  page: Page,
): Promise<Row[]> {
  const older = page.olderThan === undefined ? query : query.where(sql<boolean>`id < ${page.olderThan}`)
  return older
    .orderBy(sql`id`, 'desc')
    .limit(page.limit + 1)
    .execute()
}

function pageOf<Row extends { id: string }, Item>(
  rows: Row[],
  page: Page,
  toItem: (row: Row) => Item,
): PageOf<Item> {
  const items = rows.slice(0, page.limit)
  return { items: items.map(toItem), next: rows.length > page.limit ? items.at(-1)?.id : undefined }
}

/** Each sum against the records that it sums up, and each record against its counterpart. */
const ledgerFaults = sql<{ account_id: string; subject_id: string; fault: string }>`
  with sent as materialized (
    select account_id, id, seller_account_id, nonce, amount_micro from transactions
    where status = 'paid' and side = 'payer' and seller_account_id <> account_id),
  received as materialized (
    select account_id, id, mandate_id, nonce, amount_micro from transactions where side = 'payee')
  select m.account_id, m.id as subject_id, 'spent differs from the sum of its paid transactions' as fault
  from mandates m left join (
    select account_id, mandate_id, sum(amount_micro) as sum_micro from transactions
    where status = 'paid' and side = 'payer' group by account_id, mandate_id) paid
    on paid.account_id = m.account_id and paid.mandate_id = m.id
  where m.spent_micro <> coalesce(paid.sum_micro, 0)
  union all
  select m.account_id, m.id, 'held differs from the sum of its open holds'
  from mandates m left join (
    select account_id, mandate_id, sum(amount_micro) as sum_micro from holds
    where status = 'open' group by account_id, mandate_id) held
    on held.account_id = m.account_id and held.mandate_id = m.id
  where m.held_micro <> coalesce(held.sum_micro, 0)
  union all
  select account_id, id, 'spent and held exceed the total budget'
  from mandates where spent_micro + held_micro > max_total_micro
  union all
  select h.account_id, h.nonce, 'captured without its paid transaction'
  from holds h left join transactions t
    on t.account_id = h.account_id and t.id = h.transaction_id
      and t.status = 'paid' and t.amount_micro = h.amount_micro
  where h.status = 'captured' and t.id is null
  union all
  select t.account_id, t.id, 'paid without its captured hold'
  from transactions t left join holds h
    on h.account_id = t.account_id and h.nonce = t.nonce and h.transaction_id = t.id and h.status = 'captured'
  where t.status = 'paid' and t.side = 'payer' and h.nonce is null
  union all
  select t.account_id, t.id, 'paid without its audit event'
  from transactions t left join recorded_events e
    on e.account_id = t.account_id and e.subject_id = t.id and e.type = 'payment.verified'
  where t.status = 'paid' and t.side = 'payer' and t.collected_by is null and e.id is null
  union all
  select t.account_id, t.id, 'paid to another account without its copy there'
  from sent t left join received c
    on c.account_id = t.seller_account_id and c.id = t.id
      and c.nonce = t.nonce and c.amount_micro = t.amount_micro
  where c.id is null
  union all
  select c.account_id, c.id, 'received without the payment that it is a copy of'
  from received c
    left join record_accounts r on r.id = c.mandate_id
    left join sent t on t.account_id = r.account_id and t.id = c.id and t.seller_account_id = c.account_id
  where t.id is null`
