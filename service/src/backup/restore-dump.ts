import { restoreMark } from '../store/ledger/postgres/refused-databases.ts'
import { withClient } from '../store/ledger/postgres/connection.ts'
import { refuseForeignTables } from '../store/ledger/postgres/refused-databases.ts'
import { migrate, readSchemaVersion } from '../store/ledger/postgres/migrate.ts'
import { StoreOpenError } from '../store/open-error.ts'
import { readServerMajor } from './dump.ts'
import { countOpen, endOpen } from './end-open.ts'
import { findProgram, runProgram, type Environment } from './programs.ts'
import { sumUpPostgres, type LedgerSums } from './sum-up.ts'

export interface RestoredDump {
  /** How many open proofs were ended. */
  readonly endedProofs: number
  readonly sums: LedgerSums
}

/**
 * Restores an archive of `pg_dump` to an empty database, ends its open proofs, deletes the secret that signed them, and signs
 * everybody out of the console. Until that is done, a table marks the database, and no service starts on it. Throws a
 * `StoreOpenError` if it fails.
 */
export async function restoreDump(
  url: string,
  archive: string,
  environment: Environment,
): Promise<RestoredDump> {
  const program = findProgram('pg_restore', await readServerMajor(url))
  const database = await withClient(url, async (client, place) => {
    if ((await readSchemaVersion(client)) > 0) throw new StoreOpenError('restore_not_empty', { place })
    await refuseForeignTables(client, place)
    await client.query(`create table ${restoreMark} ()`)
    const { rows } = await client.query<{ name: string }>('select current_database() as name')
    return rows[0]?.name ?? ''
  })
  const removeMark = () => withClient(url, (client) => client.query(`drop table ${restoreMark}`))
  try {
    await runProgram(program, {
      url,
      flags: [
        '--single-transaction',
        '--exit-on-error',
        '--no-owner',
        '--no-privileges',
        '--no-password',
        `--dbname=${database}`,
        archive,
      ],
      environment,
    })
  } catch (error) {
    await removeMark()
    throw error
  }
  const endedProofs = await withClient(url, async (client, place) => {
    await migrate(client, place)
    await client.query('begin')
    const { rows } = await client.query<{ open: string }>(countOpen('mandates'))
    await client.query(endOpen('mandates'))
    await client.query('delete from service_secrets')
    await client.query('delete from sessions')
    await client.query('commit')
    return Number(rows[0]?.open)
  })
  const sums = await sumUpPostgres(url)
  if (sums.faults.length === 0) await removeMark()
  return { endedProofs, sums }
}
