import type { NamedTransaction } from '@purser/client'

import { readMicro } from '../../text/amounts.ts'

/** Max time between an approval and a payment of the same purchase. */
const foldingMs = 10 * 60_000

/** A row of the list: a transaction, and for a payment the approval of the same purchase. */
export interface PurchaseRow extends NamedTransaction {
  readonly approval?: NamedTransaction
  /** Whether this is the approval of the expanded row above. */
  readonly isApprovalOfAbove?: boolean
}

/**
 * Transactions, newest first, with each payment and its approval in one row. They are separate records
 * without references to each other, so they are matched: same agent, mandate, seller, resource, currency and
 * amount, approved at most ten minutes before the payment. Each approval matches one payment, the oldest with
 * the oldest; unmatched records keep their own rows.
 */
export function foldPurchases(newestFirst: readonly NamedTransaction[]): PurchaseRow[] {
  const waiting = new Map<string, NamedTransaction[]>()
  const approvalOf = new Map<string, NamedTransaction>()
  for (const one of newestFirst.toReversed()) {
    if (one.status !== 'approved' && one.status !== 'paid') continue
    const key = purchaseKey(one)
    const approvals = waiting.get(key) ?? []
    if (one.status === 'approved') {
      waiting.set(key, [...approvals, one])
      continue
    }
    const paidAtMs = Date.parse(one.created_at)
    const current = approvals.filter(({ created_at }) => paidAtMs - Date.parse(created_at) <= foldingMs)
    const [approval, ...rest] = current
    if (approval) approvalOf.set(one.id, approval)
    waiting.set(key, rest)
  }
  const folded = new Set([...approvalOf.values()].map(({ id }) => id))
  return newestFirst.flatMap((one) => {
    if (folded.has(one.id)) return []
    const approval = approvalOf.get(one.id)
    return [approval ? { ...one, approval } : one]
  })
}

/** Inserts the approval below each expanded payment. */
export function openPurchases(rows: readonly PurchaseRow[], openIds: ReadonlySet<string>): PurchaseRow[] {
  return rows.flatMap((row) =>
    row.approval && openIds.has(row.id) ? [row, { ...row.approval, isApprovalOfAbove: true }] : [row],
  )
}

function purchaseKey(one: NamedTransaction): string {
  const amount = String(readMicro(one.amount) ?? one.amount)
  return JSON.stringify([
    one.agent_id,
    one.mandate_id,
    one.merchant_domain,
    one.resource_url,
    one.currency,
    amount,
  ])
}
