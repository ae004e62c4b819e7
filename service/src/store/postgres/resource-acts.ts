import type { QueryConfig } from 'pg'

import type { MandateStatus } from '@purser/wire/mandates'

import type { Account, Agent, ApiKey, AuditEvent, Mandate, Seller } from '../../domain/records.ts'
import { toAgent, toApiKey, toMandate, type AgentRow, type ApiKeyRow, type MandateRow } from '../rows.ts'
import type { NewApiKey, RecordKey } from '../store.ts'
import { endHolds } from './hold-acts.ts'
import { query, rowsOf } from './queries.ts'
import type { Transaction } from './transaction.ts'

// The acts on accounts, keys, agents, mandates and sellers. Each brings the id of its event, so a second
// attempt knows whether the first was written. Acts that change what is there find it changed.

export async function createAccount(
  transaction: Transaction,
  account: Account,
  keys: readonly NewApiKey[],
  events: readonly AuditEvent[],
): Promise<'created' | 'account_exists'> {
  const { id, name, email, idpUserId, createdAtMs } = account
  const isNew = query(
    `insert into accounts (id, name, email, idp_user_id, created_at_ms) values ($1, $2, $3, $4, $5)
     on conflict do nothing returning id`,
    [id, name, email, idpUserId, createdAtMs],
  )
  const [inserted, own] = await transaction.ask(isNew, query('select 1 from accounts where id = $1', [id]))
  if (rowsOf(inserted).length > 0) {
    await transaction.commit(...keys.flatMap(insertKey), ...events.map(insertEvent))
    return 'created'
  }
  await transaction.commit()
  return transaction.isRerun && rowsOf(own).length > 0 ? 'created' : 'account_exists'
}

export async function issueApiKey(
  transaction: Transaction,
  key: NewApiKey,
  event: AuditEvent,
): Promise<'created' | 'not_found' | 'agent_revoked'> {
  if (await isRecorded(transaction, event)) return 'created'
  const [account, agent] = await transaction.ask(
    query('select 1 from accounts where id = $1', [key.accountId]),
    lockAgent({ ...key, id: key.agentId ?? '' }, 'share'),
  )
  const refusal = rowsOf(account).length === 0 ? 'not_found' : refusalOfAgent(key.agentId, rowsOf(agent))
  if (refusal) {
    await transaction.commit()
    return refusal
  }
  await transaction.commit(...insertKey(key), insertEvent(event))
  return 'created'
}

export async function revokeApiKey(
  transaction: Transaction,
  { accountId, id }: { readonly accountId: string; readonly id: string },
  event: AuditEvent,
): Promise<ApiKey | 'not_found' | 'last_owner_key'> {
  const [, found, others] = await transaction.ask(
    // One at a time in an account, or the last two owner keys could go at once.
    query('select 1 from accounts where id = $1 for no key update', [accountId]),
    query('select * from api_keys where account_id = $1 and id = $2', [accountId, id]),
    query(
      `select 1 from api_keys
       where account_id = $1 and id <> $2 and role in ('owner', 'operator') and revoked_at_ms is null limit 1`,
      [accountId, id],
    ),
  )
  const [row] = rowsOf<ApiKeyRow>(found)
  const isOwnerKey = row?.role === 'owner' || row?.role === 'operator'
  const isLast = isOwnerKey && rowsOf(others).length === 0
  if (!row || row.revoked_at_ms !== null || isLast) {
    await transaction.commit()
    if (!row) return 'not_found'
    return row.revoked_at_ms === null ? 'last_owner_key' : toApiKey(row)
  }
  await transaction.commit(
    query('update api_keys set revoked_at_ms = $3 where account_id = $1 and id = $2', [
      accountId,
      id,
      event.createdAtMs,
    ]),
    insertEvent({ ...event, environment: row.environment }),
  )
  return { ...toApiKey(row), revokedAtMs: event.createdAtMs }
}

