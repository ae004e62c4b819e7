import { createAccount } from '@purser/wire/accounts'
import { environments } from '@purser/wire/fields'

import { mintApiKey } from '../domain/api-key.ts'
import { auditEvent } from '../domain/audit.ts'
import type { Account } from '../domain/records.ts'
import { created, refuse } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import { keyCreated, newApiKey, toIssuedWire } from './api-keys.ts'
import { toTimestamp, type RouteContext } from './context.ts'

export function serveAccounts(serve: Serve, { store, now, ids, randomBytes }: RouteContext): void {
  serve(createAccount, async ({ caller, body }) => {
    const nowMs = now()
    const account: Account = {
      id: ids.next('account'),
      name: body.name,
      email: body.email,
      idpUserId: body.idp_user_id,
      createdAtMs: nowMs,
    }
    const keys = environments.map((environment) => {
      const text = mintApiKey(environment, randomBytes)
      const key = newApiKey(text, {
        accountId: account.id,
        environment,
        id: ids.next('apiKey'),
        role: 'owner',
        agentId: null,
        label: `first ${environment} key`,
        createdAtMs: nowMs,
      })
      return { text, key }
    })
    const accountCreated = auditEvent(caller, caller, {
      id: ids.next('auditEvent'),
      type: 'account.created',
      subjectId: account.id,
      data: { name: account.name },
      atMs: nowMs,
    })
    const outcome = await store.createAccount(
      account,
      keys.map(({ key }) => key),
      [accountCreated, ...keys.map(({ key }) => keyCreated(caller, key, ids.next('auditEvent')))],
    )
    if (outcome !== 'created') return refuse(outcome)
    return created({
      id: account.id,
      name: account.name,
      email: account.email,
      idp_user_id: account.idpUserId,
      created_at: toTimestamp(account.createdAtMs),
      api_keys: keys.map(({ key, text }) => toIssuedWire(key, text)),
    })
  })
}
