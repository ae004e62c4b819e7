import type { Table } from '../ledger/table.ts'
import { allTables, sessions } from '../ledger/tables.ts'

/** Tables whose rows are not carried over: who is signed in to the console. */
export const leftOutTables: readonly Table[] = [sessions]

/** The tables whose rows are carried over. */
export const copiedTables: readonly Table[] = allTables.filter((table) => !leftOutTables.includes(table))

/** A row as operations see it. */
export type Row = Readonly<Record<string, unknown>>

/** What a table adds up to: the sum of each column of numbers, and the bytes of each other one. */
export interface TableTotals {
  readonly table: string
  readonly rows: bigint
  readonly columns: Readonly<Record<string, bigint>>
}
