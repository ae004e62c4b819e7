import { writeId } from '../../../domain/type-id.ts'
import type { Column, ColumnKind, Row } from '../table.ts'

/** How PostgreSQL stores a kind of column, and its wire format. */
interface ColumnType {
  /** The type in the schema. */
  readonly declaration: string
  readonly name: string
  /** The object id of the array's element type. */
  readonly oid: number
}

/** Text that is compared, sorted or looked up: by bytes, whatever the database's locale. */
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

/**
 * The values of a column in some rows as an array in PostgreSQL's binary format, which needs no quoting or parsing.
 */
export function encodeArray(column: Column, rows: readonly Row[], name: string): Buffer {
  let at = headBytes
  for (const row of rows) {
    const value = row[name]
    if (value === null || value === undefined) {
      makeRoom(at, 4)
      at = scratch.writeInt32BE(-1, at)
    } else {
      const end = writeValue(column, value, at + 4)
      scratch.writeInt32BE(end - at - 4, at)
      at = end
    }
  }
  // One dimension, possibly with nulls, and a lower bound of 1.
  scratch.writeInt32BE(1, 0)
  scratch.writeInt32BE(1, 4)
  scratch.writeInt32BE(columnTypes[column.kind].oid, 8)
  scratch.writeInt32BE(rows.length, 12)
  scratch.writeInt32BE(1, 16)
  return Buffer.from(scratch.subarray(0, at))
}

/** A value of a column in binary format. */
export function encodeValue(column: Column, value: unknown): Buffer | null {
  if (value === null || value === undefined) return null
  const end = writeValue(column, value, 0)
  return Buffer.from(scratch.subarray(0, end))
}

const headBytes = 20
let scratch = Buffer.allocUnsafe(65_536)

function makeRoom(at: number, size: number): void {
  if (at + size <= scratch.length) return
  const larger = Buffer.allocUnsafe((at + size) * 2)
  scratch.copy(larger, 0, 0, at)
  scratch = larger
}

/** Writes a value; returns its end. */
function writeValue({ kind, idKind = 'nonce' }: Column, value: unknown, at: number): number {
  switch (kind) {
    case 'id':
      makeRoom(at, 16)
      if (!writeId(idKind, value as string, { bytes: scratch, at })) {
        throw new Error(`${JSON.stringify(value)} is not the id of a ${idKind}`)
      }
      return at + 16
    case 'text':
      return writeText(value as string, at)
    case 'micro':
      makeRoom(at, 8)
      return scratch.writeBigInt64BE(value as bigint, at)
    case 'integer':
      if (!Number.isSafeInteger(value)) throw new Error(`${String(value)} is no integer`)
      makeRoom(at, 8)
      return scratch.writeBigInt64BE(BigInt(value as number), at)
    case 'json':
      return writeText(JSON.stringify(value), at)
    case 'bytes':
      makeRoom(at, (value as Buffer).length)
      scratch.set(value as Buffer, at)
      return at + (value as Buffer).length
    default:
      return kind satisfies never
  }
}

function writeText(text: string, at: number): number {
  // UTF-8 needs at most three bytes per UTF-16 unit.
  makeRoom(at, text.length * 3)
  return at + scratch.write(text, at)
}
