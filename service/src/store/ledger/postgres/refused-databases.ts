import type { ClientBase } from 'pg'

import { StoreOpenError } from '../../open-error.ts'

/** This table exists in a database while a ledger is copied to it. */
export const copyMark = 'purser_copy'

/** This table exists in a database while a backup is restored to it. */
export const restoreMark = 'purser_restore'

/**
 * The name for a mark, in the schema of the ledger: so whoever finds the ledger finds the mark, while the first schema of a
 * `search_path` depends on the role.
 */
export async function nameBesideLedger(client: ClientBase, mark: string): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%s.%I', relnamespace::regnamespace, $1::text) as name
     from pg_class where oid = to_regclass('purser_schema')`,
    [mark],
  )
  return rows[0]?.name ?? mark
}

/** Whether a database is the target of an unfinished copy. */
export function hasUnfinishedCopy(client: ClientBase): Promise<boolean> {
  return hasTable(client, copyMark)
}

/** What was not finished in a database, if anything. */
export type Unfinished = 'copy' | 'restore' | undefined

export async function readUnfinished(client: ClientBase): Promise<Unfinished> {
  if (await hasTable(client, restoreMark)) return 'restore'
  return (await hasUnfinishedCopy(client)) ? 'copy' : undefined
}

/** Throws a `StoreOpenError` if a database has half a ledger, or a restored one in which old proofs could be charged. */
export async function refuseUnfinishedCopy(client: ClientBase, place: string): Promise<void> {
  const unfinished = await readUnfinished(client)
  if (unfinished) throw new StoreOpenError(`${unfinished}_unfinished`, { place })
}

async function hasTable(client: ClientBase, name: string): Promise<boolean> {
  const { rows } = await client.query<{ oid: string | null }>('select to_regclass($1)::text as oid', [name])
  return rows[0]?.oid != null
}

/**
 * Throws a `StoreOpenError` if another program, or an unfinished restore, has tables in the schema where Purser would create
 * its own, or if another schema has a ledger. A database that already has Purser's tables keeps working, whatever else is there.
 */
export async function refuseForeignTables(client: ClientBase, place: string): Promise<void> {
  if (await hasTable(client, restoreMark)) throw new StoreOpenError('restore_unfinished', { place })
  const schema = await findLedgerElsewhere(client)
  if (schema !== undefined) throw new StoreOpenError('ledger_elsewhere', { place, schema })
  const names = await readForeignTables(client)
  if (names.length === 0) return
  throw new StoreOpenError('foreign_tables', { place, cause: listTables(names) })
}

/** How many tables a list names. */
const namedTables = 3

/** The first few tables, and how many more there are. */
export function listTables(names: readonly string[]): string {
  const others = names.length - namedTables
  const named = names.slice(0, namedTables).join(', ')
  return others > 0 ? `${named} and ${others} more` : named
}

/** The schema of a ledger that `search_path` does not name; none if it names another ledger. */
async function findLedgerElsewhere(client: ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<{ schema: string }>(`
    select relnamespace::regnamespace::text as schema from pg_class
    where relname = 'purser_schema' and to_regclass('purser_schema') is null limit 1`)
  return rows[0]?.schema
}

/**
 * The tables and views in the schema where tables are created, except those of extensions; none if Purser's tables
 * are there. One statement checks both, because another process may be creating them.
 */
async function readForeignTables(client: ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`
    select relname as name from pg_class
    where relnamespace = (select oid from pg_namespace where nspname = current_schema())
      and relkind in ('r', 'p', 'v', 'm', 'f')
      and not exists (
        select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')
      and not exists (
        select from pg_class ours where ours.relname = 'purser_schema' and pg_table_is_visible(ours.oid))
    order by relname`)
  return rows.map(({ name }) => name)
}
