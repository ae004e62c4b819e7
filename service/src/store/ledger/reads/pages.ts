import type { Page, PageOf } from '../../store.ts'
import type { Column, Table, TableRow } from '../table.ts'
import { columnsOf, firstId, from, idFrom, rowOf, type RawRow } from './rows.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** Max rows that a page of a list with a filter reads, unless the list says otherwise. */
const mostLookedAt = 5_000

type Listable = Table & { readonly columns: { readonly id: Column<string> } }

/** A list of records, newest first: ids sort by time. */
export interface List<Of extends Listable, Item> {
  readonly table: Of
  /** The rows that an index finds. */
  readonly where: Sql
  /** Which of them are listed; a page reads a bounded number, so it may be short and have a next one. */
  readonly fits?: Sql | undefined
  readonly maxLookedAt?: number
  /** What is listed besides the columns of the table, which is aliased `looked_at`. */
  readonly more?: Sql
  readonly toItem: (row: TableRow<Of>, raw: RawRow) => Item
}

/** The first of the rows that an index finds, as the list has it. */
export async function findListed<Of extends Listable, Item>(
  db: Reader,
  { table, where, more, toItem }: Omit<List<Of, Item>, 'fits' | 'maxLookedAt'>,
): Promise<Item | undefined> {
  const { rows } = await sql<RawRow>`
    select ${listedColumns(table, more)} from ${from(table)} looked_at where ${where} order by id limit 1`.execute(
    db,
  )
  return rows[0] && toItem(rowOf(table, rows[0]), rows[0])
}

/** A page of a list. */
export async function listPage<Of extends Listable, Item>(
  db: Reader,
  { table, where, fits, maxLookedAt = mostLookedAt, more, toItem }: List<Of, Item>,
  { limit, olderThan }: Page,
): Promise<PageOf<Item>> {
  const kind = kindOf(table)
  const older = olderThan === undefined ? sql`` : sql`and id < ${firstId(kind, olderThan)}`
  const source = sql`from ${from(table)} where ${where} ${older} order by id desc`
  // One more than the page holds, to know whether there is a next page.
  const { rows } = await sql<RawRow>`
    select ${listedColumns(table, more)} from (select * ${source} limit ${sql.lit(fits ? maxLookedAt : limit + 1)}) looked_at
    where ${fits ?? sql`1 = 1`} order by looked_at.id desc limit ${sql.lit(limit + 1)}`.execute(db)
  const shown = rows.slice(0, limit)
  const items = shown.map((raw) => toItem(rowOf(table, raw), raw))
  if (rows.length > limit) return { items, next: idFrom(kind, shown.at(-1)?.['id']) }
  if (!fits) return { items, next: undefined }
  const { rows: end } = await sql<{ id: unknown }>`
    select id ${source} limit 1 offset ${sql.lit(maxLookedAt - 1)}`.execute(db)
  return { items, next: end[0] && idFrom(kind, end[0].id) }
}

function listedColumns(table: Listable, more?: Sql): Sql {
  return sql.join([columnsOf(table, 'looked_at'), ...(more ? [more] : [])])
}

function kindOf({ name, columns }: Listable) {
  const { idKind } = columns.id
  if (idKind === undefined || idKind === 'nonce') throw new TypeError(`${name} has no ids that sort by time`)
  return idKind
}
