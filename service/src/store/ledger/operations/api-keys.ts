import type { ApiKey, AuditEvent } from '../../../domain/records.ts'
import type { NewApiKey } from '../../store.ts'
import { lock, look, put, unchanged, type Change, type Operation } from '../operation.ts'
import { accounts, agents, apiKeys, auditEvents, keyHashes, type ApiKeyRow } from '../tables.ts'

export interface KeyIssue {
  readonly key: NewApiKey
  readonly event: AuditEvent
}

/** Records a key. `not_found`: no such account, or no such agent in the key's scope. */
export const issueApiKey: Operation<KeyIssue, 'created' | 'not_found' | 'agent_revoked'> = {
  name: 'issueApiKey',

  reads: ({ key }) => {
    const account = { id: key.accountId }
    return [
      // The account counts its working owner keys.
      isOwnerKey(key) ? lock(accounts, account) : look(accounts, account),
      ...(key.agentId === null ? [] : [lock(agents, { accountId: key.accountId, id: key.agentId })]),
    ]
  },

  decide({ key, event }, facts) {
    if (facts.isRerun && facts.row(apiKeys, key)) return unchanged('created')
    const account = facts.row(accounts, { id: key.accountId })
    if (!account) return unchanged('not_found')
    if (key.agentId !== null) {
      const agent = facts.row(agents, { accountId: key.accountId, id: key.agentId })
      if (agent?.environment !== key.environment) return unchanged('not_found')
      if (agent.status !== 'active') return unchanged('agent_revoked')
    }
    const counted = isOwnerKey(key) ? [put(accounts, { ...account, ownerKeys: account.ownerKeys + 1 })] : []
    return { outcome: 'created', changes: [...changesOfKey(key), ...counted, put(auditEvents, event)] }
  },
}

export interface KeyRevocation {
  readonly accountId: string
  readonly id: string
  /** Whether it may be the last owner key. */
  readonly mayBeLast?: boolean
  readonly event: AuditEvent
}

/** Revokes a key permanently. Refuses to revoke the last owner key, unless `mayBeLast`. */
export const revokeApiKey: Operation<KeyRevocation, ApiKeyRow | 'not_found' | 'last_owner_key'> = {
  name: 'revokeApiKey',

  // If two owners revoke each other's keys, one must see that the other key is gone: lock the account.
  reads: ({ accountId, id }) => [lock(accounts, { id: accountId }), lock(apiKeys, { accountId, id })],

  decide({ accountId, id, mayBeLast = false, event }, facts) {
    const key = facts.row(apiKeys, { accountId, id })
    const account = facts.row(accounts, { id: accountId })
    if (!key || !account) return unchanged('not_found')
    if (key.revokedAtMs !== null) return unchanged(key)
    if (isOwnerKey(key) && !mayBeLast && account.ownerKeys <= 1) return unchanged('last_owner_key')
    const revoked = { ...key, revokedAtMs: event.createdAtMs }
    const counted = isOwnerKey(key) ? [put(accounts, { ...account, ownerKeys: account.ownerKeys - 1 })] : []
    return {
      outcome: revoked,
      changes: [
        put(apiKeys, revoked),
        ...counted,
        put(auditEvents, { ...event, environment: key.environment }),
      ],
    }
  },
}

export function isOwnerKey({ role }: Pick<ApiKey, 'role'>): boolean {
  return role === 'owner' || role === 'operator'
}

/** A new key, with the row that finds it by its hash. */
export function changesOfKey(key: NewApiKey): Change[] {
  const { accountId, id: keyId, secretHash } = key
  return [put(apiKeys, key), put(keyHashes, { secretHash, accountId, keyId })]
}
