import { Kysely, PostgresDialect, sql } from 'kysely'
import type { Pool } from 'pg'

import { idBytes, idText, type IdKind } from '../../../domain/type-id.ts'
import type { ReadDialect, Reader } from '../reads/dialect.ts'
import { storable } from './connection.ts'
import { guardOf } from './schema.ts'

/** How PostgreSQL is asked. */
export const postgresDialect: ReadDialect = {
  idParameter: (bytes) => idText('nonce', bytes),
  nameOf: ({ name }) => name,
  inTime: sql``,
  entriesOfMandates: () => Promise.resolve(sql.table('entries')),
  indexedPayments: sql`(select * from payments where ${sql.raw(guardOf(['accountId']))})`,
  waitingPayments: undefined,
}

/** A reader over a pool. Whoever destroys it ends the pool. */
export function readerOn(pool: Pool): Reader {
  const connect = async () => {
    const client = await pool.connect()
    return {
      query: (text: string, values: readonly unknown[]) => client.query(text, values.map(storable)),
      release: () => client.release(),
    }
  }
  return new Kysely<unknown>({
    dialect: new PostgresDialect({ pool: { connect, end: () => pool.end() } as never }),
  })
}

/** An id as the database has it; null for a text that is no id of its kind. */
export function uuidOf(kind: IdKind, text: string): string | null {
  const bytes = idBytes(kind, text)
  return bytes ? idText('nonce', bytes) : null
}
