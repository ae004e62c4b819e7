import type { Agent, Scope } from '../../../domain/records.ts'
import type { IdKind } from '../../../domain/type-id.ts'
import type { ConsoleAgent, ConsoleReads, FoundRecord } from '../../console/store.ts'
import type { Page, PageOf } from '../../store.ts'
import type { Table } from '../table.ts'
import {
  agents,
  apiKeys,
  entries,
  evaluations,
  keyUses,
  mandates,
  payments,
  sellerDomains,
  sellers,
} from '../tables.ts'
import { isActiveMandate } from './console-figures.ts'
import {
  fitsMandate,
  holdsText,
  toConsoleMandate,
  withAgent,
  type ConsoleMandateRow,
} from './console-mandates.ts'
import {
  boundOf,
  columnsOf,
  findRows,
  idFrom,
  idOf,
  idsOf,
  rowOf,
  tableOf,
  type ReadDialect,
  type Int,
} from './dialect.ts'
import { toAgent, toApiKey, toHold, toListedSeller } from './records.ts'
import { amountFrom, countFrom, sumAmount, sumWhere, type Sums } from './sums.ts'
import { sql, type Reader, type Sql } from '../../sql.ts'

/** Max rows that a page reads; a page with few matches is short. */
const maxLookedAt = 5_000

/** How many payments of a mandate are read to find the open ones. */
const maxPayments = 20_000

/** How many of the latest records of each kind a search reads. */
const maxSearched = 1_000

type Lists = Pick<
  ConsoleReads,
  | 'listConsoleMandates'
  | 'findConsoleMandate'
  | 'listOpenHolds'
  | 'findNames'
  | 'listConsoleAgents'
  | 'findConsoleAgent'
  | 'listConsoleSellers'
  | 'listConsoleKeys'
  | 'search'
>

type RawRow = Readonly<Record<string, unknown>>

interface Listed {
  readonly table: Table
  readonly kind: IdKind
  /** The rows found by an index. */
  readonly where: Sql
  /** The displayed columns of a table aliased `looked_at`. */
  readonly columns: Sql
  readonly fits?: Sql
}

