import type { ListedStatus } from '@purser/wire/console/mandates'

import type { Scope } from '../../../domain/records.ts'
import type { ConsoleMandate, MandateFilter } from '../../console/store.ts'
import { agents, mandates } from '../tables.ts'
import { columnsOf, idOf, rowOf, tableOf, type ReadDialect } from './dialect.ts'
import { toMandate } from './records.ts'
import { sql, type Sql } from '../../sql.ts'

/** A mandate with the name and the status of its agent. */
export type ConsoleMandateRow = Readonly<Record<string, unknown>> & {
  readonly agent_name: string | null
  readonly agent_status: string | null
}

/** The columns of a mandate and its agent, which is joined only for displayed mandates. */
export function withAgent(dialect: ReadDialect, alias: string, scope: Scope): Sql {
  return sql`${columnsOf(mandates, alias)}, ${ofAgent(dialect, 'name', alias, scope)} as agent_name,
    ${ofAgent(dialect, 'status', alias, scope)} as agent_status`
}

/** One column of a mandate's agent. */
function ofAgent(dialect: ReadDialect, column: 'name' | 'status', alias: string, { accountId }: Scope): Sql {
  return sql`(select ${sql.ref(`a.${column}`)} from ${tableOf(dialect, agents)} a
    where a.account_id = ${idOf(dialect, 'account', accountId)} and a.id = ${sql.ref(`${alias}.agent_id`)})`
}

export function toConsoleMandate(raw: ConsoleMandateRow): ConsoleMandate {
  const row = rowOf(mandates, raw)
  return {
    ...toMandate(row),
    agentName: raw.agent_name ?? '',
    isAgentRevoked: raw.agent_status === 'revoked',
    isStopped: row.stoppedBy !== null && row.status === 'paused',
  }
}

/** Whether a mandate matches the filter of a list. */
export function fitsMandate(
  dialect: ReadDialect,
  alias: string,
  {
    scope,
    filter: { budgetId, status, text, nowMs },
  }: { readonly scope: Scope; readonly filter: MandateFilter },
): Sql {
  const conditions = [sql`1 = 1`]
  const agentStatus = ofAgent(dialect, 'status', alias, scope)
  if (status !== undefined) conditions.push(hasStatus(status, agentStatus, nowMs))
  if (budgetId !== undefined)
    conditions.push(holdsText(sql`cast(budget_path as text)`, JSON.stringify(budgetId)))
  if (text !== undefined) conditions.push(holdsText(sql`purpose`, text))
  return sql.join(conditions, sql` and `)
}

/** Whether a mandate is listed under a status: a revoked agent has no active or paused mandates. */
function hasStatus(status: ListedStatus, agentStatus: Sql, nowMs: number): Sql {
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
 * Whether a text contains another, ignoring case. The database lower-cases both, for the letters that it supports.
 */
export function holdsText(text: Sql, part: string): Sql {
  return sql`replace(lower(${text}), lower(${part}), '') <> lower(${text})`
}
