import {
  StaleRowsError,
  type Driver,
  type DriverTransaction,
  type TransactionOptions,
} from '../src/store/ledger/driver.ts'

/** Works in a transaction, and rolls back what is not committed. Like the runner, works again if cached rows were stale. */
export async function inTransaction<Result>(
  driver: Driver,
  work: (transaction: DriverTransaction) => Promise<Result> | Result,
  options?: TransactionOptions,
): Promise<Result> {
  const transaction = driver.begin(options)
  try {
    return await work(forward(transaction))
  } catch (error) {
    await transaction.rollBack()
    if (!(error instanceof StaleRowsError)) throw error
    return await inTransaction(driver, work, { ...options, avoidsCache: true })
  } finally {
    await transaction.rollBack()
  }
}

/** The driver, with some methods of its transactions replaced. */
export function changeTransactions(
  driver: Driver,
  change: (transaction: DriverTransaction) => Partial<DriverTransaction>,
): Driver {
  return {
    begin(options) {
      const transaction = driver.begin(options)
      return { ...forward(transaction), ...change(transaction) }
    },
  }
}

function forward(transaction: DriverTransaction): DriverTransaction {
  return {
    read: (reads, options) => transaction.read(reads, options),
    commit: (changes) => transaction.commit(changes),
    rollBack: () => transaction.rollBack(),
  }
}
