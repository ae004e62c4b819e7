import assert from 'node:assert/strict'

import { Client } from 'pg'

import { quarterMs, type ActivityPart } from '../src/store/ledger/activity.ts'
import { idFrom } from '../src/store/ledger/reads/rows.ts'
import { connect } from '../src/store/ledger/sqlite/open.ts'
import { sqlName, type Table } from '../src/store/ledger/table.ts'
import { activityParts, entries, evaluations, payments } from '../src/store/ledger/tables.ts'

/** A ledger that is not open anywhere: a SQLite file, or a PostgreSQL database. */
export type LedgerPlace = { readonly path: string } | { readonly url: string }

export interface Multiplication {
  /** How many copies of each record are made. */
  readonly copies: number
  /** How much older each copy is than the previous one. */
  readonly everyMs: number
}

/** How many rows are written at once. */
const rowsAtOnce = 100_000

/**
 * Adds copies of every payment that is open or was captured by its own account, and of every evaluation, each
 * with an earlier time. Their contribution to the console's sums still has to be added up.
 */
export async function multiplyLedger(place: LedgerPlace, { copies, everyMs }: Multiplication): Promise<void> {
  await using database = 'path' in place ? openFile(place.path) : await openDatabase(place.url)
  const { run, all, newId } = database
  const earlier = (column: string) => `${column} - n * ${everyMs}`
  const nonce = newId('t.nonce', earlier('t.issued_at_ms'))

  await run(`create table copied_payments as select * from payments
    where status = 'open' or (status = 'captured' and (seller_account_id is null or seller_account_id = account_id))`)
  await run(`create table copied_entries as select e.*, p.issued_at_ms from entries e
    left join copied_payments p on p.account_id = e.account_id and p.nonce = e.nonce
    where e.kind in ('approved', 'denied') or (e.kind = 'paid' and p.nonce is not null)`)
  await run('create table copied_evaluations as select * from evaluations')

  async function copy(table: Table, changed: Readonly<Record<string, string>>): Promise<void> {
    const names = [...new Set([...Object.keys(table.columns).map(sqlName), ...Object.keys(changed)])]
    const values = names.map((name) => changed[name] ?? `t.${name}`)
    const [{ count } = { count: 0 }] = await all<{ count: number | string }>(
      `select count(*) as count from copied_${table.name}`,
    )
    if (Number(count) === 0) return
    const step = Math.max(1, Math.floor(rowsAtOnce / Number(count)))
    // The oldest first, in chronological order.
    for (let last = copies; last > 0; last -= step) {
      await run(`insert into ${table.name} (${names.join(', ')}) select ${values.join(', ')}
        from copied_${table.name} t cross join ${database.series(Math.max(1, last - step + 1), last)} order by n desc`)
    }
  }

  const endPayments = await database.beginPayments()
  await copy(payments, {
    ...database.ofPayments,
    nonce,
    issued_at_ms: earlier('t.issued_at_ms'),
    expires_at_ms: earlier('t.expires_at_ms'),
    captured_at_ms: earlier('t.captured_at_ms'),
    transaction_id: `case when t.transaction_id is null then null else ${newId('t.transaction_id', earlier('t.captured_at_ms'))} end`,
    idempotency_key: 'null',
  })
  await endPayments()
  await copy(evaluations, {
    id: newId('t.id', earlier('t.created_at_ms')),
    created_at_ms: earlier('t.created_at_ms'),
  })
  await copy(entries, {
    id: newId('t.id', earlier('t.at_ms')),
    nonce: `case when t.nonce is null then null else ${nonce} end`,
    at_ms: earlier('t.at_ms'),
  })
  await database.addToMandates(copies, everyMs)
  await addParts()
  await database.writeIndexes()
  for (const table of ['payments', 'entries', 'evaluations']) await run(`drop table copied_${table}`)
  await database.settle()

  /** Writes what batches of a quarter of an hour each would have left. */
  async function addParts(): Promise<void> {
    const templates = await all<Template>(`
      select e.account_id, e.id, e.environment, e.kind, e.mandate_id, e.amount_micro, e.at_ms, p.agent_id,
        v.reason_code, coalesce(v.merchant_domain, p.merchant_domain) as merchant_domain,
        case when p.seller_account_id = e.account_id then 1 else 0 end as is_revenue
      from copied_entries e
        left join copied_payments p on p.account_id = e.account_id and p.nonce = e.nonce
        left join copied_evaluations v on v.account_id = e.account_id and v.id = e.id`)
    const groups = Object.values(
      Object.groupBy(
        templates,
        ({ account_id, environment, kind, reason_code, merchant_domain, is_revenue }) =>
          JSON.stringify([
            String(account_id),
            environment,
            kind,
            reason_code,
            merchant_domain,
            Number(is_revenue),
          ]),
      ),
    )
    for (const group of groups) {
      assert(group?.[0])
      const [first] = group
      const { account_id, environment, kind, reason_code, merchant_domain, is_revenue } = first
      const quarters = new Map<
        number,
        Map<string, { count: number; micro: bigint; agent: readonly [agentId?: string] }>
      >()
      for (const { mandate_id, amount_micro, at_ms, agent_id } of group) {
        const mandate = mandate_id === null ? '' : idFrom('mandate', mandate_id)
        const agent: readonly [agentId?: string] = kind === 'paid' ? [idFrom('agent', agent_id)] : []
        for (let n = 1; n <= copies; n++) {
          const copiedAtMs = Number(at_ms) - n * everyMs
          const startsAtMs = copiedAtMs - (copiedAtMs % quarterMs)
          let mandates = quarters.get(startsAtMs)
          if (!mandates) quarters.set(startsAtMs, (mandates = new Map()))
          const sum = mandates.get(mandate) ?? { count: 0, micro: 0n, agent }
          sum.count += 1
          if (kind === 'paid') sum.micro += BigInt(amount_micro)
          mandates.set(mandate, sum)
        }
      }
      let n = 0
      for (const [startsAtMs, mandates] of quarters) {
        const sums = [...mandates].map(
          ([id, { count, micro, agent }]) => [id, count, String(micro), ...agent] as const,
        )
        const part: ActivityPart = [
          environment,
          startsAtMs,
          kind,
          reason_code,
          merchant_domain,
          Number(is_revenue) === 1,
          sums,
        ]
        const id = newId(database.literal(first.id), String(startsAtMs), String(n++))
        await run(`insert into ${activityParts.name} (account_id, id, parts)
          values (${database.literal(account_id)}, ${id}, '${JSON.stringify([part]).replaceAll("'", "''")}')`)
      }
    }
  }
}

