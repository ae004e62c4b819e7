import Database from 'better-sqlite3'
import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'

import { openPool } from '../ledger/postgres/connection.ts'
import type { Tables } from '../rows.ts'

/** A record that works in a restored ledger. */
export interface RevivedRecord {
  readonly id: string
  readonly accountId: string
  /** What its owner knows it by. */
  readonly name: string
}

/** What works in a restored ledger and may have been stopped since its backup. */
export interface Revived {
  readonly keys: readonly RevivedRecord[]
  readonly agents: readonly RevivedRecord[]
  readonly mandates: readonly RevivedRecord[]
}

/** A ledger that is only read. */
export type ReadableLedger =
  { readonly kind: 'sqlite'; readonly path: string } | { readonly kind: 'postgres'; readonly url: string }

/** What was revoked or stopped in one ledger and works in another, which is an earlier state of it. */
export async function findRevived(before: ReadableLedger, restored: ReadableLedger): Promise<Revived> {
  return withLedger(before, (stopped) =>
    withLedger(restored, async (working) => ({
      keys: await inBoth(
        await stopped.selectFrom('api_keys').select('id').where('revoked_at_ms', 'is not', null).execute(),
        (ids) => keysOf(working).where('id', 'in', ids).execute(),
      ),
      agents: await inBoth(
        await stopped.selectFrom('agents').select('id').where('status', '=', 'revoked').execute(),
        (ids) =>
          working
            .selectFrom('agents')
            .select(['id', 'account_id as accountId', 'name'])
            .where('status', '=', 'active')
            .where('id', 'in', ids)
            .execute(),
      ),
      mandates: await inBoth(
        await stopped.selectFrom('mandates').select('id').where('status', '!=', 'active').execute(),
        (ids) =>
          working
            .selectFrom('mandates')
            .select(['id', 'account_id as accountId', 'purpose as name'])
            .where('status', '=', 'active')
            .where('id', 'in', ids)
            .execute(),
      ),
    })),
  )
}

/** Every key that works in a ledger. */
export async function listWorkingKeys(ledger: ReadableLedger): Promise<RevivedRecord[]> {
  return withLedger(ledger, async (db) => (await keysOf(db).orderBy('id').execute()).map(withName))
}

function keysOf(db: Kysely<Tables>) {
  return db
    .selectFrom('api_keys')
    .select(['id', 'account_id as accountId', 'label as name'])
    .where('revoked_at_ms', 'is', null)
}

/** How many ids one question holds. */
const idsAtOnce = 500

async function inBoth(
  stopped: readonly { readonly id: string }[],
  findWorking: (ids: string[]) => Promise<{ id: string; accountId: string; name: string | null }[]>,
): Promise<RevivedRecord[]> {
  const found: RevivedRecord[] = []
  for (let start = 0; start < stopped.length; start += idsAtOnce) {
    const ids = stopped.slice(start, start + idsAtOnce).map(({ id }) => id)
    found.push(...(await findWorking(ids)).map(withName))
  }
  return found
}

function withName(row: { id: string; accountId: string; name: string | null }): RevivedRecord {
  return { ...row, name: row.name ?? '' }
}

async function withLedger<Result>(
  ledger: ReadableLedger,
  work: (db: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  const dialect =
    ledger.kind === 'sqlite'
      ? new SqliteDialect({ database: new Database(ledger.path, { readonly: true, timeout: 5_000 }) })
      : new PostgresDialect({ pool: openPool(ledger.url, { max: 1 }) })
  const db = new Kysely<Tables>({ dialect })
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}
