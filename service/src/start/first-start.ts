import { environments, type Environment } from '@purser/wire/fields'

import { mintApiKey } from '../domain/api-key.ts'
import { auditEvent, systemActor } from '../domain/audit.ts'
import { firstUserId, type Account, type ApiKey } from '../domain/records.ts'
import { mintSessionToken, setUpLinkLifeMs } from '../domain/session.ts'
import { keyCreated, newApiKey } from '../routes/api-keys.ts'
import type { RouteContext } from '../routes/context.ts'

/** The generated keys, shown only this once; without those that the operator chose. */
export interface MintedKeys extends Partial<Record<Environment, string>> {
  /** Signs the first owner in to the console, once, through a link that expires. */
  readonly setUpToken?: string
}

/**
 * Creates the first account and its two operator keys if the store is empty. Undefined if it is not, or if another
 * process created them at the same time.
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
    idpUserId: firstUserId,
    createdAtMs: nowMs,
    disabledAtMs: null,
  }
  const minted: Partial<Record<Environment, string>> = {}
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
  // If several processes start on an empty store, only one creates the keys.
  if (outcome !== 'created') return undefined
  const [sandboxKey] = keys
  // An operator who chose the keys has them already, so no credentials are printed.
  if (!minted.sandbox || !sandboxKey) return minted
  // The keys are stored by now: a start that fails would never show them.
  const setUpToken = await prepareSetUpLink({ store, randomBytes, ids }, sandboxKey).catch(() => undefined)
  return setUpToken === undefined ? minted : { ...minted, setUpToken }
}

/** The token of a link that signs in to the console once; its session ends with the key. */
async function prepareSetUpLink(
  { store, randomBytes, ids }: Pick<RouteContext, 'store' | 'randomBytes' | 'ids'>,
  key: ApiKey,
): Promise<string> {
  const { text, ...token } = mintSessionToken(key.accountId, randomBytes)
  const link = {
    ...token,
    id: ids.next('session'),
    kind: 'set_up_link',
    role: 'operator',
    keyId: key.id,
    environment: null,
    createdAtMs: key.createdAtMs,
    usedAtMs: key.createdAtMs,
    endsAtMs: key.createdAtMs + setUpLinkLifeMs,
  } as const
  await store.createSession(link, undefined)
  return text
}
