import { codeOf } from '../../error-code.ts'
import type { CommitMarks } from './commit-marks.ts'
import { explainFailure } from './explain-failure.ts'
import type { SqliteDatabase } from './open.ts'
import { StoreUnavailableError } from '../../store.ts'
import { RowExistsError, type Driver, type DriverTransaction, type NetChange } from '../driver.ts'
import { readText, type RangeRead, type Read } from '../operation.ts'
import { RowCache } from '../row-cache.ts'
import type { Row, Table } from '../table.ts'
import { entries, payments } from '../tables.ts'
import { EntriesOfMandates, OpenPayments } from './late-index.ts'
import { TableStatements, type FoundRow, type NewRow } from './table-statements.ts'

export interface SqliteDriverOptions {
  readonly database: SqliteDatabase
  /** Makes commits durable, if the connection does not. If it throws, the driver writes nothing more. */
  readonly sync?: () => void
  /** Counts the commits. */
  readonly marks?: CommitMarks
  /** Called when another process has written the file: the cached rows are out of date, and nothing more is written. */
  readonly onForeignWrite?: (error: Error) => void
  /** How many rows are kept in memory before they are indexed by their mandates. */
  readonly generationSize?: number
}

export interface SqliteDriver extends Driver {
  /** Ensures that other connections find every entry of some mandates in `entries_by_mandate`. */
  readonly indexEntries: (mandateIds: readonly string[]) => void
}

/**
 * A driver that keeps the ledger in a SQLite file. Nothing else may write its tables: it caches rows, and
 * runs one transaction at a time, so nothing is ever locked.
 */
export function createSqliteDriver({
  database,
  sync,
  marks,
  onForeignWrite,
  generationSize,
}: SqliteDriverOptions): SqliteDriver {
  const statements = new Map<Table, TableStatements>()
  const cache = new RowCache<FoundRow | null>()
  const openPayments = new OpenPayments(database, {
    lookUp: (key) => findRow(payments, key)?.row,
    generationSize,
  })
  const entriesOfMandates = new EntriesOfMandates(database, generationSize)
  const beginWriting = database.prepare('begin immediate')
  const commitWritten = database.prepare('commit')
  // It changes with each commit of another connection.
  const readVersion = database.prepare<[], bigint | number>('pragma data_version').pluck()
  const version = readVersion.get()
  /** What the current transaction has read. */
  const ranges = new Map<string, readonly Row[]>()
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
    if (read.kind === 'range') return findRange(read)
    const row = findRow(read.table, read.key)?.row
    return row ? [row] : []
  }

  /** A batch reads again in each step, and a range may have thousands of rows. */
  function findRange(read: RangeRead): readonly Row[] {
    const text = readText(read)
    let found = ranges.get(text)
    if (!found) {
      found = read.table === payments ? openPayments.find(read) : statementsOf(read.table).findRange(read)
      ranges.set(text, found)
    }
    return found
  }

  function findRow(table: Table, key: Row): FoundRow | null {
    let found = cache.get(table, key)
    if (found === undefined) {
      found = statementsOf(table).find(key) ?? null
      cache.set(table, key, found)
    }
    return found
  }

  /** Writes a change to an existing row; returns the row as it is cached. */
  function change({ table, before, now }: NetChange): FoundRow | undefined {
    const prepared = statementsOf(table)
    const kept = cache.get(table, before!) ?? undefined
    if (now) prepared.update(before!, now, kept?.no)
    else prepared.delete(before!)
    return kept
  }

  function inTransaction(work: () => void): void {
    beginWriting.run()
    try {
      if (readVersion.get() !== version) refuseForeignWrite()
      work()
      commitWritten.run()
    } catch (error) {
      if (database.inTransaction) database.exec('rollback')
      // Only what was durable before is left.
      if (marks) marks.durable = marks.begun
      if (isRowThere(error)) throw new RowExistsError('a row that was to be added exists', { cause: error })
      throw explainFailure(error)
    }
  }

  /** The lock next to the file prevents this unless somebody deletes the lock. */
  function refuseForeignWrite(): never {
    failure = new StoreUnavailableError(
      `another process has written ${database.name}; was its .lock file deleted?`,
      { retryAfterSeconds: 5 },
    )
    onForeignWrite?.(failure)
    throw failure
  }

  function commit(changes: readonly NetChange[]): void {
    if (changes.length === 0) return
    const newRows = new Map<Table, Row[]>()
    const changed: NetChange[] = []
    for (const change of changes) {
      const { table, before, now } = change
      const rows = newRows.get(table)
      if (before) changed.push(change)
      else if (rows) rows.push(now!)
      else newRows.set(table, [now!])
    }
    const added = new Map<Table, readonly NewRow[]>()
    let kept: readonly (FoundRow | undefined)[] = []
    inTransaction(() => {
      kept = changed.map(change)
      for (const [table, rows] of newRows) added.set(table, statementsOf(table).insert(rows))
      openPayments.write(added.get(payments) ?? [])
      entriesOfMandates.write(added.get(entries) ?? [])
      marks?.begin()
    })
    try {
      sync?.()
    } catch (error) {
      // It is unknown whether the data is on the disk, and another sync would not reveal it; only a restart
      // can.
      failure = new StoreUnavailableError('the log of the ledger cannot be synced', {
        retryAfterSeconds: 5,
        cause: error,
      })
      throw failure
    }
    for (const [index, change] of changed.entries()) refresh(change, kept[index])
    for (const [table, rows] of added) for (const one of rows) keepNew(table, one)
    openPayments.committed()
    entriesOfMandates.committed()
  }

  function refresh({ table, before, now }: NetChange, kept: FoundRow | undefined): void {
    if (!now) cache.set(table, before!, null)
    else if (kept && (table !== payments || isPending(now))) {
      kept.row = now
      cache.set(table, now, kept)
    } else if (kept) {
      // The late index may still hold it.
      kept.row = undefined
      cache.forget(table, before!)
    }
  }

  /** Caches rows that are likely to be read again: pending payments, and rows that were read before. */
  function keepNew(table: Table, found: NewRow): void {
    if (table === payments || cache.get(table, found.row) !== undefined) cache.set(table, found.row, found)
  }

  function end(): void {
    isBusy = false
    ranges.clear()
  }

  const transaction: DriverTransaction = {
    read: (reads) => ({ found: reads.map(find), blocked: nothing }),
    commit(changes) {
      commit(changes)
      end()
    },
    rollBack: end,
  }

  return {
    // It is not synced: a restart recovers from the journal what the index has lost.
    indexEntries(mandateIds) {
      for (const mandateId of mandateIds) {
        if (!entriesOfMandates.isWaiting(mandateId)) continue
        inTransaction(() => entriesOfMandates.writeOf(mandateId))
        entriesOfMandates.committed()
      }
    },

    begin() {
      if (failure) throw failure
      if (isBusy) throw new Error('a ledger in SQLite has one lane')
      isBusy = true
      return transaction
    },
  }
}

const nothing: ReadonlySet<Read> = new Set()

/** Whether a payment is likely to change again soon. */
function isPending({ status }: Row): boolean {
  return status === 'open' || status === 'authorized'
}

function isRowThere(error: unknown): boolean {
  return ['SQLITE_CONSTRAINT_PRIMARYKEY', 'SQLITE_CONSTRAINT_UNIQUE'].includes(codeOf(error))
}
