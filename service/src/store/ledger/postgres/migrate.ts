import type { ClientBase } from 'pg'

import { codeOf } from '../../error-code.ts'
import { explainFailedStep, StoreOpenError } from '../../open-error.ts'
import { refuseWorker } from './distribution.ts'
import { refuseForeignTables } from './refused-databases.ts'
import { refuseMissingOwnership } from './rights.ts'
import { ledgerSteps } from './schema.ts'

/** The schema version of this release, which is its number of steps. */
export const neededVersion = ledgerSteps.length

/** How many schema steps a database has; 0 if it has no Purser tables. */
export async function readSchemaVersion(client: ClientBase): Promise<number> {
  const found = await client.query<{ oid: string | null }>(`select to_regclass('purser_schema')::text as oid`)
  if (found.rows[0]?.oid == null) return 0
  const { rows } = await client.query<{ version: number }>('select version from purser_schema')
  return rows[0]?.version ?? 0
}

/**
 * Upgrades a database to the schema of this release, in one transaction under a lock, so that any number of processes
 * may start at once. Resolves to the previous version. Throws a `StoreOpenError` if a newer release has written it,
 * or another program has tables there.
 */
export async function migrate(
  client: ClientBase,
  place: string,
  steps: readonly string[] = ledgerSteps,
): Promise<number> {
  const wanted = steps.length
  for (let attempt = 1; ; attempt++) {
    const version = await readSchemaVersion(client)
    refuseNewer(version, place, wanted)
    if (version === wanted) return version
    await refuseWorker(client, place)
    if (version === 0) await refuseForeignTables(client, place)
    await refuseMissingOwnership(client, place)
    try {
      return await applyMissingSteps(client, place, steps)
    } catch (error) {
      await client.query('rollback')
      // If two processes create the first table at once, one of them fails, and finds it when it retries.
      const isRace = madeByAnother.includes(codeOf(error)) && (await readSchemaVersion(client)) > version
      if (!isRace || attempt === maxAttempts) throw error
    }
  }
}

const maxAttempts = 5

/** PostgreSQL's error if another transaction created the table first. */
const madeByAnother = ['23505', '42P07', '42710', '40001', '40P01']

/** SQLSTATE classes about a statement: its data, its syntax, and its names; not those about the user's rights. */
const isOfStatement = /^(2[2-3]|42(?!501)|53100|0A)/

async function applyMissingSteps(
  client: ClientBase,
  place: string,
  steps: readonly string[],
): Promise<number> {
  await client.query(`
    begin isolation level read committed;
    create table if not exists purser_schema (
      only_row boolean primary key default true check (only_row),
      version integer not null
    );
    insert into purser_schema (version) values (0) on conflict do nothing;`)
  // The lock: a second process waits here, and then has nothing left to do.
  const { rows } = await client.query<{ version: number }>('select version from purser_schema for update')
  const version = rows[0]?.version ?? 0
  refuseNewer(version, place, steps.length)
  for (const [index, step] of steps.slice(version).entries()) {
    await client.query(step).catch((error: unknown) => {
      // Concurrent changes by another process, and lost connections, are reported by the caller.
      if (madeByAnother.includes(codeOf(error)) || !isOfStatement.test(codeOf(error))) throw error
      throw explainFailedStep(error, { place, step: version + index + 1 })
    })
  }
  await client.query('update purser_schema set version = $1', [steps.length])
  await client.query('commit')
  return version
}

function refuseNewer(version: number, place: string, wanted: number): void {
  if (version <= wanted) return
  throw new StoreOpenError('newer_schema', { place, found: version, needed: wanted })
}
