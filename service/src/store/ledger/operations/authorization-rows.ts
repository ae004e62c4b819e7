import { range } from '../operation.ts'
import { authorizations, type MandateRow, type PaymentRow } from '../tables.ts'

// Each authorized payment of a mandate has a row in `authorizations`, ordered by deadline.

/** How many overdue payments one call releases. The next call releases more. */
const maxReleased = 200

/** The row of an authorized payment. */
export function authorizationOf({ accountId, mandateId, captureDeadlineMs, nonce }: PaymentRow) {
  return { accountId, mandateId, deadlineMs: captureDeadlineMs ?? 0, nonce }
}

/** The first authorized payments of a mandate whose deadline has passed. */
export function overdueOf({ accountId, id: mandateId }: MandateRow, upTo: number) {
  return range(authorizations, {
    where: { accountId, mandateId },
    orderBy: 'deadlineMs',
    upTo,
    limit: maxReleased,
  })
}
