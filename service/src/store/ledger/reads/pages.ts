import type { Page, PageOf } from '../../store.ts'
import type { TableRow } from '../table.ts'
import { columnsOf, firstId, from, idFrom, kindOf, rowOf, type RawRow, type RecordTable } from './rows.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** Max rows that a page of a list with a filter reads, unless the list says otherwise. */
const defaultMaxLookedAt = 5_000

/** A list of records, newest first: ids sort by time. */
export interface List<Of extends RecordTable, Item> {
  readonly table: Of
  /** The rows that an index finds. */
  readonly where: Sql
  /** Which of them are listed; a page reads a bounded number, so it may be short and have a next one. */
  readonly fits?: Sql | undefined
  readonly maxLookedAt?: number
  /** What is listed in addition to the columns of the table, which is aliased `looked_at`. */
  readonly more?: Sql
  readonly toItem: (row: TableRow<Of>, raw: RawRow) => Item
}

/** The first of the rows that an index finds, as the list has it. */
export async function findListed<Of extends RecordTable, Item>(
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
export async function listPage<Of extends RecordTable, Item>(
  db: Reader,
  { table, where, fits, maxLookedAt = defaultMaxLookedAt, more, toItem }: List<Of, Item>,
  { limit, olderThan }: Page,
): Promise<PageOf<Item>> {
  const kind = kindOf(table)
  const isOlder = olderThan !== undefined && sql`id < ${firstId(kind, olderThan)}`
  const source = sql`from ${from(table)} where ${sql.and(where, isOlder)} order by id desc`
  // One more than the page holds, to know whether there is a next page.
  const { rows } = await sql<RawRow>`
    select ${listedColumns(table, more)} from (select * ${source} limit ${sql.lit(fits ? maxLookedAt : limit + 1)}) looked_at
    where ${sql.and(fits)} order by looked_at.id desc limit ${sql.lit(limit + 1)}`.execute(db)
  const shown = rows.slice(0, limit)
  const items = shown.map((raw) => toItem(rowOf(table, raw), raw))
  if (rows.length > limit) return { items, next: idFrom(kind, shown.at(-1)?.['id']) }
  if (!fits) return { items, next: undefined }
  const { rows: end } = await sql<{ id: unknown }>`
    select id ${source} limit 1 offset ${sql.lit(maxLookedAt - 1)}`.execute(db)
  const next = end[0] && idFrom(kind, end[0].id)
  // Records added between the two queries may have shifted the last one up, past some items.
  const isRead = (raw: RawRow) => next === undefined || idFrom(kind, raw['id']) >= next
  return { items: items.filter((_, index) => isRead(shown[index]!)), next }
}

/** A page of a list whose items are the rows of its table. */
export function listRows<Of extends RecordTable>(
  db: Reader,
  list: Omit<List<Of, TableRow<Of>>, 'more' | 'toItem'>,
  page: Page,
): Promise<PageOf<TableRow<Of>>> {
  return listPage(db, { ...list, toItem: (row) => row }, page)
}

function listedColumns(table: RecordTable, more?: Sql): Sql {
  return sql.join([columnsOf(table, 'looked_at'), ...(more ? [more] : [])])
}
