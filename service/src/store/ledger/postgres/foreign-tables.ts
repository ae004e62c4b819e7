import type { ClientBase } from 'pg'

import { StoreOpenError } from '../../open-error.ts'

/** How many tables of another program are named. */
const namedTables = 3

/**
 * Throws a `StoreOpenError` when another program has tables where Purser would make its own. A database in which
 * Purser's schema is already keeps working, whatever others have put beside it.
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
 * The tables and views in the schema where tables are made, but for those of an extension; none once Purser's
 * schema is there. One statement sees both at one moment: another process may be making the schema.
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
