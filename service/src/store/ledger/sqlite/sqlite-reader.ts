import type { TableDialect } from '../reads/dialect.ts'
import { wholeName } from './schema.ts'

/** How the tables of SQLite are asked. */
export const sqliteTables: TableDialect = { idParameter: (bytes) => bytes, nameOf: wholeName }
