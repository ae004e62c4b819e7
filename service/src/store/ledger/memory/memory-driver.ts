import type { Driver, DriverTransaction } from '../driver.ts'
import type { MemoryDatabase } from './memory-database.ts'

/** A driver that keeps the ledger in memory. */
export function createMemoryDriver(database: MemoryDatabase): Driver {
  return {
    async transaction(work) {
      const session = database.begin()
      const transaction: DriverTransaction = {
        read: (reads, options) => session.read(reads, options),
        // eslint-disable-next-line @typescript-eslint/require-await -- must reject instead of throwing
        commit: async (changes) => session.commit(changes),
      }
      try {
        return await work(transaction)
      } finally {
        session.end()
      }
    },
  }
}
