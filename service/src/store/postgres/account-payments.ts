import type { TransactionRow } from '../rows.ts'
import { enqueueRecorded } from './activity-acts.ts'
import { readAccountFacts } from './account-questions.ts'
import {
  captureHoldsOf,
  changeSumsOf,
  expireHoldsOf,
  insertHoldsOf,
  insertPaidSellersOf,
  insertTransactionsOf,
  type SumsChange,
  type Write,
} from './account-statements.ts'
import {
  callsOf,
  recordedBy,
  decidePayments,
  type BatchWrites,
  type Payment,
  type PaymentOutcome,
} from './payment-decisions.ts'
import type { PaidSellers } from './paid-sellers.ts'
import {
  paidSellerOf,
  type CapturedPayment,
  type ExpiredHold,
  type PaidSeller,
} from './payment-statements.ts'
import type { Transaction } from './transaction.ts'

/**
 * Writes payments of one account as one transaction of three round trips: everything that they look at is
 * read, everything is written, and once each statement has changed the rows that it must, it is committed.
 */
export async function writeAccountPayments(
  transaction: Transaction,
  accountId: string,
  payments: readonly Payment[],
  paidSellers: PaidSellers,
): Promise<PaymentOutcome[]> {
  const facts = await readAccountFacts(transaction, accountId, callsOf(payments))
  const { outcomes, writes } = decidePayments(payments, facts)
  const newlyPaid = paidSellers.unknownOf(writes.captured.map(paidSellerOf))
  const statements = statementsOf(accountId, writes, newlyPaid)
  if (statements.length > 0) await send(transaction, statements)
  await transaction.commit()
  paidSellers.remember(newlyPaid)
  return outcomes
}

/** Sends what is written, all in one round trip. Throws when a statement has not changed the rows that it must. */
export async function send(transaction: Transaction, statements: readonly Write[]): Promise<void> {
  const answers = await transaction.ask(...statements)
  for (const [index, { name, expectedRows }] of statements.entries()) {
    const changed = answers[index]?.rowCount
    if (expectedRows === undefined || changed === expectedRows) continue
    throw new Error(`${name} changed ${changed} rows and not ${expectedRows}`)
  }
}

function statementsOf(accountId: string, writes: BatchWrites, newlyPaid: readonly PaidSeller[]): Write[] {
  const expired = [...writes.expired.values()]
  const { granted, captured, evaluated } = writes
  const changes = changesOf({ ...writes, expired })
  const records = [...evaluated, ...captured.map(({ payer }) => payer)]
  const statements: Write[] = []
  if (expired.length > 0) statements.push(expireHoldsOf(accountId, expired))
  if (captured.length > 0) statements.push(captureHoldsOf(accountId, captured))
  if (changes.length > 0) statements.push(changeSumsOf(accountId, changes))
  if (granted.length > 0) statements.push(insertHoldsOf(accountId, granted))
  if (records.length > 0) statements.push(insertTransactionsOf(accountId, records))
  if (newlyPaid.length > 0) statements.push(insertPaidSellersOf(accountId, newlyPaid))
  // A payment between two accounts stands in both.
  for (const [payee, copies] of copiesOf(captured)) {
    statements.push(insertTransactionsOf(payee, copies))
  }
  for (const [recordedIn, ids] of recordedBy({ captured, evaluated })) {
    statements.push({ ...enqueueRecorded(recordedIn, ids), expectedRows: 1 })
  }
  return statements
}

/** What the batch adds to each mandate's sums, all of it at once, so that no sum exceeds its budget on the way. */
export function changesOf({
  expired,
  granted,
  captured,
}: Pick<BatchWrites, 'granted' | 'captured'> & { readonly expired: readonly ExpiredHold[] }): SumsChange[] {
  const changes = new Map<string, SumsChange>()
  function add(mandateId: string, { spentMicro = 0n, heldMicro = 0n }: Partial<SumsChange>): void {
    const before = changes.get(mandateId)
    changes.set(mandateId, {
      mandateId,
      spentMicro: (before?.spentMicro ?? 0n) + spentMicro,
      heldMicro: (before?.heldMicro ?? 0n) + heldMicro,
    })
  }
  for (const hold of expired) add(hold.mandate_id, { heldMicro: -BigInt(hold.amount_micro) })
  for (const hold of granted) add(hold.mandateId, { heldMicro: hold.amountMicro })
  for (const { hold } of captured) {
    const amountMicro = BigInt(hold.amount_micro)
    add(hold.mandate_id, { spentMicro: amountMicro, heldMicro: -amountMicro })
  }
  return [...changes.values()]
}

/** The payees' copies of payments to other accounts, by payee. */
function copiesOf(captured: readonly CapturedPayment[]): Map<string, TransactionRow[]> {
  const copies = new Map<string, TransactionRow[]>()
  for (const { payer } of captured) {
    const { seller_account_id: payee } = payer
    if (payee === null || payee === payer.account_id) continue
    const copy = { ...payer, account_id: payee, side: 'payee' as const, collected_by: null }
    copies.set(payee, [...(copies.get(payee) ?? []), copy])
  }
  return copies
}
