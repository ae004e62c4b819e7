import { codeOf } from '../../error-code.ts'
import { explainFailure } from '../../sqlite/explain-failure.ts'
import type { SqliteDatabase } from '../../sqlite/open.ts'
import { StoreUnavailableError } from '../../store.ts'
import type { NetChange } from '../driver.ts'
import { RowExistsError, type Driver, type DriverTransaction } from '../driver.ts'
import type { Read } from '../operation.ts'
import type { Table } from '../table.ts'
import { payments } from '../tables.ts'
import { EntriesOfMandates, OpenPayments } from './late-index.ts'
import type { Row } from './row-codec.ts'
import { RowCache } from './row-cache.ts'
import { TableStatements } from './table-statements.ts'

export interface SqliteDriverOptions {
  readonly database: SqliteDatabase
  /** Makes commits durable, where the connection does not. When it throws, the driver writes nothing more. */
  readonly sync?: () => void
  /** Called before each commit: from then on other connections may see what it wrote. */
  readonly onCommit?: () => void
  /** How many rows are kept in memory before they are indexed by their mandates. */
  readonly generationSize?: number
}

export interface SqliteDriver extends Driver {
  /** Sees to it that other connections find every entry of some mandates in `entries_by_mandate`. */
  readonly indexEntries: (mandateIds: readonly string[]) => void
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
}: SqliteDriverOptions): SqliteDriver {
  const statements = new Map<Table, TableStatements>()
  const cache = new RowCache()
  const openPayments = new OpenPayments(database, generationSize)
  const entriesOfMandates = new EntriesOfMandates(database, generationSize)
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
    const { table, key } = read
    let found = cache.get(table, key)
    if (found === undefined) {
      found = statementsOf(table).find(key) ?? null
      cache.set(table, key, found)
    }
    return found ? [found.row] : []
  }

  /** The number of the row, where it has one. */
  function write({ table, before, now }: NetChange): bigint | undefined {
    const prepared = statementsOf(table)
    if (!before) return prepared.insert(now!)
    const no = cache.get(table, before)?.no
    if (now) prepared.update({ row: before, no }, now)
    else prepared.delete(before)
    return no
  }

  function inTransaction(work: () => void): void {
    database.exec('begin immediate')
    try {
      work()
      database.exec('commit')
    } catch (error) {
      if (database.inTransaction) database.exec('rollback')
      if (isRowThere(error)) throw new RowExistsError('a row that was to be added exists', { cause: error })
      throw explainFailure(error)
    }
  }

  function commit(changes: readonly NetChange[]): void {
    if (changes.length === 0) return
    const numbers: (bigint | undefined)[] = []
    inTransaction(() => {
      for (const change of changes) numbers.push(write(change))
      openPayments.write(changes)
      entriesOfMandates.write(changes)
      onCommit?.()
    })
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
    openPayments.committed(changes)
    entriesOfMandates.committed(changes)
    for (const [index, change] of changes.entries()) refresh(change, numbers[index])
  }

  /** Keeps what is likely to be asked for again: open payments, and what has been asked for before. */
  function refresh({ table, before, now }: NetChange, no: bigint | undefined): void {
    const key = (now ?? before)!
    const isOpen = table === payments && now?.['status'] === 'open'
    if (table === payments && !isOpen) cache.forget(table, key)
    else if (isOpen || cache.get(table, key) !== undefined)
      cache.set(table, key, now ? { row: now, no } : null)
  }

  const transaction: DriverTransaction = {
    read: (reads) => Promise.resolve({ found: reads.map(find), blocked: nothing }),
    // eslint-disable-next-line @typescript-eslint/require-await -- a rejection, and no exception
    commit: async (changes) => commit(changes),
  }

  return {
    // It is not synced: a new start finds in the journal what the index has lost.
    indexEntries(mandateIds) {
      for (const mandateId of mandateIds) {
        if (entriesOfMandates.waitingOf(mandateId).length === 0) continue
        inTransaction(() => entriesOfMandates.writeOf(mandateId))
        entriesOfMandates.committed([])
      }
    },

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
