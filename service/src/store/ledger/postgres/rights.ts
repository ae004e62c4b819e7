import type { ClientBase } from 'pg'

import { StoreOpenError } from '../../open-error.ts'
import { sharedTables, tenantTables } from './distribution.ts'
import { listTables } from './refused-databases.ts'

/** What the service does with the rows of its tables. */
const neededRights = ['SELECT', 'INSERT', 'UPDATE', 'DELETE']

/**
 * Throws a `StoreOpenError` if this user lacks a right to the rows of Purser's tables: otherwise, only the requests that
 * need it would fail. A database without Purser's tables passes.
 */
export async function refuseMissingRights(client: ClientBase, place: string): Promise<void> {
  const { rows } = await client.query<{ right: string; name: string; schema: string; user: string }>(
    `select needed as right, name, (
       select relnamespace::regnamespace::text from pg_class where oid = to_regclass('purser_schema')
     ) as schema, quote_ident(current_user) as user
     from unnest($1::text[]) as name, unnest($2::text[]) as needed
     where to_regclass('purser_schema') is not null and not has_table_privilege(to_regclass(name), needed)
     order by name collate "C"`,
    [[...tenantTables, ...sharedTables], neededRights],
  )
  const [first] = rows
  if (!first) return
  const rights = neededRights.filter((right) => rows.some((row) => row.right === right)).join(', ')
  const tables = listTables([...new Set(rows.map(({ name }) => name))])
  throw new StoreOpenError('rights_missing', { place, ...first, rights, tables })
}

/**
 * Throws a `StoreOpenError` if this user may not create or change Purser's tables, as a first start and an upgrade of the
 * schema do.
 */
export async function refuseMissingOwnership(client: ClientBase, place: string): Promise<void> {
  const { rows } = await client.query<{
    schema: string
    may_create: boolean
    user: string
    others: string[]
  }>(
    `select quote_ident(current_schema()) as schema, has_schema_privilege(current_schema(), 'create') as may_create,
       quote_ident(current_user) as user, array(
         select relname::text from pg_class join unnest($1::text[]) as name on pg_class.oid = to_regclass(name)
         where to_regclass('purser_schema') is not null and not pg_has_role(relowner, 'usage')
         order by relname
       ) as others`,
    [[...tenantTables, ...sharedTables]],
  )
  const [found] = rows
  if (!found) return
  const { schema, user, others } = found
  if (others.length > 0) throw new StoreOpenError('not_owner', { place, user, tables: listTables(others) })
  if (!found.may_create) {
    throw new StoreOpenError('create_refused', { place, cause: `permission denied for schema ${schema}` })
  }
}
