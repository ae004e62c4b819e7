import {
  createAccount,
  disableAccount,
  enableAccount,
  getAccount,
  listAccounts,
  type Account as WireAccount,
  type AccountStatus,
} from '@purser/wire/accounts'
import { environments } from '@purser/wire/fields'

import { mintApiKey } from '../domain/api-key.ts'
import type { Account, AuditEvent, Caller, Scope } from '../domain/records.ts'
import { created, ok, refuse } from '../http/answers.ts'
import { answerPage } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import { keyCreated, newApiKey, toIssuedWire } from './api-keys.ts'
import { eventBy, toNullableTimestamp, toTimestamp, type RouteContext } from './context.ts'

export function serveAccounts(serve: Serve, { store, now, ids, randomBytes }: RouteContext): void {
  serve(createAccount, async ({ caller, body }) => {
    const nowMs = now()
    const account: Account = {
      id: ids.next('account'),
      name: body.name,
      email: body.email,
      idpUserId: body.idp_user_id,
      createdAtMs: nowMs,
      disabledAtMs: null,
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
    const accountCreated = eventBy({ ids, now }, caller, 'account.created', account.id, {
      data: { name: account.name },
      atMs: nowMs,
    })
    const outcome = await store.createAccount(
      account,
      keys.map(({ key }) => key),
      [accountCreated, ...keys.map(({ key }) => keyCreated(caller, key, ids.next('auditEvent')))],
    )
    if (outcome !== 'created') return refuse(outcome)
    return created({ ...toWire(account), api_keys: keys.map(({ key, text }) => toIssuedWire(key, text)) })
  })

  serve(listAccounts, ({ query, url }) => answerPage(query, url, (page) => store.listAccounts(page), toWire))

  serve(getAccount, async ({ caller, params }) => {
    const mayShow = caller.role === 'operator' || params.account_id === caller.accountId
    const account = mayShow && (await store.findAccount({ id: params.account_id }))
    return account ? ok(toWire(account)) : refuse('not_found')
  })

  serve(disableAccount, async ({ caller, params }) => {
    // Disabling the last operator's account could not be undone.
    if (params.account_id === caller.accountId) return refuse('own_account')
    const account = await move(caller, params.account_id, 'disabled')
    if (account === 'not_found') return refuse(account)
    for (const scope of await scopesOf(account.id)) {
      // Void its proofs, so that captures already in progress charge nothing after this response.
      await store.voidHolds(scope, accountEvent(caller, scope, 'proofs.voided'))
    }
    return ok(toWire(account))
  })

  serve(enableAccount, async ({ caller, params }) => {
    const account = await move(caller, params.account_id, 'active')
    return account === 'not_found' ? refuse(account) : ok(toWire(account))
  })

  /** Recorded in the audit logs of both the changed account and the operator's account. */
  async function move(caller: Caller, accountId: string, to: AccountStatus): Promise<Account | 'not_found'> {
    const type = to === 'disabled' ? 'account.disabled' : 'account.enabled'
    const scopes = await scopesOf(accountId)
    const own = accountId === caller.accountId ? [] : [accountEvent(caller, caller, type, accountId)]
    const events = [...scopes.map((scope) => accountEvent(caller, scope, type)), ...own]
    return store.moveAccount(accountId, to, { atMs: now(), events })
  }

  /** The environments of an account, with its test clock. */
  function scopesOf(accountId: string): Promise<Scope[]> {
    return Promise.all(
      environments.map(async (environment) => {
        const scope = { accountId, environment }
        return { ...scope, clockOffsetMs: await store.readClock(scope) }
      }),
    )
  }

  function accountEvent(
    { keyId }: Caller,
    scope: Scope,
    type: 'account.disabled' | 'account.enabled' | 'proofs.voided',
    subjectId: string = scope.accountId,
  ): AuditEvent {
    return eventBy({ ids, now }, { ...scope, keyId }, type, subjectId)
  }
}

/** As the interface writes it. */
function toWire(account: Account): WireAccount {
  return {
    id: account.id,
    name: account.name,
    email: account.email,
    idp_user_id: account.idpUserId,
    status: account.disabledAtMs === null ? 'active' : 'disabled',
    created_at: toTimestamp(account.createdAtMs),
    disabled_at: toNullableTimestamp(account.disabledAtMs),
  }
}
