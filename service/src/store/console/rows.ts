import { sql, type RawBuilder } from 'kysely'

import type { Scope } from '../../domain/records.ts'
import type { ConsoleMandate } from './store.ts'
import { toMandate, type MandateRow } from '../rows.ts'

/** A mandate with the name and the status of its agent. */
export interface ConsoleMandateRow extends MandateRow {
  agent_name: string | null
  agent_status: string | null
}

/** The columns of a mandate and those of its agent, who is looked up for the mandates that are shown alone. */
export function withAgent(mandates: string, scope: Scope): RawBuilder<unknown> {
  return sql`${sql.table(mandates)}.*, ${ofAgent('name', mandates, scope)} as agent_name,
    ${ofAgent('status', mandates, scope)} as agent_status`
}

/** One column of a mandate's agent, by the primary key: one look for each mandate, however many agents there are. */
export function ofAgent(
  column: 'name' | 'status',
  mandates: string,
  { accountId }: Scope,
): RawBuilder<unknown> {
  return sql`(select ${sql.ref(`a.${column}`)} from agents a
    where a.account_id = ${accountId} and a.id = ${sql.ref(`${mandates}.agent_id`)})`
}

export function toConsoleMandate(row: ConsoleMandateRow): ConsoleMandate {
  return {
    ...toMandate(row),
    agentName: row.agent_name ?? '',
    isAgentRevoked: row.agent_status === 'revoked',
    isStopped: row.stopped_by !== null && row.status === 'paused',
  }
}
