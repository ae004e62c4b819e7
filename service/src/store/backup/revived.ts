import Database from 'better-sqlite3'
import { Kysely, sql, SqliteDialect, type RawBuilder } from 'kysely'

import type { IdKind } from '../../domain/type-id.ts'
import { openPool } from '../ledger/postgres/connection.ts'
import { postgresDialect, readerOn } from '../ledger/postgres/postgres-reader.ts'
import { idFrom, idsOf, tableOf, type TableDialect, type Reader } from '../ledger/reads/dialect.ts'
import { sqliteTables } from '../ledger/sqlite/sqlite-reader.ts'
import type { Table } from '../ledger/table.ts'
import { agents, apiKeys, mandates } from '../ledger/tables.ts'

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

/** Records that can be stopped: where they are, when they work, and what their owner knows them by. */
interface Stoppable {
  readonly kind: IdKind
  readonly table: Table
  readonly works: RawBuilder<unknown>
  readonly name: RawBuilder<unknown>
}

const stoppable: Readonly<Record<keyof Revived, Stoppable>> = {
  keys: { kind: 'apiKey', table: apiKeys, works: sql`revoked_at_ms is null`, name: sql`label` },
  agents: { kind: 'agent', table: agents, works: sql`status = 'active'`, name: sql`name` },
  mandates: { kind: 'mandate', table: mandates, works: sql`status = 'active'`, name: sql`purpose` },
}

/** What was revoked or stopped in one ledger and works in another, which is an earlier state of it. */
export async function findRevived(before: ReadableLedger, restored: ReadableLedger): Promise<Revived> {
  return withLedger(before, (stopped) =>
    withLedger(restored, async (working) => ({
      keys: await findOfBoth(stoppable.keys, stopped, working),
      agents: await findOfBoth(stoppable.agents, stopped, working),
      mandates: await findOfBoth(stoppable.mandates, stopped, working),
    })),
  )
}

/** Every key that works in a ledger. */
export async function listWorkingKeys(ledger: ReadableLedger): Promise<RevivedRecord[]> {
  return withLedger(ledger, (opened) => findWorking(stoppable.keys, opened, sql`true`))
}

interface OpenedLedger {
  readonly db: Reader
  readonly dialect: TableDialect
}

/** How many ids one statement names. */
const idsAtOnce = 500

async function findOfBoth(
  of: Stoppable,
  stopped: OpenedLedger,
  working: OpenedLedger,
): Promise<RevivedRecord[]> {
  const { rows } = await sql<{ id: unknown }>`
    select id from ${tableOf(stopped.dialect, of.table)} where not (${of.works}) order by id`.execute(
    stopped.db,
  )
  const found: RevivedRecord[] = []
  for (let start = 0; start < rows.length; start += idsAtOnce) {
    const ids = rows.slice(start, start + idsAtOnce).map(({ id }) => idFrom(of.kind, id))
    found.push(...(await findWorking(of, working, sql`id in (${idsOf(working.dialect, of.kind, ids)})`)))
  }
  return found
}

async function findWorking(
  { kind, table, works, name }: Stoppable,
  { db, dialect }: OpenedLedger,
  condition: RawBuilder<unknown>,
): Promise<RevivedRecord[]> {
  const { rows } = await sql<{ id: unknown; account_id: unknown; name: string | null }>`
    select id, account_id, ${name} as name from ${tableOf(dialect, table)}
    where ${works} and ${condition} order by id`.execute(db)
  return rows.map((row) => ({
    id: idFrom(kind, row.id),
    accountId: idFrom('account', row.account_id),
    name: row.name ?? '',
  }))
}

async function withLedger<Result>(
  ledger: ReadableLedger,
  work: (opened: OpenedLedger) => Promise<Result>,
): Promise<Result> {
  const opened: OpenedLedger =
    ledger.kind === 'sqlite'
      ? { db: openFile(ledger.path), dialect: sqliteTables }
      : { db: readerOn(openPool(ledger.url, { max: 1 })), dialect: postgresDialect }
  try {
    return await work(opened)
  } finally {
    await opened.db.destroy()
  }
}

function openFile(path: string): Reader {
  const database = new Database(path, { readonly: true, timeout: 5_000 })
  return new Kysely<unknown>({ dialect: new SqliteDialect({ database }) })
}
