import { idBytes, idText } from '../../../domain/type-id.ts'
import { compileDecodeRow, type DecodeRow } from '../compiled-rows.ts'
import type { Column, Row, Table } from '../table.ts'

/** A value in SQLite's representation. */
export type SqlValue = string | number | bigint | Buffer | null

interface ColumnCodec {
  readonly encode: (value: unknown) => SqlValue
  readonly decode: (value: SqlValue) => unknown
}

/** Converts rows of a table to SQLite's values and back. */
export class RowCodec {
  readonly names: readonly string[]
  readonly #codecs: ReadonlyMap<string, ColumnCodec>
  readonly #decode: DecodeRow<SqlValue>

  constructor({ columns }: Table) {
    this.names = Object.keys(columns)
    this.#codecs = new Map(Object.entries(columns).map(([name, column]) => [name, codecOf(column)]))
    this.#decode = compileDecodeRow([...this.#codecs].map(([name, { decode }]) => ({ name, decode })))
  }

  /** The value of a column in SQLite's representation. */
  encode(name: string, value: unknown): SqlValue {
    return value === null || value === undefined ? null : this.codecOf(name).encode(value)
  }

  /** Converts a row to the values of some columns. */
  encoderOf(names: readonly string[]): (row: Row) => SqlValue[] {
    const columns = names.map((name) => ({ name, encode: this.codecOf(name).encode }))
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

  codecOf(name: string): ColumnCodec {
    return this.#codecs.get(name)!
  }
}

function codecOf({ kind, idKind }: Column): ColumnCodec {
  switch (kind) {
    case 'id': {
      if (!idKind) throw new TypeError('a column of ids says of what they are')
      // Consecutive rows often have the same account and mandate.
      let last: unknown
      let lastBytes: Buffer
      return {
        encode(value) {
          if (value !== last) {
            lastBytes = idBytes(idKind, value as string) ?? refuse(value)
            last = value
          }
          return lastBytes
        },
        decode: (value) => idText(idKind, value as Buffer),
      }
    }
    case 'json':
      return { encode: (value) => JSON.stringify(value), decode: (value) => JSON.parse(value as string) }
    case 'integer':
      return { encode: (value) => value as number, decode: Number }
    case 'text':
    case 'micro':
    case 'bytes':
      return { encode: (value) => value as SqlValue, decode: (value) => value }
    default:
      return kind satisfies never
  }
}

/** Operations write only ids that the service created. */
function refuse(value: unknown): never {
  throw new TypeError(`${String(value)} is not an id of its kind`)
}
