import {
  OutcomeUnknownError,
  RolledBackError,
  type Driver,
  type NetChange,
} from '../../src/store/ledger/driver.ts'
import type { MemoryDatabase, MemorySession } from '../../src/store/ledger/memory/memory-database.ts'
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
] as const
type Fate = (typeof fates)[number] | 'none'

export interface FaultyDriverOptions {
  readonly database: MemoryDatabase
  readonly random: SeededRandom
  readonly sleep: (ms: number) => Promise<void>
  /** How many of a hundred transactions are affected. */
  readonly faultPercent: number
  /** Whether the service has crashed: then its transactions end without an answer. */
  readonly isCrashed: () => boolean
  /** Called when a transaction has been committed, even if the answer is lost. */
  readonly onCommitted?: (changes: readonly NetChange[]) => void
}

/** A driver over tables in memory whose connections fail like those over a network. */
export function createFaultyDriver(options: FaultyDriverOptions): Driver {
  const { database, random, sleep, faultPercent, isCrashed, onCommitted } = options

  return {
    begin() {
      const session = database.begin()
      const fate: Fate = random.below(100) < faultPercent ? random.pick(fates) : 'none'
      let isLate = false
      return {
        async read(reads, readOptions) {
          await pause()
          if (fate === 'lost while reading') throw new RolledBackError('the connection has ended')
          const answer = await session.read(reads, readOptions)
          await pause()
          return answer
        },
        async commit(changes) {
          if (isCrashed() && random.below(2) === 0) {
            // The server rolls back what the process has left open.
            session.rollBack()
            return never()
          }
          if (fate === 'rolled back') throw new RolledBackError('two transactions met')
          if (fate === 'commit lost') throw new OutcomeUnknownError('the connection has ended')
          if (fate === 'commit late') {
            isLate = true
            void commitLate(session, changes)
            await sleep(random.below(1_000))
            throw new OutcomeUnknownError('no answer in time')
          }
          session.commit(changes)
          onCommitted?.(changes)
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

  function pause(): Promise<void> {
    return sleep(random.below(random.below(20) === 0 ? 400 : 6))
  }

  /** The server holds the transaction's locks until its commit arrives, or until a timeout. */
  async function commitLate(session: MemorySession, changes: readonly NetChange[]): Promise<void> {
    await sleep(random.below(4_000))
    try {
      if (random.below(3) === 0) return
      session.commit(changes)
      onCommitted?.(changes)
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
