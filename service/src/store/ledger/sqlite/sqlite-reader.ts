import type { TableDialect } from '../reads/dialect.ts'
import { wholeName } from './schema.ts'

/** How to query SQLite. */
export const sqliteTables: TableDialect = { idParameter: (bytes) => bytes, nameOf: wholeName }
