import type { MemoryDatabase } from '../../src/store/ledger/memory/memory-database.ts'
import { statusOf } from '../../src/store/ledger/operations/payment-rows.ts'
import type { Table } from '../../src/store/ledger/table.ts'
import type { TableRow } from '../../src/store/ledger/table.ts'
import { agents, auditEvents, entries, mandates, payments } from '../../src/store/ledger/tables.ts'
import type { LedgerContent } from '../faults/history.ts'

/** The content of a ledger in memory, as the checker of the faults has it. */
export function readMemory(database: MemoryDatabase, readAtMs: number): LedgerContent {
  const rowsOf = <Of extends Table>(table: Of) => database.rowsOf(table) as unknown as TableRow<Of>[]
  const mandateOf = new Map(rowsOf(mandates).map((mandate) => [mandate.id, mandate]))
  const betweenAccounts = new Set(
    rowsOf(payments).flatMap(({ nonce, sellerAccountId, accountId }) =>
      sellerAccountId !== null && sellerAccountId !== accountId ? [nonce] : [],
    ),
  )
  const paid = rowsOf(entries).filter(({ kind }) => kind === 'paid')
  return {
    readAtMs,
    sweptUntilMs: readAtMs,
    agents: rowsOf(agents).map(({ id, status }) => ({ id, status })),
    mandates: rowsOf(mandates).map((mandate) => ({
      ...mandate,
      maxPaymentMicro: mandate.maxPerTransactionMicro,
    })),
    holds: rowsOf(payments).map((payment) => {
      const mandate = mandateOf.get(payment.mandateId)
      return { ...payment, status: mandate ? statusOf(payment, mandate, readAtMs) : payment.status }
    }),
    transactions: rowsOf(entries).map((entry) => ({
      ...entry,
      mandateId: entry.mandateId ?? '',
      side: entry.kind === 'received' ? 'payee' : 'payer',
      isBetweenAccounts: entry.kind === 'received' || betweenAccounts.has(entry.nonce ?? ''),
      status: entry.kind === 'received' ? 'paid' : entry.kind,
      createdAtMs: entry.atMs,
    })),
    events: [
      ...rowsOf(auditEvents).map(({ type, subjectId }) => ({ type, subjectId, nonce: null })),
      ...paid.map(({ id, nonce }) => ({ type: 'payment.verified', subjectId: id, nonce })),
    ],
  }
}
