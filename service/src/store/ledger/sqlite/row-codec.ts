import { idBytes } from '../../../domain/type-id.ts'
import { compileDecodeRow, type DecodeRow } from '../compiled-rows.ts'
import { decoderOf } from '../reads/rows.ts'
import type { Column, Row, Table } from '../table.ts'

/** A value in SQLite's representation. */
export type SqlValue = string | number | bigint | Buffer | null

type Encode = (value: unknown) => SqlValue

/** Converts rows of a table to SQLite's values and back. */
export class RowCodec {
  readonly names: readonly string[]
  readonly #encoders: ReadonlyMap<string, Encode>
  readonly #decode: DecodeRow<SqlValue>

  constructor({ columns }: Table) {
    this.names = Object.keys(columns)
    this.#encoders = new Map(Object.entries(columns).map(([name, column]) => [name, encoderOf(column)]))
    this.#decode = compileDecodeRow(
      Object.entries(columns).map(([name, column]) => ({ name, decode: decoderOf(column) })),
    )
  }

  /** The value of a column in SQLite's representation. */
  encode(name: string, value: unknown): SqlValue {
    return value === null || value === undefined ? null : this.encodeOf(name)(value)
  }

  /** Converts a row to the values of some columns. */
  encoderOf(names: readonly string[]): (row: Row) => SqlValue[] {
    const columns = names.map((name) => ({ name, encode: this.encodeOf(name) }))
    return (row) =>
      columns.map(({ name, encode }) => {
        const value = row[name]
        return value === null || value === undefined ? null : encode(value)
      })
  }

  /** A row from the values of all its columns. */
  decode(values: readonly SqlValue[]): Row {
    return this.#decode(values, 0)
  }

  encodeOf(name: string): Encode {
    return this.#encoders.get(name)!
  }
}

function encoderOf({ kind, idKind }: Column): Encode {
  switch (kind) {
    case 'id': {
      if (!idKind) throw new TypeError('a column of ids says of what they are')
      // Consecutive rows often have the same account and mandate.
      let last: unknown
      let lastBytes: Buffer
      return (value) => {
        if (value !== last) {
          lastBytes = idBytes(idKind, value as string) ?? refuse(value)
          last = value
        }
        return lastBytes
      }
    }
    case 'json':
      return JSON.stringify
    case 'integer':
    case 'text':
    case 'micro':
    case 'bytes':
      return (value) => value as SqlValue
    default:
      return kind satisfies never
  }
}

/** Operations write only ids that the service created. */
function refuse(value: unknown): never {
  throw new TypeError(`${String(value)} is not an id of its kind`)
}
