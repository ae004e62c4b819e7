import { sql, type Kysely, type RawBuilder } from 'kysely'

import type { ListedStatus } from '@purser/wire/console/mandates'

import type { Agent, Scope } from '../../domain/records.ts'
import { plainSource, readPage, type Source } from '../bounded-list.ts'
import { isActiveMandate, mostCounted } from './figures.ts'
import { ofAgent, toConsoleMandate, withAgent, type ConsoleMandateRow } from './rows.ts'
import type { ConsoleAgent, ConsoleReads, FoundRecord, MandateFilter } from './store.ts'
import type { ToTransactions } from '../paid-categories.ts'
import {
  listedColumns,
  ownerOfDomain,
  toAgent,
  toApiKey,
  toHold,
  toListedSeller,
  type AgentRow,
  type ApiKeyRow,
  type HoldRow,
  type Int,
  type ListedRow,
  type Tables,
} from '../rows.ts'
import type { Page, PageOf } from '../store.ts'
import { sumOfHalves } from '../activity.ts'

/** How many rows one page looks at, at the most; one that finds few of them that fit is short. */
const mostLookedAt = 5_000

/** How many of the latest records of each kind a search looks at. */
const mostSearched = 1_000

type Lists = Omit<
  ConsoleReads,
  | 'findSession'
  | 'findAccount'
  | 'readActivity'
  | 'readBudgets'
  | 'countStoppedMandates'
  | 'readChecklist'
  | 'readRefusals'
  | 'findDecision'
  | 'readFigures'
  | 'readOpenHolds'
  | 'listConsoleTransactions'
>

