import { transactionOfEvent } from '../../domain/audit.ts'
import type { AuditEvent, Scope } from '../../domain/records.ts'
import type { prepareReads } from '../reads.ts'
import { toAuditEvent, type AuditEventRow } from '../rows.ts'
import type { AuditFilter, Page, PageOf } from '../store.ts'
import type { SqliteDatabase } from './open.ts'

/**
 * The audit log, from its two parts: the events that are recorded, and the payments, each of which is its
 * own event. The ids of both are ordered by time, those of payments as the transactions are.
 */
export function prepareAuditLog(
  db: SqliteDatabase,
  recorded: Pick<ReturnType<typeof prepareReads>, 'listAuditEvents'>,
) {
  const selectPayments = db.prepare<[string, string, string, number], AuditEventRow>(`
    select * from payment_events where account_id = ? and environment = ? and subject_id < ?
    order by subject_id desc limit ?`)
  const selectPayment = db.prepare<[string, string, string, string], AuditEventRow>(`
    select * from payment_events where account_id = ? and environment = ? and subject_id < ? and subject_id = ?`)

  function readPayments({ accountId, environment }: Scope, { subjectId }: AuditFilter, page: Page) {
    const olderThan = page.olderThan === undefined ? '\uffff' : transactionOfEvent(page.olderThan)
    return subjectId === undefined
      ? selectPayments.all(accountId, environment, olderThan, page.limit + 1)
      : selectPayment.all(accountId, environment, olderThan, subjectId)
  }

  return {
    async listAuditEvents(scope: Scope, filter: AuditFilter, page: Page): Promise<PageOf<AuditEvent>> {
      const others = await recorded.listAuditEvents(scope, filter, page)
      if (filter.type !== undefined && filter.type !== 'payment.verified') return others
      const payments = readPayments(scope, filter, page).map(toAuditEvent)
      const newestFirst = [...others.items, ...payments].sort((left, right) => (left.id < right.id ? 1 : -1))
      const items = newestFirst.slice(0, page.limit)
      const hasMore = others.next !== undefined || newestFirst.length > page.limit
      return { items, next: hasMore ? items.at(-1)?.id : undefined }
    },
  }
}