/** The lists of the console, newest first, except those of transactions. */
export function prepareConsoleLists(db: Reader, dialect: ReadDialect): Lists {
  const from = (table: Table) => tableOf(dialect, table)
  const { inTime } = dialect
  const account = ({ accountId }: Pick<Scope, 'accountId'>) => idOf(dialect, 'account', accountId)

  /** A page of the matching rows, from a bounded number: it may be short, and have a next page. */
  async function list<Item>(
    { table, kind, where, columns, fits = sql`1 = 1` }: Listed,
    { limit, olderThan }: Page,
    toItem: (row: never) => Item,
  ): Promise<PageOf<Item>> {
    const older = olderThan === undefined ? sql`` : sql`and id < ${boundOf(dialect, kind, olderThan)}`
    const source = sql`from ${from(table)} where ${where} ${older} order by id desc`
    const { rows } = await sql<RawRow>`
      select ${columns} from (select * ${source} limit ${sql.lit(maxLookedAt)}) looked_at
      where ${fits} order by looked_at.id desc limit ${sql.lit(limit + 1)}`.execute(db)
    const page = rows.slice(0, limit)
    const items = page.map((row) => toItem(row as never))
    const last = page.at(-1)
    if (rows.length > limit) return { items, next: last && idFrom(kind, last['id']) }
    const { rows: end } = await sql<{ id: unknown }>`
      select id ${source} limit 1 offset ${sql.lit(maxLookedAt - 1)}`.execute(db)
    return { items, next: end[0] && idFrom(kind, end[0].id) }
  }

  async function withSums(scope: Scope, found: readonly Agent[], nowMs: number): Promise<ConsoleAgent[]> {
    if (found.length === 0) return []
    const ids = idsOf(
      dialect,
      'agent',
      found.map(({ id }) => id),
    )
    const isActive = isActiveMandate(dialect, scope, nowMs)
    const { rows } = await sql<Sums & { agent_id: Int }>`
      select agent_id, ${sumAmount('spent', sql`spent_micro`)}, ${sumAmount('held', sql`held_micro`)},
        ${sumAmount('authorized', sql`authorized_micro`)}, sum(authorized_payments) as authorized_payments,
        ${sumAmount('remaining', sql`(max_total_micro - spent_micro)`, isActive)},
        ${sumWhere(isActive, sql`1`)} as active_mandates, sum(open_payments) as open_payments
      from ${from(mandates)} where account_id = ${account(scope)} and agent_id in (${ids}) ${inTime}
      group by agent_id`.execute(db)
    const { rows: keys } = await sql<{ agent_id: unknown; working_keys: Int }>`
      select agent_id, count(*) as working_keys from ${from(apiKeys)}
      where account_id = ${account(scope)} and role = 'agent' and revoked_at_ms is null and agent_id in (${ids})
      group by agent_id`.execute(db)
    const sumsOf = new Map(rows.map((row) => [idFrom('agent', row.agent_id), row]))
    const keysOf = new Map(keys.map((row) => [idFrom('agent', row.agent_id), Number(row.working_keys)]))
    return found.map((agent) => {
      const sums = sumsOf.get(agent.id)
      return {
        ...agent,
        spentMicro: amountFrom(sums, 'spent'),
        heldMicro: amountFrom(sums, 'held'),
        authorizedMicro: amountFrom(sums, 'authorized'),
        remainingMicro: amountFrom(sums, 'remaining'),
        activeMandates: countFrom(sums, 'active_mandates'),
        openHolds: countFrom(sums, 'open_payments'),
        authorizedPayments: countFrom(sums, 'authorized_payments'),
        workingKeys: keysOf.get(agent.id) ?? 0,
      }
    })
  }

  return {
    listConsoleMandates(scope, filter, page) {
      const { accountId, environment } = scope
      const ofAgent =
        filter.agentId === undefined ? sql`` : sql`and agent_id = ${idOf(dialect, 'agent', filter.agentId)}`
      return list(
        {
          table: mandates,
          kind: 'mandate',
          where: sql`account_id = ${account({ accountId })} and environment = ${environment} ${ofAgent}`,
          columns: withAgent(dialect, 'looked_at', scope),
          fits: fitsMandate(dialect, 'looked_at', { scope, filter }),
        },
        page,
        toConsoleMandate,
      )
    },

    async findConsoleMandate({ id, ...scope }) {
      const { rows } = await sql<ConsoleMandateRow>`
        select ${withAgent(dialect, 'base', scope)} from ${from(mandates)} base
        where base.account_id = ${account(scope)} and base.environment = ${scope.environment}
          and base.id = ${idOf(dialect, 'mandate', id)}`.execute(db)
      return rows[0] && toConsoleMandate(rows[0])
    },

    async listOpenHolds({ id, ...scope }, nowMs, limit) {
      const own = account(scope)
      const mandate = idOf(dialect, 'mandate', id)
      const next = (source: Sql) => sql`
        select * from (
          select ${columnsOf(payments)} from ${source} p
          where account_id = ${own} and mandate_id = ${mandate} and expires_at_ms > ${nowMs}
            and epoch = (select epoch from ${from(mandates)} where account_id = ${own} and id = ${mandate})
          order by expires_at_ms limit ${sql.lit(maxPayments)}) next`
      const { indexedPayments, waitingPayments } = dialect
      // A payment may be in both.
      const waiting = waitingPayments === undefined ? sql`` : sql`union ${next(waitingPayments)}`
      const rows = await findRows(
        db,
        payments,
        sql`select * from (${next(indexedPayments)} ${waiting}) looked_at
          where status = 'open' and environment = ${scope.environment}
          order by expires_at_ms, nonce limit ${sql.lit(limit)}`,
      )
      return rows.map((row) => toHold(row, row.epoch))
    },

    async findNames(scope, { agents: agentIds, mandates: mandateIds, sellers: sellerIds }) {
      const names = new Map<string, string>()
      const find = async (table: Table, kind: IdKind, label: string, ids: readonly string[]) => {
        if (ids.length === 0) return
        const { rows } = await sql<{ id: unknown; name: string }>`
          select id, ${sql.ref(label)} as name from ${from(table)}
          where account_id = ${account(scope)} and id in (${idsOf(dialect, kind, ids)})`.execute(db)
        for (const { id, name } of rows) names.set(idFrom(kind, id), name)
      }
      await Promise.all([
        find(agents, 'agent', 'name', agentIds),
        find(mandates, 'mandate', 'purpose', mandateIds),
        find(sellers, 'seller', 'name', sellerIds),
      ])
      return names
    },

    async listConsoleAgents(scope, nowMs, page) {
      const { items, next } = await list(
        {
          table: agents,
          kind: 'agent',
          where: sql`account_id = ${account(scope)}`,
          columns: columnsOf(agents),
          fits: sql`environment = ${scope.environment}`,
        },
        page,
        (row: RawRow) => toAgent(rowOf(agents, row)),
      )
      return { items: await withSums(scope, items, nowMs), next }
    },

    async findConsoleAgent({ id, ...scope }, nowMs) {
      const rows = await findRows(
        db,
        agents,
        sql`select ${columnsOf(agents)} from ${from(agents)} where account_id = ${account(scope)}
          and id = ${idOf(dialect, 'agent', id)} and environment = ${scope.environment}`,
      )
      const [agent] = await withSums(scope, rows.map(toAgent), nowMs)
      return agent
    },

    listConsoleSellers: (scope, page) =>
      list(
        {
          table: sellers,
          kind: 'seller',
          where: sql`account_id = ${account(scope)}`,
          columns: sql`${columnsOf(sellers, 'looked_at')}, (
            select d.seller_id from ${from(sellerDomains)} d
            where d.environment = looked_at.environment and d.domain = looked_at.domain) as registered_id`,
          fits: sql`environment = ${scope.environment}`,
        },
        page,
        (row: RawRow) => {
          const registered = row['registered_id']
          return toListedSeller(
            rowOf(sellers, row),
            registered === null ? null : idFrom('seller', registered),
          )
        },
      ),

    listConsoleKeys: ({ accountId }, page) =>
      list(
        {
          table: apiKeys,
          kind: 'apiKey',
          where: sql`account_id = ${account({ accountId })}`,
          columns: sql`${columnsOf(apiKeys, 'looked_at')},
            (select u.used_at_ms from ${from(keyUses)} u
              where u.account_id = ${account({ accountId })} and u.key_id = looked_at.id) as used_at_ms,
            (select a.name from ${from(agents)} a
              where a.account_id = ${account({ accountId })} and a.id = looked_at.agent_id) as agent_name`,
        },
        page,
        (row: RawRow) => ({
          ...toApiKey(rowOf(apiKeys, row)),
          lastUsedAtMs: row['used_at_ms'] === null ? null : Number(row['used_at_ms']),
          agentName: row['agent_name'] as string | null,
        }),
      ),

    async search(scope, text, limit): Promise<FoundRecord[]> {
      const find = async (table: Table, kind: Exclude<FoundRecord['kind'], 'transaction'>, label: string) => {
        const { rows } = await sql<{ id: unknown; label: string }>`
          select id, ${sql.ref(label)} as label from (
            select * from ${from(table)} where account_id = ${account(scope)}
            order by id desc limit ${sql.lit(maxSearched)}) latest
          where environment = ${scope.environment}
            and (id = ${idOf(dialect, kind, text)} or ${holdsText(sql.ref(label), text)})
          order by id desc limit ${sql.lit(limit)}`.execute(db)
        return rows.map((row) => ({ kind, id: idFrom(kind, row.id), label: row.label }))
      }
      const entry = sql`
        select * from ${from(entries)}
        where account_id = ${account(scope)} and id = ${idOf(dialect, 'transaction', text)}`
      const { rows } = await sql<{ label: string | null }>`
        select coalesce(p.merchant_domain, v.merchant_domain) as label from (${entry}) e
          ${await dialect.joinPayments(account(scope), entry)}
          left join ${from(evaluations)} v on v.account_id = ${account(scope)} and v.id = e.id
        where e.environment = ${scope.environment} and e.kind <> 'more_denied'`.execute(db)
      const found = await Promise.all([
        find(agents, 'agent', 'name'),
        find(mandates, 'mandate', 'purpose'),
        find(sellers, 'seller', 'domain'),
      ])
      const transactions = rows.map(({ label }) => ({
        kind: 'transaction' as const,
        id: text,
        label: label ?? '',
      }))
      return [...found.flat(), ...transactions].slice(0, limit)
    },
  }
}
