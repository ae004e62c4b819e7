import type { QueryConfig } from 'pg'

import { enqueueRecorded } from './activity-acts.ts'
import { readBatchFacts } from './batch-questions.ts'
import type { Expectations } from './expectations.ts'
import {
  callsOf,
  recordedBy,
  decidePayments,
  type BatchWrites,
  type Payment,
  type PaymentOutcome,
} from './payment-decisions.ts'
import {
  captureHolds,
  endExpired,
  insertEvaluations,
  insertHolds,
  insertPaidSellers,
  overtakeCaptures,
  paidSellerOf,
  type PaidSeller,
} from './payment-statements.ts'
import type { PaidSellers } from './paid-sellers.ts'
import type { Transaction } from './transaction.ts'

/** What a process remembers of the batches before. */
export interface Remembered {
  readonly paidSellers: PaidSellers
  readonly expectations: Expectations
}

/**
 * Writes payments as one transaction of two round trips: everything that they look at is read, they are
 * decided one after the other, each on what those before it leave, and everything is written.
 */
export async function writePayments(
  transaction: Transaction,
  payments: readonly Payment[],
  { paidSellers, expectations }: Remembered,
): Promise<PaymentOutcome[]> {
  const facts = await readBatchFacts(transaction, callsOf(payments))
  const { outcomes, writes } = decidePayments(payments, facts)
  const newlyPaid = paidSellers.unknownOf(writes.captured.map(paidSellerOf))
  await transaction.commit(...statementsOf(writes, newlyPaid))
  paidSellers.remember(newlyPaid)
  for (const mandate of facts.locked()) expectations.rememberMandate(mandate.id, mandate.allowed_sellers)
  // Only of what was paid, so that a flood of other names drives nothing out.
  for (const { hold, merchantDomain } of writes.captured) {
    const seller = facts.sellerOf(hold.environment, merchantDomain)
    expectations.rememberSeller(hold.environment, merchantDomain, seller)
  }
  return outcomes
}

/** What gives amounts back comes first, so that no sum exceeds its budget on the way. */
function statementsOf(
  { expired, overtaken, granted, captured, evaluated }: BatchWrites,
  newlyPaid: readonly PaidSeller[],
): QueryConfig[] {
  const statements: QueryConfig[] = []
  if (expired.size > 0) statements.push(endExpired([...expired.values()]))
  if (overtaken.length > 0) statements.push(overtakeCaptures(overtaken))
  if (captured.length > 0) statements.push(captureHolds(captured))
  if (newlyPaid.length > 0) statements.push(insertPaidSellers(newlyPaid))
  if (granted.length > 0) statements.push(insertHolds(granted))
  if (evaluated.length > 0) statements.push(insertEvaluations(evaluated))
  for (const [accountId, ids] of recordedBy({ captured, evaluated })) {
    statements.push(enqueueRecorded(accountId, ids))
  }
  return statements
}
