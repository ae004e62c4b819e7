import type { Found } from '@purser/wire/console/search'

import type { Agent, Scope } from '../../../domain/records.ts'
import type { IdKind } from '../../../domain/type-id.ts'
import type { ConsoleAgent, ConsoleReads } from '../../console/store.ts'
import type { Table } from '../table.ts'
import { agents, apiKeys, keyUses, mandates, payments, sellers } from '../tables.ts'
import { holdsOf } from './ended-payments.ts'
import { isActiveMandate } from './console-figures.ts'
import { consoleMandates, fitsMandate, holdsText, isText, ofAgent } from './console-mandates.ts'
import type { LedgerReader } from './ledger-reader.ts'
import { findListed, listPage } from './pages.ts'
import { toAgent, toApiKey } from './records.ts'
import {
  columnsOf,
  findRecord,
  from,
  hasKey,
  id,
  idFrom,
  ids,
  inScope,
  ofAccount,
  rowsOf,
  type Int,
} from './rows.ts'
import { amountFrom, countFrom, sumAmount, sumWhere, type Sums } from './sums.ts'
import { prepareTransactionReads } from './transactions.ts'
import { sql, type Sql } from '../../sql.ts'

/** How many payments of a mandate are read to find the open ones. */
const maxPayments = 20_000

/** How many of the latest records of each kind a search by text reads. */
const maxSearched = 1_000

