import { environments, type Environment } from '@purser/wire/fields'

import { mintApiKey } from './domain/api-key.ts'
import { auditEvent, systemActor } from './domain/audit.ts'
import type { Account } from './domain/records.ts'
import { keyCreated, newApiKey } from './routes/api-keys.ts'
import type { RouteContext } from './routes/context.ts'

/** The keys that were minted, to be shown this once; those that the operator chose are left out. */
export type MintedKeys = Partial<Record<Environment, string>>

/**
 * The first account and its two operator keys, made when the store is empty. Undefined when it is not.
 */
export async function prepareFirstStart(
  { store, now, ids, randomBytes }: Pick<RouteContext, 'store' | 'now' | 'ids' | 'randomBytes'>,
  chosen: Readonly<Record<Environment, string | undefined>>,
): Promise<MintedKeys | undefined> {
  if (!(await store.isEmpty())) return undefined
  const nowMs = now()
  const account: Account = {
    id: ids.next('account'),
    name: 'First account',
    email: 'owner@localhost',
    idpUserId: 'first-account',
    createdAtMs: nowMs,
  }
  const minted: MintedKeys = {}
  const keys = environments.map((environment) => {
    const text = chosen[environment] ?? mintApiKey(environment, randomBytes)
    if (chosen[environment] === undefined) minted[environment] = text
    return newApiKey(text, {
      accountId: account.id,
      environment,
      id: ids.next('apiKey'),
      role: 'operator',
      agentId: null,
      label: `first ${environment} key`,
      createdAtMs: nowMs,
    })
  })
  const events = keys.map((key) => keyCreated(systemActor, key, ids.next('auditEvent')))
  const scope = { accountId: account.id, environment: 'sandbox' } as const
  const accountCreated = auditEvent(systemActor, scope, {
    id: ids.next('auditEvent'),
    type: 'account.created',
    subjectId: account.id,
    data: { name: account.name },
    atMs: nowMs,
  })
  const outcome = await store.createAccount(account, keys, [accountCreated, ...events])
  // Of several processes that start on an empty store at once, one makes the keys.
  return outcome === 'created' ? minted : undefined
}