export async function createAgent(transaction: Transaction, agent: Agent, event: AuditEvent): Promise<void> {
  if (await isRecorded(transaction, event)) return
  await transaction.commit(
    query(
      `insert into agents (account_id, id, environment, name, description, capabilities, status, created_at_ms)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        agent.accountId,
        agent.id,
        agent.environment,
        agent.name,
        agent.description,
        JSON.stringify(agent.capabilities),
        agent.status,
        agent.createdAtMs,
      ],
    ),
    insertAccountOf(agent),
    insertEvent(event),
  )
}

export async function revokeAgent(
  transaction: Transaction,
  key: RecordKey,
  event: AuditEvent,
): Promise<Agent | 'not_found'> {
  const [found] = await transaction.ask(lockAgent(key, 'no key update'))
  const [row] = rowsOf<AgentRow>(found)
  if (!row || row.status === 'revoked') {
    await transaction.commit()
    return row ? toAgent(row) : 'not_found'
  }
  const [updated, , ended] = await transaction.ask(
    query(
      `update agents set status = 'revoked', revoked_at_ms = $3 where account_id = $1 and id = $2 returning *`,
      [key.accountId, key.id, event.createdAtMs],
    ),
    // The agent is locked, so it gets no new mandate meanwhile; in one order, as payments lock them.
    query(
      `select 1 from mandates where account_id = $1 and agent_id = $2 order by account_id, id for no key update`,
      [key.accountId, key.id],
    ),
    endHolds('agent_id', key, event.createdAtMs),
  )
  const [agent = row] = rowsOf<AgentRow>(updated)
  await transaction.commit(insertEvent(withVoided(event, ended)))
  return toAgent(agent)
}

export async function createMandate(
  transaction: Transaction,
  mandate: Mandate,
  event: AuditEvent,
): Promise<'created' | 'not_found' | 'agent_revoked'> {
  if (await isRecorded(transaction, event)) return 'created'
  const [agent] = await transaction.ask(lockAgent({ ...mandate, id: mandate.agentId }, 'share'))
  const refusal = refusalOfAgent(mandate.agentId, rowsOf(agent))
  if (refusal) {
    await transaction.commit()
    return refusal
  }
  await transaction.commit(
    query(
      `insert into mandates (account_id, id, environment, agent_id, purpose, max_total_text, max_total_micro,
         max_per_transaction_text, max_per_transaction_micro, currency, allowed_sellers, allowed_categories,
         expires_at_text, expires_at_ms, status, created_at_ms, updated_at_ms)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
      [
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
    ),
    insertAccountOf(mandate),
    insertEvent(event),
  )
  return 'created'
}

export async function moveMandate(
  transaction: Transaction,
  key: RecordKey,
  to: MandateStatus,
  event: AuditEvent,
): Promise<Mandate | 'not_found' | 'mandate_revoked'> {
  const [found] = await transaction.ask(
    query('select * from mandates where account_id = $1 and id = $2 and environment = $3 for no key update', [
      key.accountId,
      key.id,
      key.environment,
    ]),
  )
  const [row] = rowsOf<MandateRow>(found)
  if (!row || row.status === to || row.status === 'revoked') {
    // Who pauses what a stop has paused already wants it paused when the stop is over, too.
    const isStopped = row?.status === to && row.stopped_by !== null
    await transaction.commit(...(isStopped ? [keepPaused(key)] : []))
    if (!row) return 'not_found'
    return row.status === to ? toMandate(row) : 'mandate_revoked'
  }
  const [, ended, moved] = await transaction.ask(
    query(
      'update mandates set status = $3, stopped_by = null, updated_at_ms = $4 where account_id = $1 and id = $2',
      [key.accountId, key.id, to, event.createdAtMs],
    ),
    to === 'active' ? query('select 0 as voided') : endHolds('id', key, event.createdAtMs),
    query('select * from mandates where account_id = $1 and id = $2', [key.accountId, key.id]),
  )
  const [mandate = row] = rowsOf<MandateRow>(moved)
  await transaction.commit(insertEvent(withVoided(event, ended)))
  return toMandate(mandate)
}

export async function createSeller(
  transaction: Transaction,
  seller: Seller,
  event: AuditEvent,
): Promise<'created' | 'seller_exists'> {
  const { accountId, id, environment, name, domain, priceConfig, createdAtMs } = seller
  if (await isRecorded(transaction, event)) return 'created'
  const [claimed] = await transaction.ask(
    query(
      `insert into seller_domains (environment, domain, account_id, seller_id) values ($1, $2, $3, $4)
       on conflict do nothing returning seller_id`,
      [environment, domain, accountId, id],
    ),
  )
  if (rowsOf(claimed).length === 0) {
    await transaction.commit()
    return 'seller_exists'
  }
  await transaction.commit(
    query(
      `insert into sellers (account_id, id, environment, name, domain, price_config, created_at_ms)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [accountId, id, environment, name, domain, JSON.stringify(priceConfig), createdAtMs],
    ),
    insertEvent(event),
  )
  return 'created'
}

function keepPaused({ accountId, id }: RecordKey): QueryConfig {
  return query('update mandates set stopped_by = null where account_id = $1 and id = $2', [accountId, id])
}

export async function recordEvent(transaction: Transaction, event: AuditEvent): Promise<void> {
  if (await isRecorded(transaction, event)) return
  await transaction.commit(insertEvent(event))
}

/** Whether an earlier attempt wrote the act of this event; then nothing is left to do. */
async function isRecorded(transaction: Transaction, { accountId, id }: AuditEvent): Promise<boolean> {
  if (!transaction.isRerun) return false
  const [found] = await transaction.ask(
    query('select 1 from recorded_events where account_id = $1 and id = $2', [accountId, id]),
  )
  if (rowsOf(found).length === 0) return false
  await transaction.commit()
  return true
}

function lockAgent({ accountId, id, environment }: RecordKey, mode: 'share' | 'no key update'): QueryConfig {
  return query(`select * from agents where account_id = $1 and id = $2 and environment = $3 for ${mode}`, [
    accountId,
    id,
    environment,
  ])
}

function refusalOfAgent(
  agentId: string | null,
  found: readonly AgentRow[],
): 'not_found' | 'agent_revoked' | undefined {
  if (agentId === null) return undefined
  const [agent] = found
  if (!agent) return 'not_found'
  return agent.status === 'active' ? undefined : 'agent_revoked'
}

function insertKey(key: NewApiKey): QueryConfig[] {
  return [
    query(
      `insert into api_keys (account_id, id, environment, role, agent_id, label, hint, created_at_ms, revoked_at_ms)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
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
    ),
    query('insert into api_key_hashes (secret_hash, account_id, key_id) values ($1, $2, $3)', [
      key.secretHash,
      key.accountId,
      key.id,
    ]),
  ]
}

function insertAccountOf({
  id,
  accountId,
}: {
  readonly id: string
  readonly accountId: string
}): QueryConfig {
  return query('insert into record_accounts (id, account_id) values ($1, $2)', [id, accountId])
}

export function insertEvent(event: AuditEvent): QueryConfig {
  return query(
    `insert into recorded_events (account_id, id, environment, type, actor, subject_id, data, created_at_ms)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      event.accountId,
      event.id,
      event.environment,
      event.type,
      event.actor,
      event.subjectId,
      JSON.stringify(event.data),
      event.createdAtMs,
    ],
  )
}

function withVoided(event: AuditEvent, ended: { readonly rows: unknown[] } | undefined): AuditEvent {
  const [row] = rowsOf<{ voided: number }>(ended)
  return { ...event, data: { ...event.data, voided_holds: row?.voided ?? 0 } }
}
