import type { LedgerFault } from '../../store.ts'
import { sqlName, type Table } from '../table.ts'
import { budgets, budgetUsage, mandates, payments, subjectUsage } from '../tables.ts'
import { from, idFrom, rowOf, type RawRow } from './rows.ts'
import { recountLimits, type CountedPayments } from './limit-recount.ts'
import { Sql, sql, type Reader } from '../../sql.ts'

/** The columns that the recount needs, by table. */
const counted = {
  mandates: { table: mandates, columns: ['accountId', 'id', 'epoch', 'limits', 'usage'] },
  subjects: {
    table: subjectUsage,
    columns: ['accountId', 'mandateId', 'subject', 'epoch', 'counted', 'open'],
  },
  budgets: { table: budgets, columns: ['accountId', 'id', 'limits'] },
  budgetUsage: { table: budgetUsage, columns: ['accountId', 'budgetId', 'bookedAtMs', 'counted'] },
} as const satisfies Readonly<Record<string, { readonly table: Table; readonly columns: readonly string[] }>>

type Part = keyof typeof counted

/** The width of the union: payments have the most columns. */
const width = 8

/**
 * Every limit whose counts differ from its payments. One statement, for a consistent view: each row names its
 * part, and has the columns of that part in order.
 */
export async function findLimitFaults(db: Reader): Promise<readonly LedgerFault[]> {
  const parts = (Object.keys(counted) as Part[]).map((part) => selectPart(part))
  const { rows } = await sql<RawRow>`${sql.join([...parts, selectPayments()], sql` union all `)}`.execute(db)
  const byPart = Map.groupBy(rows, ({ part }) => part)
  const rowsOf = <Of extends Table>(part: Part, table: Of) =>
    (byPart.get(part) ?? []).map((raw) => {
      const columns = counted[part].columns.map((name, index) => [sqlName(name), raw[`c${index}`]])
      return rowOf(table, Object.fromEntries(columns))
    })
  return recountLimits({
    mandates: rowsOf('mandates', mandates),
    subjects: rowsOf('subjects', subjectUsage),
    budgets: rowsOf('budgets', budgets),
    budgetUsage: rowsOf('budgetUsage', budgetUsage),
    payments: (byPart.get('payments') ?? []).map(toPayments),
  })
}

function selectPart(part: Part): Sql {
  const { table, columns } = counted[part]
  const values = columns.map((name) => {
    const column = sql.ref(`t.${sqlName(name)}`)
    return (table as Table).columns[name]?.kind === 'id' ? idColumn(column) : asText(column)
  })
  return sql`select ${sql.lit(part)} as part, ${columnList(values)} from ${from(table)} t
    ${part === 'mandates' ? sql`where t.usage is not null` : sql``}`
}

// Every time zone changes its day and its clock at a multiple of this.
const sameBucketMs = sql.lit(15 * 60_000)
/** More than a rolling window can count. */
const rollingMs = sql.lit(33 * 24 * 3_600_000)

/**
 * What payments commit, grouped by the buckets in which they count, whatever the limits. Only those in reach
 * of a rolling window need their exact times.
 */
function selectPayments(): Sql {
  const bookedAtMs = sql`coalesce(p.booked_at_ms, p.issued_at_ms)`
  const reached = sql`
    select p.account_id, p.mandate_id, p.budget_path,
      case when p.status = 'open' then 1 else 0 end as is_open,
      case when m.limits like '%"per":"%' then p.resource_url else '' end as resource_url,
      case when p.status = 'captured' then coalesce(p.captured_micro, p.amount_micro) - coalesce(p.refunded_micro, 0)
        else p.amount_micro end as amount_micro,
      case when ${bookedAtMs} >= l.last_ms - ${rollingMs}
          and (${isRolling(sql`m.limits`)} or r.account_id is not null) then ${bookedAtMs}
        else ${bookedAtMs} - ${bookedAtMs} % ${sameBucketMs} end as booked_at_ms
    from ${from(payments)} p
    join ${from(mandates)} m on m.account_id = p.account_id and m.id = p.mandate_id and m.usage is not null
    join (
      select p.account_id, p.mandate_id, max(${bookedAtMs}) as last_ms
      from ${from(payments)} p group by p.account_id, p.mandate_id) l
      on l.account_id = p.account_id and l.mandate_id = p.mandate_id
    left join (
      select distinct b.account_id from ${from(budgets)} b where ${isRolling(sql`b.limits`)}) r
      on r.account_id = p.account_id
    where p.status in ('authorized', 'captured') or (p.status = 'open' and p.epoch = m.epoch)`
  const values = [
    idColumn(sql`t.account_id`),
    idColumn(sql`t.mandate_id`),
    asText(sql`t.is_open`),
    asText(sql`t.resource_url`),
    asText(sql`t.booked_at_ms`),
    asText(sql`t.budget_path`),
    asText(sql`sum(t.amount_micro)`),
    asText(sql`count(*)`),
  ]
  return sql`select 'payments' as part, ${columnList(values)} from (${reached}) t
    group by t.account_id, t.mandate_id, t.is_open, t.resource_url, t.booked_at_ms, t.budget_path`
}

function isRolling(limits: Sql): Sql {
  return sql`${limits} like '%rollingSeconds%'`
}

function toPayments({ c0, c1, c2, c3, c4, c5, c6, c7 }: RawRow): CountedPayments {
  return {
    accountId: idFrom('account', c0),
    mandateId: idFrom('mandate', c1),
    isOpen: c2 === '1',
    resourceUrl: c3 as string,
    bookedAtMs: Number(c4),
    budgetPath: c5 === null ? null : (JSON.parse(c5 as string) as readonly string[]),
    amountMicro: BigInt(c6 as string),
    count: Number(c7),
  }
}

function columnList(values: readonly Sql[]): Sql {
  const all = Array.from({ length: width }, (_, index) => values[index] ?? sql`cast(null as text)`)
  return sql.join(all.map((value, index) => sql`${value} as ${sql.ref(`c${index}`)}`))
}

function asText(value: Sql): Sql {
  return sql`cast(${value} as text)`
}

/** An id in a column of the union. Where ids are bytes, a column may have values of any type. */
function idColumn(column: Sql): Sql {
  return new Sql((to) => {
    const isText = typeof to.spelling.idParameter(Buffer.alloc(16)) === 'string'
    ;(isText ? asText(column) : column).write(to)
  })
}