interface Template {
  readonly account_id: unknown
  readonly id: unknown
  readonly environment: ActivityPart[0]
  readonly kind: ActivityPart[2]
  readonly mandate_id: unknown
  readonly agent_id: unknown
  readonly amount_micro: number | bigint | string
  readonly at_ms: number | bigint | string
  readonly reason_code: string | null
  readonly merchant_domain: string | null
  readonly is_revenue: number | bigint
}

/** The differences between databases. */
interface Database extends AsyncDisposable {
  readonly run: (statement: string) => Promise<unknown>
  readonly all: <Row>(statement: string) => Promise<Row[]>
  /** An id derived from another, with another time and the number of the copy. */
  readonly newId: (id: string, atMs: string, copy?: string) => string
  readonly literal: (id: unknown) => string
  /** A table of numbers `n`. */
  readonly series: (first: number, last: number) => string
  /** Columns of payments that are not declared. */
  readonly ofPayments: Readonly<Record<string, string>>
  /** Called before payments are written; its result is called afterwards. */
  readonly beginPayments: () => Promise<() => Promise<unknown>>
  readonly addToMandates: (copies: number, everyMs: number) => Promise<unknown>
  /** Writes the indexes that the database does not write by itself. */
  readonly writeIndexes: () => Promise<unknown>
  readonly settle: () => Promise<unknown>
}

/** What each mandate has spent and holds for the copied payments. */
const sumsOfMandates = `
  select p.account_id, p.mandate_id, p.epoch,
    sum(case when p.status = 'captured' then p.amount_micro else 0 end) as spent,
    sum(case when p.status = 'open' then p.amount_micro else 0 end) as held,
    sum(case when p.status = 'open' then 1 else 0 end) as open,
    coalesce(min(case when p.status = 'open' then p.expires_at_ms - 1 end), max(p.expires_at_ms)) as expires_at_ms
  from copied_payments p group by p.account_id, p.mandate_id, p.epoch`