/** The lists of the console, newest first, except those of transactions. */
export function prepareConsoleLists(db: LedgerReader) {
  const { inTime } = db
  const { findEntry } = prepareTransactionReads(db)

  async function withSums(scope: Scope, found: readonly Agent[], nowMs: number): Promise<ConsoleAgent[]> {
    if (found.length === 0) return []
    const agentIds = found.map((agent) => agent.id)
    const wanted = sql`agent_id in (${ids('agent', agentIds)})`
    const isActive = isActiveMandate(scope, nowMs)
    const { rows } = await sql<Sums & { agent_id: Int }>`
      select agent_id, ${sumAmount('spent', sql`spent_micro`)}, ${sumAmount('held', sql`held_micro`)},
        ${sumAmount('authorized', sql`authorized_micro`)}, sum(authorized_payments) as authorized_payments,
        ${sumAmount('remaining', sql`(max_total_micro - spent_micro)`, isActive)},
        ${sumWhere(isActive, sql`1`)} as active_mandates, sum(open_payments) as open_payments
      from ${from(mandates)} where ${ofAccount(scope.accountId)} and ${wanted} ${inTime}
      group by agent_id`.execute(db)
    const { rows: keys } = await sql<{ agent_id: unknown; working_keys: Int }>`
      select agent_id, count(*) as working_keys from ${from(apiKeys)}
      where ${ofAccount(scope.accountId)} and role = 'agent' and revoked_at_ms is null and ${wanted}
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
      const { agentId } = filter
      const where = sql.and(inScope(scope), agentId !== undefined && sql`agent_id = ${id('agent', agentId)}`)
      const fits = fitsMandate(scope.accountId, filter)
      return listPage(db, { ...consoleMandates(scope.accountId), where, fits }, page)
    },

    findConsoleMandate: (key) =>
      findListed(db, { ...consoleMandates(key.accountId), where: hasKey(mandates, key) }),

    async listOpenHolds(key, nowMs, limit) {
      const own = ofAccount(key.accountId)
      const mandateId = id('mandate', key.id)
      const next = (source: Sql) => sql`
        select * from (
          select ${columnsOf(payments)} from ${source} p
          where ${own} and mandate_id = ${mandateId} and expires_at_ms > ${nowMs}
            and epoch = (select epoch from ${from(mandates)} where ${own} and id = ${mandateId})
          order by expires_at_ms limit ${sql.lit(maxPayments)}) next`
      const { indexedPayments, waitingPayments } = db
      // A payment may be in both.
      const waiting = waitingPayments === undefined ? sql`` : sql`union ${next(waitingPayments)}`
      const rows = await rowsOf(
        db,
        payments,
        sql`select * from (${next(indexedPayments)} ${waiting}) looked_at
          where status = 'open' and environment = ${key.environment}
          order by expires_at_ms, nonce limit ${sql.lit(limit)}`,
      )
      const mandate = rows.length === 0 ? undefined : await findRecord(db, mandates, key)
      return mandate ? holdsOf(db, mandate, rows) : []
    },

    async findNames(scope, { agents: agentIds, mandates: mandateIds, sellers: sellerIds }) {
      const names = new Map<string, string>()
      const find = async (table: Table, kind: IdKind, label: string, named: readonly string[]) => {
        if (named.length === 0) return
        const { rows } = await sql<{ id: unknown; name: string }>`
          select id, ${sql.ref(label)} as name from ${from(table)}
          where ${ofAccount(scope.accountId)} and id in (${ids(kind, named)})`.execute(db)
        for (const row of rows) names.set(idFrom(kind, row.id), row.name)
      }
      await Promise.all([
        find(agents, 'agent', 'name', agentIds),
        find(mandates, 'mandate', 'purpose', mandateIds),
        find(sellers, 'seller', 'name', sellerIds),
      ])
      return names
    },

    async listConsoleAgents({ accountId, environment }, nowMs, page) {
      const list = {
        table: agents,
        where: ofAccount(accountId),
        fits: sql`environment = ${environment}`,
        toItem: toAgent,
      }
      const { items, next } = await listPage(db, list, page)
      return { items: await withSums({ accountId, environment }, items, nowMs), next }
    },

    async findConsoleAgent(key, nowMs) {
      const found = await findRecord(db, agents, key)
      const [agent] = await withSums(key, found ? [toAgent(found)] : [], nowMs)
      return agent
    },

    listConsoleKeys: ({ accountId }, page) =>
      listPage(
        db,
        {
          table: apiKeys,
          where: ofAccount(accountId),
          more: sql`
            (select u.used_at_ms from ${from(keyUses)} u
              where u.account_id = ${id('account', accountId)} and u.key_id = looked_at.id) as used_at_ms,
            ${ofAgent('name', accountId)} as agent_name`,
          toItem: (row, raw) => ({
            ...toApiKey(row),
            lastUsedAtMs: raw['used_at_ms'] === null ? null : Number(raw['used_at_ms']),
            agentName: raw['agent_name'] as string | null,
          }),
        },
        page,
      ),

    async search(scope, text, limit): Promise<Found[]> {
      const find = async (table: Table, kind: Exclude<Found['kind'], 'transaction'>, label: string) => {
        const words = sql.ref(label)
        const own = sql`select id, environment, ${words} from ${from(table)} where ${ofAccount(scope.accountId)}`
        const { rows } = await sql<{ id: unknown; label: string }>`
          select id, ${words} as label from (
            ${own} and id = ${id(kind, text)} union
            select * from (${own} order by id desc limit ${sql.lit(maxSearched)}) latest
              where ${holdsText(words, text)}) matching
          where environment = ${scope.environment}
          order by case when ${isText(words, text)} then 0 else 1 end, id desc limit ${sql.lit(limit)}`.execute(
          db,
        )
        return rows.map((row) => ({ kind, id: idFrom(kind, row.id), label: row.label }))
      }
      const found = await Promise.all([
        find(agents, 'agent', 'name'),
        find(mandates, 'mandate', 'purpose'),
        find(sellers, 'seller', 'domain'),
      ])
      const entry = await findEntry({ ...scope, id: text }, {})
      const label = (entry?.payment ?? entry?.evaluation)?.merchantDomain ?? ''
      const transactions: Found[] = entry ? [{ kind: 'transaction', id: text, label }] : []
      return [...found.flat(), ...transactions].slice(0, limit)
    },
  } satisfies Partial<ConsoleReads>
}
