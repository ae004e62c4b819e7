import { sqlName, type Column, type Row, type Table } from '../table.ts'
import { columnTypes, encodeArray } from './column-types.ts'

export type NamedColumn = readonly [name: string, column: Column]

interface RowListOptions {
  /** Whether the statement is for Citus, which plans it on every run. */
  readonly isDistributed?: boolean
  /** The transactions that wrote the rows, as the last parameter. */
  readonly versions?: readonly (string | null)[] | undefined
}

/** Rows as parameters of a statement: one array per column. */
export class RowList {
  readonly isDistributed: boolean
  readonly hasVersions: boolean
  readonly values: (Buffer | string)[]
  readonly #columns: readonly NamedColumn[]

  constructor(
    columns: readonly NamedColumn[],
    rows: readonly Row[],
    { isDistributed = false, versions }: RowListOptions = {},
  ) {
    this.#columns = columns
    this.isDistributed = isDistributed
    this.hasVersions = versions !== undefined
    const values = columns.map(([name, column]) => encodeArray(column, rows, name))
    this.values = versions ? [...values, `{${versions.map((one) => one ?? 'null').join()}}`] : values
  }

  /** Equal for lists whose text is the same. */
  get shape(): string {
    const kind = `${this.isDistributed ? 'distributed ' : ''}${this.hasVersions ? 'unchanged ' : ''}`
    return `${kind}${this.#columns.map(([name]) => name).join()}`
  }

  /**
   * The rows as a table, after the statement's other parameters. `place` counts them from 1. In the select list the arrays are
   * expanded in step; in the from list each would be copied first.
   */
  sql(alias: string, before = 0): string {
    const parameter = (index: number, type: string) => `unnest($${before + index}::${type}[])`
    const parts = this.#columns.map(
      ([name, { kind }], index) => `${parameter(index + 1, columnTypes[kind].name)} as ${sqlName(name)}`,
    )
    if (this.hasVersions) parts.push(`${parameter(parts.length + 1, 'xid')} as row_version`)
    else parts.push(`generate_subscripts($${before + 1}, 1) as place`)
    return `(select ${parts.join(', ')}) ${alias}`
  }

  /**
   * For Citus, a condition on the accounts, which are the first parameter: it needs it to see that the statement is for one
   * machine.
   */
  machineOf({ key }: Table, before = 0): string {
    return this.isDistributed && key[0] === 'accountId'
      ? `own.account_id = any ($${before + 1}::uuid[]) and `
      : ''
  }
}