/** The lists of the console, newest first, but for those of transactions. */
export function prepareConsoleLists(db: Kysely<Tables>, toTransactions: ToTransactions): Lists {
  /** A page of the records that fit. */
  function list<Item>(
    { source, columns = sql`*`, fits = sql`1 = 1` }: Listed,
    page: Page,
    toItem: (row: never) => Item,
  ): Promise<PageOf<Item>> {
    return readPage(db, [source], { ...page, columns, fits, mostLookedAt }, toItem)
  }

  async function agentsWithSpend(
    scope: Scope,
    agents: readonly Agent[],
    nowMs: number,
  ): Promise<ConsoleAgent[]> {
    if (agents.length === 0) return []
    const ids = sql.join(agents.map(({ id }) => id))
    const isActive = isActiveMandate(scope, nowMs)
    const left = sql`(max_total_micro - spent_micro)`
    const { rows } = await sql<AgentSums>`
      select agent_id, ${sum(sql`spent_micro >> 32`)} as spent_high, ${sum(sql`spent_micro & 4294967295`)} as spent_low,
        ${sum(sql`held_micro >> 32`)} as held_high, ${sum(sql`held_micro & 4294967295`)} as held_low,
        ${sum(sql`case when ${isActive} then ${left} >> 32 else 0 end`)} as remaining_high,
        ${sum(sql`case when ${isActive} then ${left} & 4294967295 else 0 end`)} as remaining_low,
        ${sum(sql`case when ${isActive} then 1 else 0 end`)} as active_mandates
      from mandates where account_id = ${scope.accountId} and agent_id in (${ids}) group by agent_id`.execute(
      db,
    )
    const { rows: holds } = await sql<{ agent_id: string; open_holds: Int }>`
      select agent_id, count(*) as open_holds from (
        select agent_id from holds where account_id = ${scope.accountId} and status = 'open'
          and expires_at_ms > ${nowMs} and environment = ${scope.environment} limit ${sql.lit(mostCounted)}) open_ones
      where agent_id in (${ids}) group by agent_id`.execute(db)
    const { rows: keys } = await sql<{ agent_id: string; working_keys: Int }>`
      select agent_id, count(*) as working_keys from api_keys
      where account_id = ${scope.accountId} and role = 'agent' and revoked_at_ms is null and agent_id in (${ids})
      group by agent_id`.execute(db)
    return agents.map((agent) => {
      const sums = rows.find((row) => row.agent_id === agent.id)
      return {
        ...agent,
        spentMicro: sumOfHalves(sums?.spent_high ?? 0, sums?.spent_low ?? 0),
        heldMicro: sumOfHalves(sums?.held_high ?? 0, sums?.held_low ?? 0),
        remainingMicro: sumOfHalves(sums?.remaining_high ?? 0, sums?.remaining_low ?? 0),
        activeMandates: Number(sums?.active_mandates ?? 0),
        openHolds: Number(holds.find((row) => row.agent_id === agent.id)?.open_holds ?? 0),
        workingKeys: Number(keys.find((row) => row.agent_id === agent.id)?.working_keys ?? 0),
      }
    })
  }

  return {
    listConsoleMandates: (scope, filter, page) =>
      list(
        {
          source: plainSource(mandatesOf(scope, filter.agentId)),
          columns: withAgent('looked_at', scope),
          fits: fitsMandate(scope, filter),
        },
        page,
        toConsoleMandate,
      ),

    async findConsoleMandate({ id, ...scope }) {
      const { rows } = await sql<ConsoleMandateRow>`
        select ${withAgent('base', scope)} from (${mandatesOf(scope)}) base where id = ${id}`.execute(db)
      return rows[0] && toConsoleMandate(rows[0])
    },

    async listOpenHolds({ accountId, environment, id }, nowMs, limit) {
      // Of the open holds of an account, a bounded number is looked at.
      const { rows } = await sql<HoldRow>`
        select * from (
          select * from holds where account_id = ${accountId} and status = 'open' and expires_at_ms > ${nowMs}
          order by account_id, expires_at_ms limit ${sql.lit(mostCounted)}) open_ones
        where mandate_id = ${id} and environment = ${environment}
        order by expires_at_ms, nonce limit ${limit}`.execute(db)
      return rows.map(toHold)
    },

    async newestTransactions(scope, { id, limit }) {
      const { rows } = await sql<ListedRow>`
        select ${sql.raw(listedColumns.join(', '))} from transactions
        where account_id = ${scope.accountId} and id > ${id} order by id desc limit ${limit}`.execute(db)
      const own = rows.filter(({ environment }) => environment === scope.environment)
      return { items: await toTransactions(scope, own), isCutOff: rows.length === limit }
    },

    async findNames({ accountId }, { agents, mandates, sellers }) {
      const find = (table: string, label: string, ids: readonly string[]) =>
        ids.length === 0
          ? []
          : [
              sql`select id, ${sql.ref(label)} as name from ${sql.table(table)}
                where account_id = ${accountId} and id in (${sql.join(ids)})`,
            ]
      const selects = [
        ...find('agents', 'name', agents),
        ...find('mandates', 'purpose', mandates),
        ...find('sellers', 'name', sellers),
      ]
      if (selects.length === 0) return new Map()
      const { rows } = await sql<{ id: string; name: string }>`
        ${sql.join(selects, sql` union all `)}`.execute(db)
      return new Map(rows.map(({ id, name }) => [id, name]))
    },

    async listConsoleAgents(scope, nowMs, page) {
      const source = plainSource(sql`select * from agents where account_id = ${scope.accountId}`)
      const fits = sql`environment = ${scope.environment}`
      const { items, next } = await list({ source, fits }, page, toAgent)
      return { items: await agentsWithSpend(scope, items, nowMs), next }
    },

    async findConsoleAgent({ id, ...scope }, nowMs) {
      const { rows } = await sql<AgentRow>`
        select * from agents where account_id = ${scope.accountId} and id = ${id}
          and environment = ${scope.environment}`.execute(db)
      const [agent] = await agentsWithSpend(scope, rows.map(toAgent), nowMs)
      return agent
    },

    listConsoleSellers: (scope, page) =>
      list(
        {
          source: plainSource(
            sql`select *, ${ownerOfDomain} as owner_id from sellers where account_id = ${scope.accountId}`,
          ),
          fits: sql`environment = ${scope.environment}`,
        },
        page,
        toListedSeller,
      ),

    listConsoleKeys: ({ accountId }, page) =>
      list(
        {
          source: plainSource(sql`
            select k.*, u.used_at_ms,
              (select name from agents a where a.account_id = k.account_id and a.id = k.agent_id) as agent_name
            from api_keys k left join api_key_uses u on u.account_id = k.account_id and u.key_id = k.id
            where k.account_id = ${accountId}`),
        },
        page,
        (row: ApiKeyRow & { used_at_ms: Int | null; agent_name: string | null }) => ({
          ...toApiKey(row),
          lastUsedAtMs: row.used_at_ms === null ? null : Number(row.used_at_ms),
          agentName: row.agent_name,
        }),
      ),

    async search(scope, text, limit): Promise<FoundRecord[]> {
      const find = (kind: FoundRecord['kind'], table: string, label: string) => sql`
        select * from (
          select ${sql.lit(kind)} as kind, id, ${sql.ref(label)} as label from (
            select * from ${sql.table(table)} where account_id = ${scope.accountId}
            order by id desc limit ${sql.lit(mostSearched)}) latest
          where environment = ${scope.environment}
            and (id = ${text} or ${holds(sql.ref(label), text)})
          order by id desc limit ${limit}) ${sql.ref(`found_${table}`)}`
      const { rows } = await sql<FoundRecord>`
        ${find('agent', 'agents', 'name')} union all ${find('mandate', 'mandates', 'purpose')} union all
        ${find('seller', 'sellers', 'domain')} union all
        select 'transaction', id, merchant_domain from transactions
        where account_id = ${scope.accountId} and id = ${text} and environment = ${scope.environment}`.execute(
        db,
      )
      return rows.slice(0, limit)
    },
  }
}

