import { eventOfTransaction, transactionOfEvent } from '../../../domain/audit.ts'
import type { AuditEvent, Scope } from '../../../domain/records.ts'
import type { AuditFilter, Page, PageOf, StoreReads } from '../../store.ts'
import { auditEvents, entries, payments, type PaymentRow } from '../tables.ts'
import { hasPaid } from './console-figures.ts'
import type { LedgerReader } from './ledger-reader.ts'
import { listRows } from './pages.ts'
import { capturedTextOf } from './records.ts'
import { findRows, from, id, ids, inScope, ofAccount } from './rows.ts'
import { sql, type Sql } from '../../sql.ts'

/** Max entries that a page reads for payments: a page with few of them is short, and has a next page. */
const maxLookedAt = 1_000

/** The audit log: recorded events, and the payments of the journal, each of which doubles as its event. */
export function prepareAuditLog(db: LedgerReader) {
  function listRecorded(scope: Scope, { type, subjectId }: AuditFilter, page: Page) {
    const isFiltered = type !== undefined || subjectId !== undefined
    const where = sql.and(
      inScope(scope),
      subjectId !== undefined && sql`subject_id = ${subjectId}`,
      type !== undefined && sql`type = ${type}`,
    )
    const fits = isFiltered ? undefined : sql`not ${isPartOfStop(scope.accountId)}`
    return listRows(db, { table: auditEvents, where, fits }, page)
  }

  async function listPayments(
    scope: Scope,
    { subjectId }: AuditFilter,
    { limit, olderThan }: Page,
  ): Promise<PageOf<AuditEvent>> {
    const own = ofAccount(scope.accountId)
    const list = {
      table: entries,
      where: sql.and(own, subjectId !== undefined && sql`id = ${id('transaction', subjectId)}`),
      fits: sql`kind = 'paid' and environment = ${scope.environment}`,
      maxLookedAt,
    }
    const older = olderThan?.includes('_') ? transactionOfEvent(olderThan) : olderThan
    const { items, next } = await listRows(db, list, { limit, olderThan: older })
    const nonces = items.flatMap(({ nonce }) => nonce ?? [])
    const paid = await findRows(db, payments, sql`${own} and nonce in (${ids('nonce', nonces)})`)
    const isMoreLeft = next !== undefined && (items.length > 0 || (await hasPaid(db, scope)))
    return { items: paid.map(toEvent), next: isMoreLeft ? eventOfTransaction(next) : undefined }
  }

  return {
    async listAuditEvents(scope, filter, page) {
      const { type } = filter
      const none: PageOf<AuditEvent> = { items: [], next: undefined }
      const [recorded, paid] = await Promise.all([
        type === 'payment.verified' ? none : listRecorded(scope, filter, page),
        type === undefined || type === 'payment.verified' ? listPayments(scope, filter, page) : none,
      ])
      return merge(recorded, paid, page.limit)
    },
  } satisfies Partial<StoreReads>
}

/** Two pages as one. Events before the last one that either page has read are left to the next page. */
function merge(one: PageOf<AuditEvent>, other: PageOf<AuditEvent>, limit: number): PageOf<AuditEvent> {
  const ends = [one.next, other.next].filter((next) => next !== undefined)
  const last = ends.sort().at(-1)
  const found = [...one.items, ...other.items]
    .filter((event) => last === undefined || event.id >= last)
    .sort((left, right) => (left.id < right.id ? 1 : -1))
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? items.at(-1)?.id : last }
}

/**
 * Whether a listed event is one of the many of a stop or a resumption, summarized by its own event. Until
 * that is written, for example after a crash, they are listed separately. The account is a parameter, because Citus refuses
 * a condition that takes it from the listed row.
 */
function isPartOfStop(accountId: string): Sql {
  return sql`(
    looked_at.type in ('mandate.paused', 'mandate.resumed') and replace(looked_at.data, '"stop_id"', '') <> looked_at.data
    and exists (
      select 1 from ${from(auditEvents)} s
      where s.account_id = ${id('account', accountId)} and s.environment = looked_at.environment and s.id > looked_at.id
        and s.type = case looked_at.type when 'mandate.paused' then 'agents.stopped' else 'agents.resumed' end
        and (s.subject_id = ${accountId} or replace(looked_at.data, s.subject_id, '') <> looked_at.data)))`
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
