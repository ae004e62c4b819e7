import { paymentConnections } from '../../postgres/payment-queues.ts'

/** How many connections are left to acts on resources, such as a stop, when all payments wait for a lock. */
const freeConnections = 2

/** Max connections that one process opens, by what they are for. */
export function connectionCounts(accountLanes: boolean) {
  return {
    write: accountLanes ? 16 : paymentConnections + freeConnections,
    read: 4,
    /** For going through the whole ledger. */
    audit: 1,
    /** For what the console asks. */
    console: 2,
  }
}
