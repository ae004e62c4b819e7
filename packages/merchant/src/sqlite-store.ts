import type { DeliveryStore, Worth } from './deliveries/delivery-store.ts'

/** The used part of a database of `node:sqlite` (`DatabaseSync`) or `better-sqlite3`. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): {
    get(...values: (string | number)[]): unknown
    run(...values: (string | number)[]): { readonly changes: number | bigint }
  }
}

const maxKeptOfEach = 10_000
const insertsBetweenSweeps = 500
const worths: readonly Worth[] = ['doubtful', 'ended', 'paid']

/**
 * A delivery store in a SQLite file, for several processes on one machine. It creates its table
 * `purser_deliveries` if needed, and keeps 10,000 deliveries of each worth, plus those added between two
 * sweeps.
 *
 * @example
 * const deliveries = sqliteDeliveries(new DatabaseSync('deliveries.db'))
 */
export function sqliteDeliveries(
  database: SqliteDatabase,
  { now = Date.now, max = maxKeptOfEach, sweepEvery = insertsBetweenSweeps } = {},
): DeliveryStore {
  // Waits for writers in other processes; a commit survives a crash of the process.
  database.exec('pragma busy_timeout = 5000')
  turnOnLog(database)
  database.exec('pragma synchronous = normal')
  database.exec(`create table if not exists purser_deliveries (
    id text primary key, text text not null, worth integer not null, keep_until_ms integer not null) strict, without rowid`)
  database.exec(
    'create index if not exists purser_deliveries_by_worth on purser_deliveries (worth, keep_until_ms)',
  )
  const select = database.prepare('select text from purser_deliveries where id = ? and keep_until_ms > ?')
  const insert =
    database.prepare(`insert into purser_deliveries (id, text, worth, keep_until_ms) values (?, ?, ?, ?)
    on conflict (id) do update set text = excluded.text, worth = excluded.worth, keep_until_ms = excluded.keep_until_ms
    where purser_deliveries.keep_until_ms <= ?`)
  const update = database.prepare(
    'update purser_deliveries set text = ?, worth = ?, keep_until_ms = ? where id = ? and text = ? and keep_until_ms > ?',
  )
  const remove = database.prepare('delete from purser_deliveries where id = ? and text = ?')
  const removeExpired = database.prepare('delete from purser_deliveries where keep_until_ms <= ?')
  const removeOldest = database.prepare(`delete from purser_deliveries where id in (
    select id from purser_deliveries where worth = ? order by keep_until_ms desc limit -1 offset ?)`)
  let inserts = 0

  function sweep(): void {
    removeExpired.run(now())
    for (const worth of worths.keys()) removeOldest.run(worth, max)
  }

  return {
    read: (id) => (select.get(id, now()) as { readonly text: string } | undefined)?.text,
    replace(id, from, to) {
      if (from === undefined) {
        if (!to) return select.get(id, now()) === undefined
        if (++inserts % sweepEvery === 0) sweep()
        return changed(insert.run(id, to.text, worths.indexOf(to.worth), to.keepUntilMs, now()))
      }
      if (!to) return changed(remove.run(id, from))
      return changed(update.run(to.text, worths.indexOf(to.worth), to.keepUntilMs, id, from, now()))
    },
  }
}

/** Turns on the write-ahead log. SQLite does not wait, but fails at once, while another process turns it on. */
function turnOnLog(database: SqliteDatabase, attempts = 5): void {
  try {
    database.exec('pragma journal_mode = wal')
  } catch (error) {
    if (attempts === 1) throw error
    // Waits for the other process.
    database.exec('begin immediate')
    database.exec('commit')
    turnOnLog(database, attempts - 1)
  }
}

function changed({ changes }: { readonly changes: number | bigint }): boolean {
  return Number(changes) === 1
}
