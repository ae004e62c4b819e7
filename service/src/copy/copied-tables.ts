import type { Table } from '../store/ledger/table.ts'
import { allTables, sessions } from '../store/ledger/tables.ts'

/** Console sessions are not copied. */
export const leftOutTables: readonly Table[] = [sessions]

export const copiedTables: readonly Table[] = allTables.filter((table) => !leftOutTables.includes(table))

/** A row, as operations see it. */
export type Row = Readonly<Record<string, unknown>>

/** The totals of a table: the sum of each numeric column, and the bytes of each other one. */
export interface TableTotals {
  readonly table: string
  readonly rows: bigint
  readonly columns: Readonly<Record<string, bigint>>
}
