import type { ClientBase } from 'pg'

import { StoreOpenError } from '../../open-error.ts'

/** How many foreign tables are named. */
const namedTables = 3

/**
 * Throws a `StoreOpenError` if another program has tables in the schema where Purser would create its own. A database
 * that already has Purser's tables keeps working, whatever else is there.
 */
export async function refuseForeignTables(client: ClientBase, place: string): Promise<void> {
  const names = await readForeignTables(client)
  if (names.length === 0) return
  const named = names.slice(0, namedTables).join(', ')
  const others = names.length - namedTables
  throw new StoreOpenError('foreign_tables', {
    place,
    cause: others > 0 ? `${named} and ${others} more` : named,
  })
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
