import {
  OutcomeUnknownError,
  RolledBackError,
  StaleRowsError,
  type Driver,
  type NetChange,
  type ReadAnswer,
} from '../../src/store/ledger/driver.ts'
import type { KeyMap } from '../../src/store/ledger/key-map.ts'
import type { MemoryDatabase, MemorySession } from '../../testing/memory/memory-database.ts'
import type { Read } from '../../src/store/ledger/operation.ts'
import type { SeededRandom } from '../../testing/seeded-random.ts'

/** What goes wrong with a transaction; usually nothing. */
const fates = [
  /** A conflict between two transactions: this one was rolled back. */
  'rolled back',
  /** The connection ends while rows are read. */
  'lost while reading',
  /** The commit never reaches the server. */
  'commit lost',
  /** It is committed, but the answer is lost. */
  'answer lost',
  /** The commit reaches the server long after the service has given up the connection. */
  'commit late',
  /** Rows come from a cache that does not know the latest changes. */
  'stale rows',
] as const
type Fate = (typeof fates)[number] | 'none'

type Row = Readonly<Record<string, unknown>>

export interface FaultyDriverOptions {
  readonly database: MemoryDatabase
  /** The rows of the database before their latest changes. */
  readonly earlierRows: KeyMap<Row>
  readonly random: SeededRandom
  readonly sleep: (ms: number) => Promise<void>
  /** How many of a hundred transactions are affected. */
  readonly faultPercent: number
  /** Whether the service has crashed: then its transactions end without an answer. */
  readonly isCrashed: () => boolean
  readonly nowMs: () => number
  /**
   * Called when a transaction has been committed, even if the answer is lost, with the time when the server had checked
   * it and only the commit was missing.
   */
  readonly onCommitted?: (changes: readonly NetChange[], checkedAtMs: number) => void
}

/** A driver over tables in memory whose connections fail like those over a network. */
export function createFaultyDriver(options: FaultyDriverOptions): Driver {
  const { database, earlierRows, random, sleep, faultPercent, isCrashed, nowMs, onCommitted } = options

  return {
    begin({ avoidsCache = false } = {}) {
      const session = database.begin()
      const fate: Fate = random.below(100) < faultPercent ? random.pick(fates) : 'none'
      let isLate = false
      let isStale = false
      return {
        async read(reads, readOptions) {
          await pause()
          if (fate === 'lost while reading') throw new RolledBackError('the connection has ended')
          const answer = await session.read(reads, readOptions)
          await pause()
          if (fate !== 'stale rows' || avoidsCache) return answer
          const cached = fromCache(reads, answer)
          isStale ||= cached.some((rows, index) => rows !== answer.found[index])
          return { ...answer, found: cached, mayBeStale: isStale }
        },
        async commit(changes) {
          if (isCrashed() && random.below(2) === 0) {
            // The server rolls back what the process has left open.
            session.rollBack()
            return never()
          }
          if (isStale) throw new StaleRowsError('cached rows have changed')
          if (fate === 'rolled back') throw new RolledBackError('two transactions met')
          if (fate === 'commit lost') throw new OutcomeUnknownError('the connection has ended')
          if (fate === 'commit late') {
            session.prepare(changes)
            isLate = true
            void commitLate(session, changes, nowMs())
            await sleep(random.below(1_000))
            throw new OutcomeUnknownError('no answer in time')
          }
          session.prepare(changes)
          write(changes, nowMs())
          session.rollBack()
          if (isCrashed()) await never()
          await pause()
          if (fate === 'answer lost') throw new OutcomeUnknownError('the connection has ended')
        },
        rollBack() {
          if (!isLate) session.rollBack()
        },
      }
    },
  }

  /** What was found, with the earlier version of each row that has one. */
  function fromCache(reads: readonly Read[], { found, blocked }: ReadAnswer): ReadAnswer['found'] {
    return found.map((rows, index) => {
      const read = reads[index]!
      const earlier = read.kind === 'row' && !blocked.has(read) && earlierRows.get(read.table, read.key)
      return earlier && rows.length > 0 ? [earlier] : rows
    })
  }

  function write(changes: readonly NetChange[], checkedAtMs: number): void {
    database.write(changes)
    for (const { table, before } of changes) if (before) earlierRows.set(table, before, before)
    onCommitted?.(changes, checkedAtMs)
  }

  function pause(): Promise<void> {
    return sleep(random.below(random.below(20) === 0 ? 400 : 6))
  }

  /** The server holds the transaction's locks until its commit arrives, or until a timeout. */
  async function commitLate(
    session: MemorySession,
    changes: readonly NetChange[],
    checkedAtMs: number,
  ): Promise<void> {
    await sleep(random.below(4_000))
    try {
      if (random.below(3) === 0) return
      write(changes, checkedAtMs)
    } catch {
      // Another transaction has written one of the rows meanwhile: the server rolls back, and no client is
      // there to be told.
    } finally {
      session.rollBack()
    }
  }
}

/** A crashed process never answers. */
function never(): Promise<void> {
  return new Promise(() => {})
}
