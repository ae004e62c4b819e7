import type { Limit } from '../../src/domain/limits.ts'
import { parseAmount } from '../../src/domain/money.ts'
import { isOfOtherAccount, type EntryKind } from '../../src/store/ledger/activity.ts'
import { isEndedByBudget } from '../../src/store/ledger/operations/bookings.ts'
import { statusOf } from '../../src/store/ledger/operations/payment-rows.ts'
import { denialId, maxDenialsPerMinute } from '../../src/store/ledger/operations/denials.ts'
import { keyText, type Table, type TableKey, type TableRow } from '../../src/store/ledger/table.ts'
import {
  agents,
  approvals,
  auditEvents,
  budgets,
  budgetUsage,
  entries,
  evaluations,
  mandates,
  mandateVersions,
  payments,
  subjectUsage,
  type MandateRow,
  type PaymentRow,
} from '../../src/store/ledger/tables.ts'
import { recountRows } from '../limits/stored-limits.ts'
import type { LedgerContent } from './history.ts'

export interface ReadOptions {
  readonly readAtMs: number
  readonly sweptUntilMs: number
  /** The time at which proofs are read; without it, an expired one is open until a sweep has ended it. */
  readonly statusAtMs?: number
  readonly clockSkewMs?: number
  /**
   * When each payment was requested and captured, by its nonce and its transaction, if the services' clocks
   * may be wrong.
   */
  readonly madeAtMs?: ReadonlyMap<string, number>
  /** When each was committed, where that is known. */
  readonly writtenAtMs?: ReadonlyMap<string, number>
  /** When the amount of each proof that was not captured was released, by its nonce, where that is known. */
  readonly releasedAtMs?: ReadonlyMap<string, number>
}

/** The transaction status of each kind of entry. */
const statuses: Readonly<Record<EntryKind, string>> = {
  approved: 'approved',
  denied: 'denied',
  more_denied: 'more_denied',
  paid: 'paid',
  received: 'paid',
  refunded: 'refunded',
  refund_sent: 'refunded',
}

/** The tables that the checker reads. */
export const checkedTables: readonly Table[] = [
  agents,
  mandates,
  mandateVersions,
  budgets,
  budgetUsage,
  subjectUsage,
  approvals,
  payments,
  evaluations,
  entries,
  auditEvents,
]