async function openDatabase(url: string): Promise<Database> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const all = async <Row>(statement: string) => (await client.query(statement)).rows as Row[]
  return {
    run: all,
    all,
    newId: (id, atMs, copy = 'n') =>
      `(lpad(to_hex(${atMs}), 12, '0') || lpad(to_hex(${copy}), 8, '0') || right(${id}::text, 12))::uuid`,
    literal: (id) => `'${String(id)}'`,
    series: (first, last) => `generate_series(${first}, ${last}) n`,
    ofPayments: {},
    /** A captured payment has left room in its page for only one version. */
    beginPayments: async () => {
      const [row] = await all<{ fill: string }>(
        `select split_part(option, '=', 2) as fill from pg_class, unnest(reloptions) option
          where oid = 'payments'::regclass and option like 'fillfactor=%'`,
      )
      await all(`alter table payments set (fillfactor = ${Math.min(100, 2 * Number(row?.fill ?? 50))})`)
      return () => all(`alter table payments set (fillfactor = ${row?.fill ?? 100})`)
    },
    addToMandates: (copies, everyMs) =>
      all(`update mandates m set spent_micro = m.spent_micro + ${copies} * s.spent,
          held_micro = m.held_micro + case when m.epoch = s.epoch then ${copies} * s.held else 0 end,
          open_payments = m.open_payments + case when m.epoch = s.epoch then ${copies} * s.open else 0 end,
          released_until_ms = case when m.epoch <> s.epoch then m.released_until_ms
            else s.expires_at_ms - case when s.open = 0 then 1 else ${copies} end * ${everyMs} end
        from (${sumsOfMandates}) s where m.account_id = s.account_id and m.id = s.mandate_id`),
    writeIndexes: () => Promise.resolve(),
    settle: () => all('vacuum analyze'),
    [Symbol.asyncDispose]: () => client.end(),
  }
}

function openFile(path: string): Database {
  const database = connect(path)
  database.pragma('cache_size = -262144')
  const all = <Row>(statement: string) => Promise.resolve(database.prepare<[], Row>(statement).all())
  const run = async (statement: string) => database.exec(statement)
  return {
    run,
    all,
    newId: (id, atMs, copy = 'n') => `unhex(printf('%012x%08x', ${atMs}, ${copy}) || substr(hex(${id}), 21))`,
    literal: (id) => `x'${(id as Buffer).toString('hex')}'`,
    series: (first, last) => `(
      with recursive series (n) as (select ${first} union all select n + 1 from series where n < ${last})
      select n from series)`,
    // The row's padding has been used.
    ofPayments: { blank: `case when t.status = 'open' then t.blank end` },
    beginPayments: async () => async () => undefined,
    addToMandates: (copies, everyMs) =>
      run(`update mandates_sums as m set spent_micro = m.spent_micro + ${copies} * s.spent,
          held_micro = m.held_micro + case when m.epoch = s.epoch then ${copies} * s.held else 0 end,
          open_payments = m.open_payments + case when m.epoch = s.epoch then ${copies} * s.open else 0 end,
          released_until_ms = case when m.epoch <> s.epoch then m.released_until_ms
            else s.expires_at_ms - case when s.open = 0 then 1 else ${copies} end * ${everyMs} end
        from (${sumsOfMandates}) s join mandates own on own.account_id = s.account_id and own.id = s.mandate_id
        where m.no = own.no`),
    writeIndexes: () =>
      run(`
        insert or ignore into entries_of_mandates select account_id, mandate_id, id from entries
          where mandate_id is not null and payer_id = account_id order by account_id, mandate_id, id;
        insert or ignore into open_payments select account_id, mandate_id, epoch, expires_at_ms, nonce from payments
          where status = 'open' order by account_id, mandate_id, epoch, expires_at_ms;
        insert or replace into index_marks select 'entries_of_mandates', min(id) from copied_entries having min(id) is not null;
        insert or replace into index_marks select 'open_payments', min(nonce) from copied_payments having min(nonce) is not null`),
    settle: async () => database.pragma('wal_checkpoint(truncate)'),
    [Symbol.asyncDispose]: async () => void database.close(),
  }
}
