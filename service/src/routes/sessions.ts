import { environments } from '@purser/wire/fields'
import { endSessionOfAccount, listSessions, type AccountSession } from '@purser/wire/sessions'

import { sessionEndMs } from '../domain/session.ts'
import { ok, refuse } from '../http/answers.ts'
import { answerPage } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import type { StoredSession } from '../store/console/store.ts'
import { accountMeant, eventBy, toTimestamp, type RouteContext } from './context.ts'

export function serveSessions(serve: Serve, { store, now, ids }: RouteContext): void {
  serve(listSessions, async ({ caller, query, url, session: current }) => {
    const account = await accountMeant(caller, query.account_id, store)
    if (typeof account === 'string') return refuse(account)
    return answerPage(
      query,
      url,
      (page) => store.listSessions(account, now(), page),
      (session) => toWire(session, current?.id),
    )
  })

  serve(endSessionOfAccount, async ({ caller, params, query }) => {
    const account = await accountMeant(caller, query.account_id, store)
    if (typeof account === 'string') return refuse(account)
    // The store records it in the session's environment, if it has only one.
    const actor = { ...account, environment: environments[0], keyId: caller.keyId }
    const event = eventBy({ ids, now }, actor, 'session.ended', params.session_id)
    const isEnded = await store.endSessionById({ ...account, id: params.session_id }, event)
    return isEnded ? ok({ ended: true }) : refuse('not_found')
  })
}

function toWire(session: StoredSession, currentId: string | undefined): AccountSession {
  return {
    ...sharedFieldsOf(session),
    account_id: session.accountId,
    used_at: toTimestamp(session.usedAtMs),
    is_current: session.id === currentId,
  }
}

/** What a list of sessions and the console show alike. */
export function sharedFieldsOf(session: StoredSession) {
  return {
    id: session.id,
    kind: session.kind === 'set_up_link' ? 'set_up' : session.kind,
    role: session.role,
    key_id: session.keyId,
    environments: session.environment === null ? [...environments] : [session.environment],
    created_at: toTimestamp(session.createdAtMs),
    expires_at: toTimestamp(sessionEndMs(session)),
  }
}
