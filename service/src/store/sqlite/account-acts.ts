import type { AccountStatus } from '@purser/wire/accounts'

import type { ApiKey, AuditEvent, Account } from '../../domain/records.ts'
import { insertOf, newApiKeyRow } from '../new-rows.ts'
import { toAccount, toApiKey, type AccountRow, type ApiKeyRow } from '../rows.ts'
import type { NewApiKey } from '../store.ts'
import type { AuditActs } from './audit-acts.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** The acts on accounts and their keys. */
export function prepareAccountActs(db: SqliteDatabase, { recordEvent }: AuditActs) {
  const insertAccount = db.prepare(`
    insert into accounts (id, name, email, idp_user_id, created_at_ms) values (?, ?, ?, ?, ?)
    on conflict (idp_user_id) do nothing`)
  const selectAccount = db.prepare<[string], AccountRow>('select * from accounts where id = ?')
  const setDisabled = db.prepare('update accounts set disabled_at_ms = ? where id = ?')
  const selectDisabled = db
    .prepare<[], string>('select id from accounts where disabled_at_ms is not null')
    .pluck()
  const accountExists = db.prepare('select 1 from accounts where id = ?').pluck()
  const agentStatus = db
    .prepare('select status from agents where account_id = ? and id = ? and environment = ?')
    .pluck()
  const insertKey = db.prepare(insertOf(newApiKeyRow, () => '?'))
  const insertKeyHash = db.prepare(
    'insert into api_key_hashes (secret_hash, account_id, key_id) values (?, ?, ?)',
  )
  const selectKey = db.prepare<[string, string], ApiKeyRow>(
    'select * from api_keys where account_id = ? and id = ?',
  )
  const otherOwnerKey = db
    .prepare(
      `select 1 from api_keys
       where account_id = ? and id <> ? and role in ('owner', 'operator') and revoked_at_ms is null limit 1`,
    )
    .pluck()
  const setRevoked = db.prepare('update api_keys set revoked_at_ms = ? where account_id = ? and id = ?')

  function recordKey(key: NewApiKey): void {
    insertKey.run(...newApiKeyRow.valuesOf(key))
    insertKeyHash.run(key.secretHash, key.accountId, key.id)
  }

  /** The disabled accounts, which are few; read again after one has changed, or a transaction was undone. */
  let disabled: ReadonlySet<string> | undefined

  return {
    isDisabled(accountId: string): boolean {
      disabled ??= new Set(selectDisabled.all())
      return disabled.has(accountId)
    },

    /** Must be called when what the acts wrote was undone. */
    forgetDisabled(): void {
      disabled = undefined
    },

    moveAccount(
      id: string,
      to: AccountStatus,
      { atMs, events }: { readonly atMs: number; readonly events: readonly AuditEvent[] },
    ): Account | 'not_found' {
      const row = selectAccount.get(id)
      if (!row) return 'not_found'
      const account = toAccount(row)
      if ((account.disabledAtMs !== null) === (to === 'disabled')) return account
      const disabledAtMs = to === 'disabled' ? atMs : null
      setDisabled.run(disabledAtMs, id)
      disabled = undefined
      for (const event of events) recordEvent(event)
      return { ...account, disabledAtMs }
    },

    createAccount(
      account: Account,
      keys: readonly NewApiKey[],
      events: readonly AuditEvent[],
    ): 'created' | 'account_exists' {
      const { id, name, email, idpUserId, createdAtMs } = account
      if (insertAccount.run(id, name, email, idpUserId, createdAtMs).changes === 0) return 'account_exists'
      for (const key of keys) recordKey(key)
      for (const event of events) recordEvent(event)
      return 'created'
    },

    issueApiKey(key: NewApiKey, event: AuditEvent): 'created' | 'not_found' | 'agent_revoked' {
      if (accountExists.get(key.accountId) === undefined) return 'not_found'
      if (key.agentId !== null) {
        const status = agentStatus.get(key.accountId, key.agentId, key.environment)
        if (status === undefined) return 'not_found'
        if (status !== 'active') return 'agent_revoked'
      }
      recordKey(key)
      recordEvent(event)
      return 'created'
    },

    revokeApiKey(
      {
        accountId,
        id,
        mayBeLast = false,
      }: { readonly accountId: string; readonly id: string; readonly mayBeLast?: boolean },
      event: AuditEvent,
    ): ApiKey | 'not_found' | 'last_owner_key' {
      const row = selectKey.get(accountId, id)
      if (!row) return 'not_found'
      const key = toApiKey(row)
      if (key.revokedAtMs !== null) return key
      const isOwnerKey = key.role === 'owner' || key.role === 'operator'
      if (isOwnerKey && !mayBeLast && otherOwnerKey.get(accountId, id) === undefined) return 'last_owner_key'
      setRevoked.run(event.createdAtMs, accountId, id)
      recordEvent({ ...event, environment: key.environment })
      return { ...key, revokedAtMs: event.createdAtMs }
    },
  }
}

export type AccountActs = ReturnType<typeof prepareAccountActs>
