import type { ListedStatus } from '@purser/wire/console/mandates'

import type { ConsoleMandate, MandateFilter } from '../../console/store.ts'
import { agents, mandates, type MandateRow } from '../tables.ts'
import { toMandate } from './records.ts'
import { from, id, type RawRow } from './rows.ts'
import { Sql, sql } from '../../sql.ts'

/** How mandates are listed, with the name and the status of their agents. */
export function consoleMandates(accountId: string) {
  return {
    table: mandates,
    more: sql`${ofAgent('name', accountId)} as agent_name, ${ofAgent('status', accountId)} as agent_status`,
    toItem: toConsoleMandate,
  }
}

/** One column of the agent of a mandate or a key, which is read only for displayed ones. */
export function ofAgent(column: 'name' | 'status', accountId: string): Sql {
  return sql`(select ${sql.ref(`a.${column}`)} from ${from(agents)} a
    where a.account_id = ${id('account', accountId)} and a.id = looked_at.agent_id)`
}

function toConsoleMandate(row: MandateRow, raw: RawRow): ConsoleMandate {
  return {
    ...toMandate(row),
    agentName: (raw['agent_name'] as string | null) ?? '',
    isAgentRevoked: raw['agent_status'] === 'revoked',
    isStopped: row.stoppedBy !== null && row.status === 'paused',
  }
}

/** Whether a mandate `looked_at` matches the filter of a list. */
export function fitsMandate(accountId: string, { budgetId, status, text, nowMs }: MandateFilter): Sql {
  return sql.and(
    status !== undefined && hasStatus(status, ofAgent('status', accountId), nowMs),
    budgetId !== undefined && holdsText(sql`cast(budget_path as text)`, JSON.stringify(budgetId)),
    text !== undefined && holdsText(sql`purpose`, text),
  )
}

/** Whether a mandate is listed under a status: a revoked agent has no active or paused mandates. */
function hasStatus(status: ListedStatus, agentStatus: Sql, nowMs: number): Sql {
  const isExpired = sql`(status = 'active' and expires_at_ms <= ${nowMs})`
  const conditions: Readonly<Record<ListedStatus, Sql>> = {
    revoked: sql`status = 'revoked'`,
    agent_revoked: sql`status <> 'revoked' and not ${isExpired} and ${agentStatus} = 'revoked'`,
    active: sql`status = 'active' and not ${isExpired} and ${agentStatus} <> 'revoked'`,
    expired: isExpired,
    paused: sql`status = 'paused' and ${agentStatus} <> 'revoked'`,
  }
  return conditions[status]
}

/**
 * Whether a text contains another, ignoring case. The database lower-cases both, for the letters that it supports.
 */
export function holdsText(text: Sql, part: string): Sql {
  return sql`replace(${folded(text)}, ${folded(part)}, '') <> ${folded(text)}`
}

/** Whether a text is another, without regard to case. */
export function isText(text: Sql, other: string): Sql {
  return sql`${folded(text)} = ${folded(other)}`
}

function folded(value: unknown): Sql {
  return new Sql((to) => sql`lower(${value} ${sql.raw(to.spelling.withLetters)})`.write(to))
}
