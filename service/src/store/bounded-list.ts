import { sql, type Kysely, type RawBuilder } from 'kysely'

import type { Int, Tables } from './rows.ts'
import type { Page, PageOf } from './store.ts'

/** Rows that an index leads through, newest first. */
export interface Source {
  /** The ids between two, newest first, all of them. */
  readonly ids: (between: Between) => RawBuilder<unknown>
  /** The newest rows that are wanted, of a bounded number that is looked at. */
  readonly rows: (between: Between, wanted: Wanted) => RawBuilder<unknown>
}

/** Ids from one on that are older than another: texts, or what gives them in the statement. */
export interface Between {
  readonly from: string | RawBuilder<unknown>
  readonly olderThan: string | RawBuilder<unknown>
}

/**
 * The columns that are wanted of the rows that fit, at most so many, of so many that are looked at. They are those of
 * a table called `looked_at`.
 */
export interface Wanted extends Looking {
  readonly limit: number
}

interface Looking {
  readonly columns: RawBuilder<unknown>
  readonly fits: RawBuilder<unknown>
  readonly mostLookedAt: number
}

interface Question extends Looking, Page {
  /** Nothing that is older than this id is looked at. */
  readonly from?: string
}

/**
 * A page of the rows that fit, out of a bounded number of those that an index leads to: so no page takes long,
 * however many rows there are and however few fit. It may be short, and `next` still say where to go on.
 */
export async function readPage<Item>(
  db: Kysely<Tables>,
  sources: readonly [Source, ...Source[]],
  { from = '', olderThan = '\uffff', limit, ...looking }: Question,
  toItem: (row: never) => Item,
): Promise<PageOf<Item>> {
  const between = { from, olderThan }
  const source = await shortest(db, sources, between, looking.mostLookedAt)
  const { rows } = await sql<{ id: string }>`
    ${source.rows(between, { ...looking, limit: limit + 1 })}`.execute(db)
  const isFull = rows.length > limit
  const next = isFull ? rows[limit - 1]?.id : await lastLookedAt(db, source, between, looking.mostLookedAt)
  // What was inserted between the two questions is newer, and may have moved the last up, past some of the rows.
  const page = next === undefined ? rows : rows.filter(({ id }) => id >= next)
  return { items: page.map((row) => toItem(row as never)), next }
}

/** The id of the last row that a page looks at; none when it looks at all of them. */
async function lastLookedAt(
  db: Kysely<Tables>,
  { ids }: Source,
  between: Between,
  mostLookedAt: number,
): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    ${ids(between)} limit 1 offset ${sql.lit(mostLookedAt - 1)}`.execute(db)
  return rows[0]?.id
}

/** The source with the fewest rows, as far as they are counted: one of few is looked at as a whole. */
async function shortest(
  db: Kysely<Tables>,
  sources: readonly [Source, ...Source[]],
  between: Between,
  mostCounted: number,
): Promise<Source> {
  if (sources.length === 1) return sources[0]
  const counts = sources.map(
    (source, place) => sql`
      select ${sql.lit(place)} as place, count(*) as counted
      from (${source.ids(between)} limit ${sql.lit(mostCounted)}) ${sql.ref(`source_${place}`)}`,
  )
  const { rows } = await sql<{ place: Int; counted: Int }>`
    ${sql.join(counts, sql` union all `)} order by 2, 1 limit 1`.execute(db)
  return sources[Number(rows[0]?.place ?? 0)] ?? sources[0]
}

/** The rows that are selected with a plain condition. */
export function plainSource(select: RawBuilder<unknown>): Source {
  const between = ({ from, olderThan }: Between) =>
    sql`from (${select}) source where id >= ${from} and id < ${olderThan} order by id desc`
  return {
    ids: (ids) => sql`select id ${between(ids)}`,
    rows: (ids, { columns, fits, limit, mostLookedAt }) => sql`
      select ${columns} from (select * ${between(ids)} limit ${sql.lit(mostLookedAt)}) looked_at
      where ${fits} order by id desc limit ${sql.lit(limit)}`,
  }
}
