import { consoleTokenHeader, environmentHeader } from '@purser/wire/console/session'
import { environments, type Environment } from '@purser/wire/fields'
import type { FastifyRequest } from 'fastify'

import {
  isCsrfToken,
  readSessionToken,
  sessionEndMs,
  sessionTouchMs,
  type SessionToken,
} from '../domain/session.ts'
import { withClock } from '../domain/time/test-clock.ts'
import type { Store } from '../store/store.ts'
import type { Authentication } from './authentication.ts'
import { RecentlyUsed } from './recently-used.ts'
import { isSameSite } from './same-site.ts'
import { isSecureRequest, sessionTokenOf, type SiteOptions } from './session-cookie.ts'

export interface SessionAuthenticationOptions extends SiteOptions {
  readonly store: Pick<Store, 'findSession' | 'touchSession'>
  readonly now: () => number
  /** Whether a request may try a session that is not known to be in use; counts the attempt. */
  readonly mayGuess: (request: FastifyRequest) => boolean
}

/** Max number of sessions known to be in use. */
const maxKnown = 1_000

/** Identifies the caller from a session cookie (Authentication). */
export function createSessionAuthentication({
  store,
  now,
  publicUrl,
  mayGuess,
}: SessionAuthenticationOptions) {
  /** Sessions that were found: users keep working while others behind the same address guess. */
  const known = new RecentlyUsed<true>({ max: maxKnown })

  async function liveSession(token: SessionToken) {
    const session = await store.findSession(token)
    if (!session || session.kind === 'set_up_link') return undefined
    return sessionEndMs(session) > now() ? session : undefined
  }

  return async (request: FastifyRequest, { isRecheck = false } = {}): Promise<Authentication> => {
    const { cookie, 'x-forwarded-proto': forwardedProto } = request.headers
    const text = sessionTokenOf(cookie, isSecureRequest(forwardedProto?.toString(), { publicUrl }))
    if (text === undefined) return { refusal: 'Not authenticated' }
    if (!isSameSite(request.headers, { publicUrl })) return { refusal: 'cross_site_request' }
    const token = readSessionToken(text)
    if (!token) return { refusal: 'invalid_session' }
    // Counted before the look-up, so that not even requests at the same time exceed the limit.
    if (!known.get(text) && !mayGuess(request)) {
      return { refusal: 'rate_limited' }
    }
    const session = await liveSession(token)
    if (!session) {
      known.delete(text)
      return { refusal: 'invalid_session' }
    }
    known.set(text, true)
    const csrfToken = request.headers[consoleTokenHeader]?.toString()
    // A page that sends the token of another session with a read shows another account.
    const needsToken = request.method !== 'GET' || csrfToken !== undefined
    if (needsToken && !isCsrfToken(csrfToken, text)) {
      return { refusal: 'csrf_token_missing' }
    }
    const environment = chosenEnvironment(request, session.environment)
    if (environment === undefined) return { refusal: 'environment_not_in_session' }
    // An open feed does not keep a session alive.
    if (!isRecheck && now() - session.usedAtMs >= sessionTouchMs) await store.touchSession(token, now())
    return {
      caller: withClock(
        {
          accountId: session.accountId,
          environment,
          keyId: session.keyId ?? session.id,
          role: session.role,
          agentId: null,
        },
        session,
      ),
      session: { ...session, text },
    }
  }
}

/** The environment of a request, if its session has access; by default the session's first one. */
function chosenEnvironment(request: FastifyRequest, only: Environment | null): Environment | undefined {
  const query = request.query as Readonly<Record<string, unknown>>
  // Links and feeds cannot set headers.
  const isStream = request.routeOptions.config.endpoint?.produces !== undefined
  const asked = request.headers[environmentHeader] ?? (isStream ? query['environment'] : undefined)
  if (asked === undefined) return only ?? environments[0]
  const environment = environments.find((known) => known === asked)
  return only === null || environment === only ? environment : undefined
}