/** The records that a page is taken from, and which of them fit. */
interface Listed {
  readonly source: Source
  readonly columns?: RawBuilder<unknown>
  readonly fits?: RawBuilder<unknown>
}

interface AgentSums {
  agent_id: string
  spent_high: Int
  spent_low: Int
  held_high: Int
  held_low: Int
  remaining_high: Int
  remaining_low: Int
  active_mandates: Int
}

function sum(value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`cast(sum(${value}) as bigint)`
}

function mandatesOf({ accountId, environment }: Scope, agentId?: string): RawBuilder<unknown> {
  return sql`
    select * from mandates where account_id = ${accountId} and environment = ${environment}
      ${agentId === undefined ? sql`` : sql`and agent_id = ${agentId}`}`
}

function fitsMandate(scope: Scope, { status, text, nowMs }: MandateFilter): RawBuilder<unknown> {
  const conditions = [sql`1 = 1`]
  if (status !== undefined) conditions.push(hasStatus(scope, status, nowMs))
  if (text !== undefined) conditions.push(holds(sql`purpose`, text))
  return sql.join(conditions, sql` and `)
}

/** Whether a mandate is listed under a status: of a revoked agent none is active or paused. */
function hasStatus(scope: Scope, status: ListedStatus, nowMs: number): RawBuilder<unknown> {
  const agentStatus = ofAgent('status', 'looked_at', scope)
  const isExpired = sql`(status = 'active' and expires_at_ms <= ${nowMs})`
  switch (status) {
    case 'revoked':
      return sql`status = 'revoked'`
    case 'agent_revoked':
      return sql`status <> 'revoked' and not ${isExpired} and ${agentStatus} = 'revoked'`
    case 'active':
      return sql`status = 'active' and not ${isExpired} and ${agentStatus} <> 'revoked'`
    case 'expired':
      return isExpired
    case 'paused':
      return sql`status = 'paused' and ${agentStatus} <> 'revoked'`
    default:
      return status satisfies never
  }
}

/**
 * Whether a text holds another in any case; no sign of it means anything else. The database lowers both, so that what is
 * typed as it stands there is found, whichever letters the database knows the cases of.
 */
function holds(text: RawBuilder<unknown>, part: string): RawBuilder<unknown> {
  return sql`replace(lower(${text}), lower(${part}), '') <> lower(${text})`
}
