import { eventOfTransaction, transactionOfEvent } from '../../../domain/audit.ts'
import type { AuditEvent, Scope } from '../../../domain/records.ts'
import type { AuditFilter, Page, StoreReads } from '../../store.ts'
import { auditEvents, entries, mandates, payments, refunds, type PaymentRow } from '../tables.ts'
import { capturedTextOf } from './records.ts'
import { columnsOf, firstId, from, id, idFrom, inScope, ofAccount, rowsOf } from './rows.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** Max entries that a page reads for payments: a page with few of them is short, and has a next page. */
const maxLookedAt = 1_000

/** The audit log: recorded events, and the payments of the journal, each of which doubles as its event. */
export function prepareAuditLog(db: Reader) {
  function findRecorded(scope: Scope, { type, subjectId }: AuditFilter, { limit, olderThan }: Page) {
    const conditions = [inScope(scope)]
    if (subjectId !== undefined) conditions.push(sql`subject_id = ${subjectId}`)
    if (type !== undefined) conditions.push(sql`type = ${type}`)
    if (olderThan !== undefined) conditions.push(sql`id < ${firstId('auditEvent', olderThan)}`)
    if (type === undefined && subjectId === undefined)
      conditions.push(sql`not ${isPartOfStop(scope.accountId)}`)
    return rowsOf(
      db,
      auditEvents,
      sql`select ${columnsOf(auditEvents)} from ${from(auditEvents)} e
        where ${sql.join(conditions, sql` and `)} order by id desc limit ${sql.lit(limit + 1)}`,
    )
  }

  /** The payments of a page, and the last entry that was read, if there are more. */
  async function findPayments(
    { accountId, environment }: Scope,
    { subjectId }: AuditFilter,
    { limit, olderThan }: Page,
  ): Promise<{ readonly events: readonly AuditEvent[]; readonly lookedUpTo: string | undefined }> {
    const conditions = [ofAccount(accountId)]
    if (subjectId !== undefined) conditions.push(sql`id = ${id('transaction', subjectId)}`)
    if (olderThan !== undefined) {
      const transaction = olderThan.includes('_') ? transactionOfEvent(olderThan) : olderThan
      conditions.push(sql`id < ${firstId('transaction', transaction)}`)
    }
    const source = sql`from ${from(entries)} where ${sql.join(conditions, sql` and `)} order by id desc`
    const paid = await rowsOf(
      db,
      payments,
      sql`select ${columnsOf(payments, 'p')} from (
          select id, nonce from (select * ${source} limit ${sql.lit(maxLookedAt)}) looked_at
          where kind = 'paid' and environment = ${environment}
          order by id desc limit ${sql.lit(limit + 1)}) e
        join ${from(payments)} p on p.account_id = ${id('account', accountId)} and p.nonce = e.nonce
        order by e.id desc`,
    )
    const events = paid.map(toEvent)
    if (paid.length > limit) return { events, lookedUpTo: undefined }
    const { rows: end } = await sql<{ id: unknown }>`
      select id ${source} limit 1 offset ${sql.lit(maxLookedAt - 1)}`.execute(db)
    const isMoreLeft =
      end[0] !== undefined && (paid.length > 0 || (await hasPaid({ accountId, environment })))
    return { events, lookedUpTo: isMoreLeft ? idFrom('auditEvent', end[0]?.id) : undefined }
  }

  /** Whether anything was paid at all. */
  async function hasPaid(scope: Scope): Promise<boolean> {
    const { rows } = await sql`
      select 1 from ${from(mandates)} where ${inScope(scope)} and spent_micro > 0
      union all select 1 from ${from(refunds)} where ${inScope(scope)} limit 1`.execute(db)
    return rows.length > 0
  }

  return {
    async listAuditEvents(scope, filter, page) {
      const { type } = filter
      const none = { events: [], lookedUpTo: undefined }
      const [recorded, paid] = await Promise.all([
        type === 'payment.verified' ? [] : findRecorded(scope, filter, page),
        type === undefined || type === 'payment.verified' ? findPayments(scope, filter, page) : none,
      ])
      // Events before the last payment that was read are left to the next page.
      const first = paid.lookedUpTo ?? ''
      const found = [...recorded, ...paid.events]
        .filter((event) => event.id >= first)
        .sort((left, right) => (left.id < right.id ? 1 : -1))
      const items = found.slice(0, page.limit)
      return { items, next: found.length > page.limit ? items.at(-1)?.id : paid.lookedUpTo }
    },
  } satisfies Partial<StoreReads>
}

/**
 * Whether an event `e` is one of the many of a stop or a resumption, summarized by its own event. Until
 * that is written, for example after a crash, they are listed separately.
 */
function isPartOfStop(accountId: string): Sql {
  return sql`(
    e.type in ('mandate.paused', 'mandate.resumed') and replace(e.data, '"stop_id"', '') <> e.data
    and exists (
      select 1 from ${from(auditEvents)} s
      where s.account_id = e.account_id and s.environment = e.environment and s.id > e.id
        and s.type = case e.type when 'mandate.paused' then 'agents.stopped' else 'agents.resumed' end
        and (s.subject_id = ${accountId} or replace(e.data, s.subject_id, '') <> e.data)))`
}

/** The event of a captured payment, whose id is that of the transaction with another prefix. */
function toEvent(payment: PaymentRow): AuditEvent {
  const { accountId, environment, agentId, mandateId, currency, merchantDomain, nonce } = payment
  const transactionId = payment.transactionId ?? ''
  return {
    accountId,
    environment,
    id: eventOfTransaction(transactionId),
    type: 'payment.verified',
    actor: payment.capturedBy ?? '',
    subjectId: transactionId,
    data: {
      agent_id: agentId,
      mandate_id: mandateId,
      amount: capturedTextOf(payment),
      currency,
      merchant_domain: merchantDomain,
      nonce,
    },
    createdAtMs: payment.capturedAtMs ?? 0,
  }
}
