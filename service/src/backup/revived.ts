import Database from 'better-sqlite3'

import type { IdKind } from '../domain/type-id.ts'
import { openPool } from '../store/ledger/postgres/connection.ts'
import { readPostgresSnapshot } from '../store/ledger/postgres/postgres-reader.ts'
import { from, idFrom, ids } from '../store/ledger/reads/rows.ts'
import { readerOf } from '../store/ledger/sqlite/sqlite-reader.ts'
import type { Table } from '../store/ledger/table.ts'
import { accounts, agents, apiKeys, budgets, mandates, sellerDomains } from '../store/ledger/tables.ts'
import { sql, type Reader, type Sql } from '../store/sql.ts'

/** A record that works again in a restored ledger. */
export interface RevivedRecord {
  /** A domain has itself. */
  readonly id: string
  readonly accountId: string
  /** Its label, name or purpose; the environment of a domain. */
  readonly name: string
}

const stoppableKinds = [
  'accounts',
  'keys',
  'agents',
  'paused_mandates',
  'revoked_mandates',
  'budgets',
] as const
type StoppableKind = (typeof stoppableKinds)[number]
export type RevivedKind = StoppableKind | 'domains'

/** Records that work again in a restored ledger, and were stopped since its backup, by kind. */
export type Revived = ReadonlyMap<RevivedKind, readonly RevivedRecord[]>

export type ReadableLedger =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

/** Records that can be revoked, paused, frozen or disabled. */
interface Stoppable {
  readonly kind: IdKind
  readonly table: Table
  /** The column of their account. */
  readonly account: Sql
  readonly isActive: Sql
  /** Default: it is not active. */
  readonly isStopped?: Sql
  readonly name: Sql
}

const account = sql`account_id`
const isActive = sql`status = 'active'`
const mandate = { kind: 'mandate', table: mandates, account, name: sql`purpose` } as const
const stoppable: Readonly<Record<StoppableKind, Stoppable>> = {
  accounts: {
    kind: 'account',
    table: accounts,
    account: sql`id`,
    isActive: sql`disabled_at_ms is null`,
    name: sql`name`,
  },
  keys: { kind: 'apiKey', table: apiKeys, account, isActive: sql`revoked_at_ms is null`, name: sql`label` },
  agents: { kind: 'agent', table: agents, account, isActive, name: sql`name` },
  paused_mandates: { ...mandate, isActive, isStopped: sql`status = 'paused'` },
  // A paused one can be resumed again.
  revoked_mandates: { ...mandate, isActive: sql`status <> 'revoked'`, isStopped: sql`status = 'revoked'` },
  budgets: { kind: 'budget', table: budgets, account, isActive: sql`frozen_at_ms is null`, name: sql`name` },
}

/** Records that were stopped in one ledger, and are active in another, which is an earlier state of it. */
export async function findRevived(before: ReadableLedger, restored: ReadableLedger): Promise<Revived> {
  return withLedger(before, (later) =>
    withLedger(restored, async (earlier) => {
      const revived = new Map<RevivedKind, RevivedRecord[]>()
      for (const kind of stoppableKinds)
        revived.set(kind, await findRevivedOf(stoppable[kind], later, earlier))
      revived.set('domains', await findReleased(later, earlier))
      return revived
    }),
  )
}

/** Reads something of each kind. Throws the error of the database if the ledger cannot be compared. */
export async function tryReading(ledger: ReadableLedger): Promise<void> {
  await withLedger(ledger, async (db) => {
    for (const of of Object.values(stoppable)) {
      await sql`select id, ${of.account}, ${of.isActive}, ${of.name} from ${from(of.table)} limit 1`.execute(
        db,
      )
    }
  })
}

/** Every active key of a ledger. */
export async function listWorkingKeys(ledger: ReadableLedger): Promise<RevivedRecord[]> {
  return withLedger(ledger, (opened) => findActive(stoppable.keys, opened, sql`true`))
}

/** Max ids in one statement. */
const maxIds = 500

async function findRevivedOf(of: Stoppable, later: Reader, earlier: Reader): Promise<RevivedRecord[]> {
  const { rows } = await sql<{ id: unknown }>`
    select id from ${from(of.table)} where ${of.isStopped ?? sql`not (${of.isActive})`} order by id`.execute(
    later,
  )
  const found: RevivedRecord[] = []
  for (let start = 0; start < rows.length; start += maxIds) {
    const some = rows.slice(start, start + maxIds).map(({ id }) => idFrom(of.kind, id))
    found.push(...(await findActive(of, earlier, sql`id in (${ids(of.kind, some)})`)))
  }
  return found
}

/** Domains that were released, whether or not another account has them now: their sellers collect again. */
async function findReleased(later: Reader, earlier: Reader): Promise<RevivedRecord[]> {
  const found: RevivedRecord[] = []
  const limit = sql`order by environment, domain limit ${sql.lit(maxIds)}`
  let page = await readDomains(earlier, limit)
  while (page.length > 0) {
    const names = sql.join([...new Set(page.map(({ id: domain }) => domain))])
    const kept = new Set((await readDomains(later, sql`where domain in (${names})`)).map(textOf))
    found.push(...page.filter((registered) => !kept.has(textOf(registered))))
    const last = page.at(-1)!
    page = await readDomains(earlier, sql`where (environment, domain) > (${last.name}, ${last.id}) ${limit}`)
  }
  return found
}

function textOf({ id, accountId, name }: RevivedRecord): string {
  return `${name} ${id} ${accountId}`
}

async function readDomains(db: Reader, which: Sql): Promise<RevivedRecord[]> {
  const { rows } = await sql<{ environment: string; domain: string; account_id: unknown }>`
    select environment, domain, account_id from ${from(sellerDomains)} ${which}`.execute(db)
  return rows.map(({ environment, domain, account_id: accountId }) => ({
    id: domain,
    accountId: idFrom('account', accountId),
    name: environment,
  }))
}

async function findActive(
  { kind, table, account, isActive, name }: Stoppable,
  db: Reader,
  condition: Sql,
): Promise<RevivedRecord[]> {
  const { rows } = await sql<{ id: unknown; account_id: unknown; name: string | null }>`
    select id, ${account} as account_id, ${name} as name from ${from(table)}
    where ${isActive} and ${condition} order by id`.execute(db)
  return rows.map((row) => ({
    id: idFrom(kind, row.id),
    accountId: idFrom('account', row.account_id),
    name: row.name ?? '',
  }))
}

async function withLedger<Result>(
  ledger: ReadableLedger,
  work: (opened: Reader) => Promise<Result>,
): Promise<Result> {
  if (ledger.kind === 'sqlite') {
    const database = new Database(ledger.path, { readonly: true, timeout: 5_000 })
    try {
      return await work(readerOf(database))
    } finally {
      database.close()
    }
  }
  const pool = openPool(ledger.url, { max: 1 })
  try {
    return await readPostgresSnapshot(pool, work)
  } finally {
    await pool.end()
  }
}
