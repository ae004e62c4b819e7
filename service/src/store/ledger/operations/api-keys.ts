import type { ApiKey } from '../../../domain/records.ts'
import type { NewApiKey } from '../../store.ts'
import { lock, look, portOperation, put, unchanged, type Change } from '../operation.ts'
import { toApiKey } from '../reads/records.ts'
import { accounts, agents, apiKeys, auditEvents, keyHashes } from '../tables.ts'

export const issueApiKey = portOperation('issueApiKey', {
  reads: ([key]) => {
    const account = { id: key.accountId }
    return [
      // The account counts its working owner keys.
      isOwnerKey(key) ? lock(accounts, account) : look(accounts, account),
      ...(key.agentId === null ? [] : [lock(agents, { accountId: key.accountId, id: key.agentId })]),
    ]
  },

  decide([key, event], facts) {
    if (facts.written(apiKeys, key)) return unchanged('created')
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
})

export const revokeApiKey = portOperation('revokeApiKey', {
  // If two owners revoke each other's keys, one must see that the other key is gone: lock the account.
  reads: ([{ accountId, id }]) => [lock(accounts, { id: accountId }), lock(apiKeys, { accountId, id })],

  decide([{ accountId, id, mayBeLast = false }, event], facts) {
    const key = facts.row(apiKeys, { accountId, id })
    const account = facts.row(accounts, { id: accountId })
    if (!key || !account) return unchanged('not_found')
    if (key.revokedAtMs !== null) return unchanged(toApiKey(key))
    if (isOwnerKey(key) && !mayBeLast && account.ownerKeys <= 1) return unchanged('last_owner_key')
    const revoked = { ...key, revokedAtMs: event.createdAtMs }
    const counted = isOwnerKey(key) ? [put(accounts, { ...account, ownerKeys: account.ownerKeys - 1 })] : []
    return {
      outcome: toApiKey(revoked),
      changes: [
        put(apiKeys, revoked),
        ...counted,
        put(auditEvents, { ...event, environment: key.environment }),
      ],
    }
  },
})

export function isOwnerKey({ role }: Pick<ApiKey, 'role'>): boolean {
  return role === 'owner' || role === 'operator'
}

/** A new key, with the row that finds it by its hash. */
export function changesOfKey(key: NewApiKey): Change[] {
  const { accountId, id: keyId, secretHash } = key
  return [put(apiKeys, key), put(keyHashes, { secretHash, accountId, keyId })]
}
