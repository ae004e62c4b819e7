import type { Pool, PoolClient } from 'pg'

import { breaksConnection } from './errors.ts'
import { roundTrip, type Answer, type Statement } from './round-trip.ts'

/**
 * Sends statements in one round trip over a connection of a pool. Discards a broken connection, and one whose
 * transaction stays open after an error.
 */
export async function askOnce(pool: Pool, statements: readonly Statement[]): Promise<Answer[]> {
  const client = await pool.connect()
  let isBroken = false
  try {
    return await roundTrip(client, statements)
  } catch (error) {
    isBroken = breaksConnection(error) || !(await rollback(client))
    throw error
  } finally {
    client.release(isBroken)
  }
}

async function rollback(client: PoolClient): Promise<boolean> {
  return client.query('rollback').then(
    () => true,
    () => false,
  )
}
