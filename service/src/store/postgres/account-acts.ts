import type { QueryConfig } from 'pg'

import type { AccountStatus } from '@purser/wire/accounts'

import type { Account, ApiKey, AuditEvent } from '../../domain/records.ts'
import { newApiKeyRow } from '../new-rows.ts'
import { toAccount, toApiKey, type AccountRow, type ApiKeyRow } from '../rows.ts'
import type { NewApiKey } from '../store.ts'
import { lockAgent, refusalOfAgent } from './agent-acts.ts'
import { insertEvent, isRecorded } from './audit-acts.ts'
import { insertRow, query, rowsOf } from './queries.ts'
import type { Transaction } from './transaction.ts'

// The acts on accounts and their keys.

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

export async function moveAccount(
  transaction: Transaction,
  id: string,
  to: AccountStatus,
  { atMs, events }: { readonly atMs: number; readonly events: readonly AuditEvent[] },
): Promise<Account | 'not_found'> {
  const [found] = await transaction.ask(query('select * from accounts where id = $1 for no key update', [id]))
  const [row] = rowsOf<AccountRow>(found)
  const account = row && toAccount(row)
  // An attempt that follows a lost commit finds the account as it is to be.
  if (!account || (account.disabledAtMs !== null) === (to === 'disabled')) {
    await transaction.commit()
    return account ?? 'not_found'
  }
  const disabledAtMs = to === 'disabled' ? atMs : null
  await transaction.commit(
    query('update accounts set disabled_at_ms = $2 where id = $1', [id, disabledAtMs]),
    ...events.map(insertEvent),
  )
  return { ...account, disabledAtMs }
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
  {
    accountId,
    id,
    mayBeLast = false,
  }: { readonly accountId: string; readonly id: string; readonly mayBeLast?: boolean },
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
  const isLast = isOwnerKey && !mayBeLast && rowsOf(others).length === 0
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

function insertKey(key: NewApiKey): QueryConfig[] {
  return [
    insertRow(newApiKeyRow, key),
    query('insert into api_key_hashes (secret_hash, account_id, key_id) values ($1, $2, $3)', [
      key.secretHash,
      key.accountId,
      key.id,
    ]),
  ]
}
