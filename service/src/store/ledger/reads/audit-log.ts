import { transactionOfEvent } from '../../../domain/audit.ts'
import type { MicroUsdc } from '../../../domain/money.ts'
import type { AuditEvent, Scope } from '../../../domain/records.ts'
import { idBytes } from '../../../domain/type-id.ts'
import type { AuditFilter, Page, PageOf } from '../../store.ts'
import { auditEvents, entries, mandates, payments, refunds } from '../tables.ts'
import { boundOf, columnsOf, findRows, idFrom, idOf, tableOf, valueOf, type ReadDialect } from './dialect.ts'
import { pageOf } from './lists.ts'
import { capturedTextOf, toAuditEvent } from './records.ts'
import { sql, type Reader } from '../../sql.ts'

/** The audit log: recorded events, and the payments of the journal, each of which doubles as its event. */
export function prepareAuditLog(db: Reader, dialect: ReadDialect) {
  const id = (kind: 'account' | 'transaction', text: string) => idOf(dialect, kind, text)

  function findRecorded(scope: Scope, { type, subjectId }: AuditFilter, { limit, olderThan }: Page) {
    const conditions = [
      sql`account_id = ${id('account', scope.accountId)}`,
      sql`environment = ${scope.environment}`,
    ]
    if (subjectId !== undefined) conditions.push(sql`subject_id = ${subjectId}`)
    if (type !== undefined) conditions.push(sql`type = ${type}`)
    if (olderThan !== undefined) conditions.push(sql`id < ${boundOf(dialect, 'auditEvent', olderThan)}`)
    if (type === undefined && subjectId === undefined)
      conditions.push(sql`not ${isPartOfStop(scope.accountId)}`)
    return findRows(
      db,
      auditEvents,
      sql`select ${columnsOf(auditEvents, 'e')} from ${tableOf(dialect, auditEvents)} e
        where ${sql.join(conditions, sql` and `)} order by id desc limit ${sql.lit(limit + 1)}`,
    )
  }

  /** The payments of a page, and the last entry that was read, if there are more. */
  async function findPayments(
    { accountId, environment }: Scope,
    { subjectId }: AuditFilter,
    { limit, olderThan }: Page,
  ): Promise<{ readonly events: readonly AuditEvent[]; readonly lookedUpTo: string | undefined }> {
    if (subjectId !== undefined && idBytes('transaction', subjectId) === undefined) {
      return { events: [], lookedUpTo: undefined }
    }
    const conditions = [sql`account_id = ${id('account', accountId)}`]
    if (subjectId !== undefined) conditions.push(sql`id = ${id('transaction', subjectId)}`)
    if (olderThan !== undefined) {
      const transaction = olderThan.includes('_') ? transactionOfEvent(olderThan) : olderThan
      conditions.push(sql`id < ${boundOf(dialect, 'transaction', transaction)}`)
    }
    const source = sql`from ${tableOf(dialect, entries)} where ${sql.join(conditions, sql` and `)} order by id desc`
    const { rows } = await sql<PaymentEventRow>`
      select e.id, e.at_ms, p.captured_by, p.agent_id, p.mandate_id, p.amount_text, p.captured_micro, p.currency, p.merchant_domain, p.nonce
      from (
        select id, nonce, at_ms from (
          select id, nonce, at_ms, kind, environment ${source} limit ${sql.lit(maxLookedAt)}) looked_at
        where kind = 'paid' and environment = ${environment}
        order by id desc limit ${sql.lit(limit + 1)}) e
      join ${tableOf(dialect, payments)} p on p.account_id = ${id('account', accountId)} and p.nonce = e.nonce
      order by e.id desc`.execute(db)
    const events = rows.map((row) => toEvent({ accountId, environment }, row))
    if (rows.length > limit) return { events, lookedUpTo: undefined }
    const { rows: end } = await sql<{ id: unknown }>`
      select id ${source} limit 1 offset ${sql.lit(maxLookedAt - 1)}`.execute(db)
    const isMoreLeft =
      end[0] !== undefined && (rows.length > 0 || (await hasPaid({ accountId, environment })))
    return { events, lookedUpTo: isMoreLeft ? idFrom('auditEvent', end[0]?.id) : undefined }
  }

  /** Whether anything was paid at all. */
  async function hasPaid({ accountId, environment }: Scope): Promise<boolean> {
    const { rows } = await sql`
      select 1 from ${tableOf(dialect, mandates)}
      where account_id = ${id('account', accountId)} and environment = ${environment} and spent_micro > 0
      union all select 1 from ${tableOf(dialect, refunds)}
      where account_id = ${id('account', accountId)} and environment = ${environment}
      limit 1`.execute(db)
    return rows.length > 0
  }

  /**
   * Whether an event `e` is one of the many of a stop or a resumption, summarized by its own event. Until
   * that is written, for example after a crash, they are listed separately.
   */
  const isPartOfStop = (accountId: string) => sql`(
    e.type in ('mandate.paused', 'mandate.resumed') and replace(e.data, '"stop_id"', '') <> e.data
    and exists (
      select 1 from ${tableOf(dialect, auditEvents)} s
      where s.account_id = e.account_id and s.environment = e.environment and s.id > e.id
        and s.type = case e.type when 'mandate.paused' then 'agents.stopped' else 'agents.resumed' end
        and (s.subject_id = ${accountId} or replace(e.data, s.subject_id, '') <> e.data)))`

  return {
    async listAuditEvents(scope: Scope, filter: AuditFilter, page: Page): Promise<PageOf<AuditEvent>> {
      const { type } = filter
      const none = { events: [], lookedUpTo: undefined }
      const [recorded, paid] = await Promise.all([
        type === 'payment.verified' ? [] : findRecorded(scope, filter, page),
        type === undefined || type === 'payment.verified' ? findPayments(scope, filter, page) : none,
      ])
      // Events before the last payment that was read are left to the next page.
      const first = paid.lookedUpTo ?? ''
      const found = [...recorded.map(toAuditEvent), ...paid.events]
        .filter(({ id }) => id >= first)
        .sort((left, right) => (left.id < right.id ? 1 : -1))
      const { items, next } = pageOf(found.slice(0, page.limit + 1), page, (event) => event)
      return { items, next: next ?? paid.lookedUpTo }
    },
  }
}

function toEvent({ accountId, environment }: Scope, row: PaymentEventRow): AuditEvent {
  return {
    accountId,
    environment,
    id: idFrom('auditEvent', row.id),
    type: 'payment.verified',
    actor: row.captured_by,
    subjectId: idFrom('transaction', row.id),
    data: {
      agent_id: idFrom('agent', row.agent_id),
      mandate_id: idFrom('mandate', row.mandate_id),
      amount: capturedTextOf({
        amountText: row.amount_text,
        capturedMicro: valueOf(payments.columns.capturedMicro, row.captured_micro) as MicroUsdc | null,
      }),
      currency: row.currency,
      merchant_domain: row.merchant_domain,
      nonce: idFrom('nonce', row.nonce),
    },
    createdAtMs: Number(row.at_ms),
  }
}

/** Max entries that a page reads for payments: a page with few of them is short, and has a next page. */
const maxLookedAt = 1_000

interface PaymentEventRow {
  readonly id: unknown
  readonly at_ms: unknown
  readonly captured_by: string
  readonly agent_id: unknown
  readonly mandate_id: unknown
  readonly amount_text: string
  readonly captured_micro: unknown
  readonly currency: string
  readonly merchant_domain: string
  readonly nonce: unknown
}
