import {
  endSession,
  getSession,
  getSignInOptions,
  startSession,
  type Session as WireSession,
  type SessionKind,
} from '@purser/wire/console/session'
import { environments, type Environment } from '@purser/wire/fields'
import { interfaceVersion } from '@purser/wire/openapi'

import type { Account } from '../../domain/records.ts'
import { csrfTokenOf, mintSessionToken, readSessionToken, sessionLifeMs } from '../../domain/session.ts'
import { ok, refuse, unprocessable, type Answer } from '../../http/answers.ts'
import type { Authentication, CallerSession } from '../../http/authentication.ts'
import type { Serve } from '../../http/serve.ts'
import { endedCookie, isSecureRequest, sessionCookie } from '../../http/session-cookie.ts'
import type { MaybePromise } from '../../http/maybe-promise.ts'
import { eventBy, toTimestamp, type RouteContext } from '../context.ts'
import { sharedFieldsOf } from '../sessions.ts'

export interface SessionContext extends Pick<RouteContext, 'store' | 'now' | 'ids' | 'randomBytes' | 'site'> {
  /** Identifies the caller from an `Authorization` header. */
  readonly authenticateKey: (authorization: string) => MaybePromise<Authentication>
  /** The start path of identity provider sign-in, if configured. */
  readonly oidcPath: string | null
}

export function serveConsoleSession(serve: Serve, context: SessionContext): void {
  const { store, now, site, authenticateKey, oidcPath } = context

  serve(getSignInOptions, async () => ok({ version: interfaceVersion, oidc_path: oidcPath }))

  serve(
    startSession,
    async ({ body, header, isSameSite }) => {
      if (!isSameSite()) return refuse('cross_site_request')
      const { api_key: key = null, set_up_token: token = null } = body
      if ((key === null) === (token === null)) return oneOfTwo(body)
      const session = key === null ? await fromSetUpLink(token ?? '') : await fromKey(key)
      if ('status' in session) return session
      const account = await store.findAccount({ id: session.accountId })
      if (!account) return refuse('invalid_api_key')
      const isSecure = isSecureRequest(header('x-forwarded-proto'), site)
      return {
        status: 201,
        body: toWire(session, account),
        headers: { 'set-cookie': sessionCookie(session.text, isSecure) },
      }
    },
    { isSignIn: true },
  )

  serve(getSession, async ({ session }) => {
    const account = session && (await store.findAccount({ id: session.accountId }))
    if (!session || !account) return refuse('no_session')
    return ok(toWire(session, account))
  })

  serve(endSession, async ({ caller, session, header }) => {
    if (!session) return refuse('no_session')
    await store.endSession(session, eventBy(context, caller, 'session.ended', session.id, { atMs: now() }))
    const isSecure = isSecureRequest(header('x-forwarded-proto'), site)
    return ok({ ended: true }, { 'set-cookie': endedCookie(isSecure) })
  })

  async function fromKey(key: string): Promise<CallerSession | Answer> {
    const authentication = await authenticateKey(`Bearer ${key}`)
    if ('refusal' in authentication) return refuse('invalid_api_key')
    const { accountId, environment, keyId, role } = authentication.caller
    if (role === 'agent' || role === 'merchant') return refuse('insufficient_scope')
    return beginSession(context, { kind: 'key', accountId, role, keyId, environment })
  }

  /** A link is used up by the transaction that stores its session: one of concurrent requests, and none that fails. */
  async function fromSetUpLink(text: string): Promise<CallerSession | Answer> {
    const token = readSessionToken(text)
    const link = token && (await store.findSession(token))
    if (!token || link?.kind !== 'set_up_link' || !(link.endsAtMs > now())) return refuse('set_up_link_spent')
    const { accountId, role, keyId } = link
    const signIn = { kind: 'set_up', accountId, role, keyId, environment: null } as const
    const { session, text: ownText, event } = prepareSession(context, signIn)
    if (!(await store.createSession(session, event, token))) return refuse('set_up_link_spent')
    return { ...session, text: ownText }
  }
}

/** The authenticated user, and the method. */
export interface NewSignIn {
  readonly kind: SessionKind
  readonly accountId: string
  readonly role: CallerSession['role']
  readonly keyId: string | null
  readonly environment: Environment | null
}

/** Creates and stores a session with a new token. */
export async function beginSession(
  context: Pick<RouteContext, 'store' | 'now' | 'ids' | 'randomBytes'>,
  signIn: NewSignIn,
): Promise<CallerSession> {
  const { session, text, event } = prepareSession(context, signIn)
  await context.store.createSession(session, event)
  return { ...session, text }
}

/** A session that is not stored yet, its token, and its event. */
function prepareSession(context: Pick<RouteContext, 'now' | 'ids' | 'randomBytes'>, signIn: NewSignIn) {
  const nowMs = context.now()
  const { text, ...token } = mintSessionToken(signIn.accountId, context.randomBytes)
  const session = {
    ...signIn,
    ...token,
    id: context.ids.next('session'),
    createdAtMs: nowMs,
    usedAtMs: nowMs,
    endsAtMs: nowMs + sessionLifeMs,
  }
  const caller = {
    accountId: signIn.accountId,
    environment: signIn.environment ?? environments[0],
    keyId: signIn.keyId ?? session.id,
  }
  return { session, text, event: eventBy(context, caller, 'session.started', session.id) }
}

function oneOfTwo(body: unknown): Answer {
  const message = 'Value error, send one of api_key and set_up_token'
  return unprocessable([
    { type: 'value_error', loc: ['body'], msg: message, input: body, ctx: { error: 'one of the two' } },
  ])
}

function toWire(session: CallerSession, account: Account): WireSession {
  return {
    ...sharedFieldsOf(session),
    account: { id: account.id, name: account.name, email: account.email },
    csrf_token: csrfTokenOf(session.text),
    ends_at: toTimestamp(session.endsAtMs),
  }
}