/** The contents of a ledger for the checker, from all rows of its tables, without a service. */
export function readContent(
  allRows: (table: Table) => readonly unknown[],
  options: ReadOptions,
): LedgerContent {
  const { readAtMs, sweptUntilMs, statusAtMs = 0, clockSkewMs = 0 } = options
  const { madeAtMs = new Map<string, number>(), writtenAtMs, releasedAtMs } = options
  const rowsOf = <Of extends Table>(table: Of) => allRows(table) as readonly TableRow<Of>[]
  const mandateOf = new Map(rowsOf(mandates).map((mandate) => [mandate.id, mandate]))
  const facts = {
    row: <Of extends Table>(table: Of, key: TableKey<Of>) =>
      rowsOf(table).find((row) => keyText(table, row) === keyText(table, key)),
  }
  // A frozen budget ends payments at once; their rows change when their mandate is next used.
  const endedIds = new Set(
    rowsOf(mandates).flatMap((mandate) => (isEndedByBudget(mandate, facts) ? [mandate.id] : [])),
  )
  const statusNow = (payment: PaymentRow, mandate: MandateRow) =>
    payment.status === 'open' && endedIds.has(mandate.id) ? 'voided' : statusOf(payment, mandate, statusAtMs)
  const betweenAccounts = new Set(
    rowsOf(payments).flatMap(({ nonce, sellerAccountId, accountId }) =>
      sellerAccountId !== null && sellerAccountId !== accountId ? [nonce] : [],
    ),
  )
  const deniedProofs = new Set(
    rowsOf(evaluations).flatMap(({ id, subject }) => (subject === 'proof' ? [id] : [])),
  )
  const denialEntries = rowsOf(entries).filter(
    ({ id, kind }) => kind === 'more_denied' || deniedProofs.has(id),
  )
  const paid = rowsOf(entries).filter(({ kind }) => kind === 'paid')
  return {
    readAtMs,
    sweptUntilMs,
    agents: rowsOf(agents).map(({ id, status }) => ({ id, status })),
    mandates: rowsOf(mandates).map((mandate) => ({
      ...mandate,
      heldMicro: endedIds.has(mandate.id) ? 0n : mandate.heldMicro,
      maxPaymentMicro: mandate.maxPerTransactionMicro,
      approveAboveMicro: mandate.approval?.above == null ? null : parseAmount(mandate.approval.above),
      limitMicro: maxOf(mandate.limits),
      budgetId: mandate.budgetPath?.[0] ?? null,
    })),
    budgets: rowsOf(budgets).map(({ id, limits }) => ({ id, maxMicro: maxOf(limits) ?? 0n })),
    limitFaults: recountRows({
      mandates: rowsOf(mandates),
      subjects: rowsOf(subjectUsage),
      budgets: rowsOf(budgets),
      budgetUsage: rowsOf(budgetUsage),
      payments: rowsOf(payments),
    }),
    approvals: rowsOf(approvals).map((approval) => ({ ...approval })),
    versions: rowsOf(mandateVersions).map(({ mandateId, version, terms }) => ({
      mandateId,
      version,
      maxTotalMicro: parseAmount(terms.max_spend_total),
      maxPaymentMicro: parseAmount(terms.max_spend_per_transaction),
    })),
    holds: rowsOf(payments).map((payment) => {
      const mandate = mandateOf.get(payment.mandateId)
      const issuedAtMs = madeAtMs.get(payment.nonce) ?? payment.issuedAtMs
      const expiresAtMs = issuedAtMs + payment.expiresAtMs - payment.issuedAtMs
      return {
        ...payment,
        issuedAtMs,
        expiresAtMs,
        writtenAtMs: writtenAtMs?.get(payment.nonce),
        releasedAtMs: releasedAtMs && (releasedAtMs.get(payment.nonce) ?? Infinity),
        status: mandate ? statusNow(payment, mandate) : payment.status,
      }
    }),
    clockSkewMs,
    deniedNonces: rowsOf(payments).flatMap(({ nonce }) =>
      deniedProofs.has(denialId({ nonce })) ? [nonce] : [],
    ),
    denials: rowsOf(mandates).map(({ id, denials }) => ({
      mandateId: id,
      count: denialEntries
        .filter(({ mandateId }) => mandateId === id)
        .reduce((sum, { count }) => sum + count, Math.max(0, denials - maxDenialsPerMinute)),
    })),
    transactions: rowsOf(entries)
      .filter((entry) => !denialEntries.includes(entry))
      .map((entry) => ({
        ...entry,
        mandateId: entry.mandateId ?? '',
        side: isOfOtherAccount(entry.kind) ? 'payee' : 'payer',
        isBetweenAccounts: isOfOtherAccount(entry.kind) || betweenAccounts.has(entry.nonce ?? ''),
        status: statuses[entry.kind],
        createdAtMs: madeAtMs.get(entry.id) ?? entry.atMs,
        writtenAtMs: writtenAtMs?.get(entry.id),
      })),
    events: [
      ...rowsOf(auditEvents).map(({ type, subjectId }) => ({ type, subjectId, nonce: null })),
      ...paid.map(({ id, nonce }) => ({ type: 'payment.verified', subjectId: id, nonce })),
    ],
  }
}

/** The max of the only limit there is. */
function maxOf(limits: readonly Limit[] | null): bigint | null {
  const [limit] = limits ?? []
  return limit?.maxAmountMicro == null ? null : BigInt(limit.maxAmountMicro)
}
