import { codeOf } from '../../error-code.ts'
import { explainFailure } from './explain-failure.ts'
import type { SqliteDatabase } from './open.ts'
import { StoreUnavailableError } from '../../store.ts'
import type { NetChange } from '../driver.ts'
import { RowExistsError, type Driver, type DriverTransaction } from '../driver.ts'
import type { Read } from '../operation.ts'
import { RowCache } from '../row-cache.ts'
import type { Table } from '../table.ts'
import { payments } from '../tables.ts'
import { EntriesOfMandates, OpenPayments } from './late-index.ts'
import type { Row } from './row-codec.ts'
import { TableStatements, type FoundRow } from './table-statements.ts'

export interface SqliteDriverOptions {
  readonly database: SqliteDatabase
  /** Makes commits durable, where the connection does not. When it throws, the driver writes nothing more. */
  readonly sync?: () => void
  /** Called before each commit: from then on other connections may see what it wrote. */
  readonly onCommit?: () => void
  /** Called when a commit has failed, of which nothing is left. */
  readonly onRollback?: () => void
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
  onRollback,
  generationSize,
}: SqliteDriverOptions): SqliteDriver {
  const statements = new Map<Table, TableStatements>()
  const cache = new RowCache<FoundRow | null>()
  const openPayments = new OpenPayments(database, generationSize)
  const entriesOfMandates = new EntriesOfMandates(database, generationSize)
  const begin = database.prepare('begin immediate')
  const end = database.prepare('commit')
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
    if (found === undefined || (found && !found.row)) {
      found = statementsOf(table).find(key) ?? null
      cache.set(table, key, found)
    }
    return found?.row ? [found.row] : []
  }

  /** The row as it is written, or as it was kept before. */
  function write({ table, before, now }: NetChange): FoundRow | undefined {
    const prepared = statementsOf(table)
    if (!before) return { row: now!, no: prepared.insert(now!) }
    const kept = cache.get(table, before) ?? undefined
    if (now) prepared.update(before, now, kept?.no)
    else prepared.delete(before)
    return kept
  }

  function inTransaction(work: () => void): void {
    begin.run()
    try {
      work()
      end.run()
    } catch (error) {
      if (database.inTransaction) database.exec('rollback')
      onRollback?.()
      if (isRowThere(error)) throw new RowExistsError('a row that was to be added exists', { cause: error })
      throw explainFailure(error)
    }
  }

  function commit(changes: readonly NetChange[]): void {
    if (changes.length === 0) return
    const written: (FoundRow | undefined)[] = []
    inTransaction(() => {
      for (const change of changes) written.push(write(change))
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
    for (const [index, change] of changes.entries()) refresh(change, written[index])
  }

  /** Keeps what is likely to be asked for again: pending payments, and what has been asked for before. */
  function refresh({ table, before, now }: NetChange, written: FoundRow | undefined): void {
    if (!now) cache.set(table, before!, null)
    else if (before) {
      if (written) written.row = table === payments && !isPending(now) ? undefined : now
    } else if (table === payments || cache.get(table, now) !== undefined) cache.set(table, now, written!)
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

/** Whether a payment is likely to change again soon. */
function isPending({ status }: Readonly<Record<string, unknown>>): boolean {
  return status === 'open' || status === 'authorized'
}

function isRowThere(error: unknown): boolean {
  return ['SQLITE_CONSTRAINT_PRIMARYKEY', 'SQLITE_CONSTRAINT_UNIQUE'].includes(codeOf(error))
}
