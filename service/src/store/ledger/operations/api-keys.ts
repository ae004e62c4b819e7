import type { AuditEvent } from '../../../domain/records.ts'
import type { NewApiKey } from '../../store.ts'
import { lock, look, put, unchanged, type Operation, type RangeRead } from '../operation.ts'
import { accounts, agents, apiKeys, auditEvents, type ApiKeyRow } from '../tables.ts'

export interface KeyIssue {
  readonly key: NewApiKey
  readonly event: AuditEvent
}

/** Records a key. `not_found`: no such account, or no such agent in the scope of the key. */
export const issueApiKey: Operation<KeyIssue, 'created' | 'not_found' | 'agent_revoked'> = {
  name: 'issueApiKey',

  reads: ({ key }, facts) => [
    look(accounts, { id: key.accountId }),
    ...(key.agentId === null ? [] : [lock(agents, { accountId: key.accountId, id: key.agentId })]),
    ...(facts.isRerun ? [look(apiKeys, key)] : []),
  ],

  decide({ key, event }, facts) {
    if (facts.isRerun && facts.row(apiKeys, key)) return unchanged('created')
    if (!facts.row(accounts, { id: key.accountId })) return unchanged('not_found')
    if (key.agentId !== null) {
      const agent = facts.row(agents, { accountId: key.accountId, id: key.agentId })
      if (agent?.environment !== key.environment) return unchanged('not_found')
      if (agent.status !== 'active') return unchanged('agent_revoked')
    }
    return { outcome: 'created', changes: [put(apiKeys, key), put(auditEvents, event)] }
  },
}

export interface KeyRevocation {
  readonly accountId: string
  readonly id: string
  /** Whether it may be the last key of an owner. */
  readonly mayBeLast?: boolean
  readonly event: AuditEvent
}

/** Revokes a key, for good. The last key of an owner is refused, unless `mayBeLast`. */
export const revokeApiKey: Operation<KeyRevocation, ApiKeyRow | 'not_found' | 'last_owner_key'> = {
  name: 'revokeApiKey',

  // Of two owners who revoke each other's key, one must find the other's gone: the account is locked.
  reads: ({ accountId, id }) => [
    lock(accounts, { id: accountId }),
    look(apiKeys, { accountId, id }),
    keysOf(accountId),
  ],

  decide({ accountId, id, mayBeLast = false, event }, facts) {
    const key = facts.row(apiKeys, { accountId, id })
    if (!key) return unchanged('not_found')
    if (key.revokedAtMs !== null) return unchanged(key)
    const others = facts
      .rows(apiKeys, keysOf(accountId))
      .filter((other) => other.id !== id && isWorkingOwner(other))
    if (isWorkingOwner(key) && !mayBeLast && others.length === 0) return unchanged('last_owner_key')
    const revoked = { ...key, revokedAtMs: event.createdAtMs }
    return {
      outcome: revoked,
      changes: [put(apiKeys, revoked), put(auditEvents, { ...event, environment: key.environment })],
    }
  },
}

function isWorkingOwner({ role, revokedAtMs }: ApiKeyRow): boolean {
  return (role === 'owner' || role === 'operator') && revokedAtMs === null
}

/** An account has at most so many keys. */
const maxKeysOfAccount = 10_000

function keysOf(accountId: string): RangeRead {
  return {
    kind: 'range',
    table: apiKeys,
    where: { accountId },
    orderBy: 'id',
    limit: maxKeysOfAccount,
    isLocked: false,
  }
}
