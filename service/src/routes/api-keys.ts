import {
  createApiKey,
  listApiKeys,
  revokeApiKey,
  type ApiKey as WireApiKey,
  type IssuedApiKey,
} from '@purser/wire/api-keys'
import type { ValidationItem } from '@purser/wire/errors'

import { auditEvent, type systemActor } from '../domain/audit.ts'
import { hashApiKey, hintOf, mintApiKey } from '../domain/api-key.ts'
import type { ApiKey, AuditEvent, Caller } from '../domain/records.ts'
import { created, ok, refuse, unprocessable } from '../http/answers.ts'
import { answerPage } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import { errorOf } from '../http/validation/refusal.ts'
import type { NewApiKey } from '../store/store.ts'
import { accountMeant, eventBy, toNullableTimestamp, toTimestamp, type RouteContext } from './context.ts'

export function serveApiKeys(serve: Serve, { store, now, ids, randomBytes }: RouteContext): void {
  serve(createApiKey, async ({ caller, body }) => {
    const fault = agentIdFault(body)
    if (fault) return unprocessable([fault])
    const accountId = body.account_id ?? caller.accountId
    const isOperator = caller.role === 'operator'
    if (!isOperator && (accountId !== caller.accountId || body.role === 'operator')) {
      return refuse('insufficient_scope')
    }
    const text = mintApiKey(body.environment, randomBytes)
    const key = newApiKey(text, {
      accountId,
      environment: body.environment,
      id: ids.next('apiKey'),
      role: body.role,
      agentId: body.agent_id ?? null,
      label: body.label ?? null,
      createdAtMs: now(),
    })
    const outcome = await store.issueApiKey(key, keyCreated(caller, key, ids.next('auditEvent')))
    return outcome === 'created' ? created(toIssuedWire(key, text)) : refuse(outcome)
  })

  serve(listApiKeys, async ({ caller, query, url }) => {
    const account = await accountMeant(caller, query.account_id, store)
    if (typeof account === 'string') return refuse(account)
    return answerPage(query, url, (page) => store.listApiKeys(account, page), toWire)
  })

  serve(revokeApiKey, async ({ caller, params, query }) => {
    const account = await accountMeant(caller, query.account_id, store)
    if (typeof account === 'string') return refuse(account)
    const { accountId } = account
    const ofAccount = { ...caller, accountId }
    const event = eventBy({ ids, now }, ofAccount, 'api_key.revoked', params.key_id, { atMs: now() })
    // An operator can issue another key for that account, so it is not locked out.
    const mayBeLast = accountId !== caller.accountId
    const key = await store.revokeApiKey({ accountId, id: params.key_id, mayBeLast }, event)
    return typeof key === 'string' ? refuse(key) : ok(toWire(key))
  })
}

/** The record of a new key, whose secret is known only now. */
export function newApiKey(text: string, key: Omit<ApiKey, 'hint' | 'revokedAtMs'>): NewApiKey {
  return { ...key, hint: hintOf(text), revokedAtMs: null, secretHash: hashApiKey(text) }
}

/** The audit event for issuing a key, in the log of the key's account. */
export function keyCreated(actor: Caller | typeof systemActor, key: NewApiKey, eventId: string): AuditEvent {
  return auditEvent(actor, key, {
    id: eventId,
    type: 'api_key.created',
    subjectId: key.id,
    data: { role: key.role, environment: key.environment, agent_id: key.agentId, label: key.label },
    atMs: key.createdAtMs,
  })
}

/** A key with its secret, which is shown only once. */
export function toIssuedWire(key: NewApiKey, text: string): IssuedApiKey {
  return { ...toWire(key), key: text }
}

/** Keys with the role `agent` are bound to one agent; other keys are not. */
function agentIdFault(body: {
  role: string
  agent_id?: string | null | undefined
}): ValidationItem | undefined {
  const agentId = body.agent_id ?? null
  if (body.role === 'agent' && agentId === null) {
    return errorOf('missing', ['body', 'agent_id'], body)
  }
  if (body.role !== 'agent' && agentId !== null) {
    return {
      type: 'value_error',
      loc: ['body', 'agent_id'],
      msg: `Value error, only a key with the role agent is bound to an agent, not one with the role ${body.role}`,
      input: agentId,
      ctx: { error: 'agent_id goes with the role agent' },
    }
  }
  return undefined
}

/** As the interface writes it. */
export function toWire(key: ApiKey): WireApiKey {
  return {
    id: key.id,
    account_id: key.accountId,
    label: key.label,
    role: key.role,
    environment: key.environment,
    agent_id: key.agentId,
    hint: key.hint,
    created_at: toTimestamp(key.createdAtMs),
    revoked_at: toNullableTimestamp(key.revokedAtMs),
  }
}
