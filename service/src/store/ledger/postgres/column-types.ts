import { idBytes, idText } from '../../../domain/type-id.ts'
import type { Column, ColumnKind } from '../table.ts'

/** How PostgreSQL keeps the values of a kind of column, and how they go over the wire. */
interface ColumnType {
  /** The type in the schema. */
  readonly declaration: string
  readonly name: string
  /** The object id of the type of an element, which an array names. */
  readonly oid: number
}

/** Text that is compared, sorted or looked up: byte by byte, whatever the database's locale. */
const text = { declaration: 'text collate "C"', name: 'text', oid: 25 }
const bigint = { declaration: 'bigint', name: 'bigint', oid: 20 }

export const columnTypes: Readonly<Record<ColumnKind, ColumnType>> = {
  id: { declaration: 'uuid', name: 'uuid', oid: 2950 },
  text,
  micro: bigint,
  integer: bigint,
  json: text,
  bytes: { declaration: 'bytea', name: 'bytea', oid: 17 },
}

/** The value of a column that PostgreSQL has written as text. */
export function decode({ kind, idKind = 'nonce' }: Column, value: string | null): unknown {
  if (value === null) return null
  switch (kind) {
    case 'id':
      return idKind === 'nonce' ? value : idText(idKind, Buffer.from(value.replaceAll('-', ''), 'hex'))
    case 'text':
      return value
    case 'micro':
      return BigInt(value)
    case 'integer':
      return Number(value)
    case 'json':
      return JSON.parse(value)
    case 'bytes':
      return Buffer.from(value.slice(2), 'hex')
    default:
      return kind satisfies never
  }
}

/**
 * The values of a column as an array in PostgreSQL's binary format, which neither side has to quote and to parse.
 */
export function encodeArray(column: Column, values: readonly unknown[]): Buffer {
  const { oid } = columnTypes[column.kind]
  const elements = values.map((value) => encode(column, value))
  const size = elements.reduce((sum, element) => sum + 4 + sizeOf(element), headBytes)
  const bytes = Buffer.allocUnsafe(size)
  // One dimension, which may have nulls, and whose first index is 1.
  for (const [index, field] of [1, 1, oid, values.length, 1].entries()) bytes.writeInt32BE(field, index * 4)
  let at = headBytes
  for (const element of elements) {
    const length = sizeOf(element)
    at = bytes.writeInt32BE(element === null ? -1 : length, at)
    if (typeof element === 'bigint') bytes.writeBigInt64BE(element, at)
    else if (typeof element === 'string') bytes.write(element, at)
    else if (element) bytes.set(element, at)
    at += length
  }
  return bytes
}

const headBytes = 20

type Element = bigint | string | Buffer | null

function sizeOf(element: Element): number {
  if (element === null) return 0
  if (typeof element === 'bigint') return 8
  return typeof element === 'string' ? Buffer.byteLength(element) : element.length
}

function encode({ kind, idKind = 'nonce' }: Column, value: unknown): Element {
  if (value === null || value === undefined) return null
  switch (kind) {
    case 'id': {
      const bytes = idBytes(idKind, value as string)
      if (!bytes) throw new Error(`${JSON.stringify(value)} is not the id of a ${idKind}`)
      return bytes
    }
    case 'text':
      return value as string
    case 'micro':
      return value as bigint
    case 'integer':
      return BigInt(value as number)
    case 'json':
      return JSON.stringify(value)
    case 'bytes':
      return value as Buffer
    default:
      return kind satisfies never
  }
}
