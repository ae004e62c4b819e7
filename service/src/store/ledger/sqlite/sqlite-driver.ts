import { codeOf } from '../../error-code.ts'
import { explainFailure } from '../../sqlite/explain-failure.ts'
import type { SqliteDatabase } from '../../sqlite/open.ts'
import { StoreUnavailableError } from '../../store.ts'
import type { NetChange } from '../batch-facts.ts'
import { RowExistsError, type Driver, type DriverTransaction } from '../driver.ts'
import type { Read } from '../operation.ts'
import { keyText, type Table } from '../table.ts'
import { payments } from '../tables.ts'
import { OpenPayments } from './open-payments.ts'
import type { Row } from './row-codec.ts'
import { RowCache } from './row-cache.ts'
import { TableStatements } from './table-statements.ts'

export interface SqliteDriverOptions {
  readonly database: SqliteDatabase
  /** Makes commits durable, where the connection does not. When it throws, the driver writes nothing more. */
  readonly sync?: () => void
  /** Called before each commit: from then on other connections may see what it wrote. */
  readonly onCommit?: () => void
  /** How many payments are kept in memory before those still open are indexed. */
  readonly generationSize?: number
}

/**
 * A driver that keeps the ledger in a SQLite file. Nothing else may write its tables: it keeps the rows that it has met, and
 * runs one transaction at a time, so nothing is ever locked.
 */
export function createSqliteDriver({
  database,
  sync,
  onCommit,
  generationSize,
}: SqliteDriverOptions): Driver {
  const statements = new Map<Table, TableStatements>()
  const cache = new RowCache()
  const openPayments = new OpenPayments(database, generationSize)
  let addedPayments = 0
  let lastPayment: bigint | undefined
  let isBusy = false
  let failure: Error | undefined

  function statementsOf(table: Table): TableStatements {
    const known = statements.get(table)
    if (known) return known
    const prepared = new TableStatements(database, table)
    statements.set(table, prepared)
    return prepared
  }

  function find(read: Read): readonly Row[] {
    if (read.kind === 'range') {
      return read.table === payments ? openPayments.find(read) : statementsOf(read.table).findRange(read)
    }
    const row = cache.find(read.table, keyText(read.table, read.key), () =>
      statementsOf(read.table).find(read.key),
    )
    return row ? [row] : []
  }

  function write({ table, before, now }: NetChange): void {
    const prepared = statementsOf(table)
    if (!before) {
      const no = prepared.insert(now!)
      if (table !== payments) return
      addedPayments += 1
      lastPayment = BigInt(no!)
    } else if (now) prepared.update(before, now)
    else prepared.delete(before)
  }

  function commit(changes: readonly NetChange[]): void {
    if (changes.length === 0) return
    addedPayments = 0
    lastPayment = undefined
    database.exec('begin immediate')
    try {
      for (const change of changes) write(change)
      openPayments.writeOld(addedPayments)
      onCommit?.()
      database.exec('commit')
    } catch (error) {
      if (database.inTransaction) database.exec('rollback')
      if (isRowThere(error)) throw new RowExistsError('a row that was to be added exists', { cause: error })
      throw explainFailure(error)
    }
    try {
      sync?.()
    } catch (error) {
      // Whether the disk has it nobody knows, and another sync would not tell: only a new start can.
      failure = new StoreUnavailableError('the log of the ledger cannot be synced', {
        retryAfterSeconds: 5,
        cause: error,
      })
      throw failure
    }
    openPayments.committed(changes, lastPayment)
    for (const { table, before, now } of changes) cache.set(table, keyText(table, (now ?? before)!), now)
  }

  const transaction: DriverTransaction = {
    read: (reads) => Promise.resolve({ found: reads.map(find), blocked: nothing }),
    // eslint-disable-next-line @typescript-eslint/require-await -- a rejection, and no exception
    commit: async (changes) => commit(changes),
  }

  return {
    async transaction(work) {
      if (failure) throw failure
      if (isBusy) throw new Error('a ledger in SQLite has one lane')
      isBusy = true
      try {
        return await work(transaction)
      } finally {
        isBusy = false
      }
    },
  }
}

const nothing: ReadonlySet<Read> = new Set()

function isRowThere(error: unknown): boolean {
  return ['SQLITE_CONSTRAINT_PRIMARYKEY', 'SQLITE_CONSTRAINT_UNIQUE'].includes(codeOf(error))
}
