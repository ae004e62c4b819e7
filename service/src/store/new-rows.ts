import type { Agent, AuditEvent, Mandate } from '../domain/records.ts'
import type { NewApiKey } from './store.ts'

/** How a new record is written, which is the same on both stores. */
export interface NewRow<Record> {
  readonly table: string
  readonly columns: readonly string[]
  /** The values of a record, in the order of the columns. */
  readonly valuesOf: (record: Record) => (string | number | bigint | null)[]
}

/** The statement that writes such a record; `parameter` spells the place of a value, counted from 1. */
export function insertOf(
  { table, columns }: Pick<NewRow<never>, 'table' | 'columns'>,
  parameter: (place: number) => string,
): string {
  const values = columns.map((_, index) => parameter(index + 1))
  return `insert into ${table} (${columns.join(', ')}) values (${values.join(', ')})`
}

export const newAgentRow: NewRow<Agent> = {
  table: 'agents',
  columns: [
    'account_id',
    'id',
    'environment',
    'name',
    'description',
    'capabilities',
    'status',
    'created_at_ms',
  ],
  valuesOf: (agent) => [
    agent.accountId,
    agent.id,
    agent.environment,
    agent.name,
    agent.description,
    JSON.stringify(agent.capabilities),
    agent.status,
    agent.createdAtMs,
  ],
}

export const newMandateRow: NewRow<Mandate> = {
  table: 'mandates',
  columns: [
    'account_id',
    'id',
    'environment',
    'agent_id',
    'purpose',
    'max_total_text',
    'max_total_micro',
    'max_per_transaction_text',
    'max_per_transaction_micro',
    'currency',
    'allowed_sellers',
    'allowed_categories',
    'expires_at_text',
    'expires_at_ms',
    'status',
    'created_at_ms',
    'updated_at_ms',
  ],
  valuesOf: (mandate) => [
    mandate.accountId,
    mandate.id,
    mandate.environment,
    mandate.agentId,
    mandate.purpose,
    mandate.maxTotalText,
    mandate.maxTotalMicro,
    mandate.maxPerTransactionText,
    mandate.maxPerTransactionMicro,
    mandate.currency,
    JSON.stringify(mandate.allowedSellers),
    JSON.stringify(mandate.allowedCategories),
    mandate.expiresAtText,
    mandate.expiresAtMs,
    mandate.status,
    mandate.createdAtMs,
    mandate.updatedAtMs,
  ],
}

export const newApiKeyRow: NewRow<NewApiKey> = {
  table: 'api_keys',
  columns: [
    'account_id',
    'id',
    'environment',
    'role',
    'agent_id',
    'label',
    'hint',
    'created_at_ms',
    'revoked_at_ms',
  ],
  valuesOf: (key) => [
    key.accountId,
    key.id,
    key.environment,
    key.role,
    key.agentId,
    key.label,
    key.hint,
    key.createdAtMs,
    key.revokedAtMs,
  ],
}

export const newEventRow: NewRow<AuditEvent> = {
  table: 'recorded_events',
  columns: ['account_id', 'id', 'environment', 'type', 'actor', 'subject_id', 'data', 'created_at_ms'],
  valuesOf: (event) => [
    event.accountId,
    event.id,
    event.environment,
    event.type,
    event.actor,
    event.subjectId,
    JSON.stringify(event.data),
    event.createdAtMs,
  ],
}
