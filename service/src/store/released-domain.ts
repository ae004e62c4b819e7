import type { AuditEvent, RegisteredSeller } from '../domain/records.ts'
import type { ReleaseEvents } from './store.ts'

/**
 * The events of a release: one for the operator, and one for the seller's account if that is a different one.
 */
export function eventsOfRelease(
  { own, theirs }: ReleaseEvents,
  { accountId, id: subjectId }: RegisteredSeller,
  domain: string,
): AuditEvent[] {
  const operatorEvent = { ...own, subjectId, data: { domain, account_id: accountId } }
  if (accountId === own.accountId) return [operatorEvent]
  return [operatorEvent, { ...theirs, accountId, subjectId, data: { domain } }]
}
