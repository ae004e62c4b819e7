import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as oidc from 'openid-client'

import type { OidcSettings } from '../settings/config.ts'
import { firstUserId } from '../domain/records.ts'
import { withTraceOf } from '../http/request-trace.ts'
import { isSecureRequest, sessionCookie, type SiteOptions } from '../http/session-cookie.ts'
import type { RouteContext } from '../routes/context.ts'
import { beginSession } from '../routes/console/session.ts'
import { page } from './pages.ts'
import { fetchFromProvider } from './provider-fetch.ts'
import { sendPage } from './static-files.ts'
import { createSignInCookies, type SignInUnderWay } from './sign-in-cookie.ts'

/** Where a browser begins to sign in at the identity provider, and where that sends it back to. */
export const oidcPath = '/console/sign-in'
const callbackPath = `${oidcPath}/callback`

export interface OidcOptions
  extends
    Pick<RouteContext, 'store' | 'now' | 'ids' | 'randomBytes'>,
    Required<{ readonly site: SiteOptions }> {
  readonly settings: OidcSettings
  /** What the state of a sign-in is signed with; the same in every process. */
  readonly signInKey: Buffer
}

/** How long the identity provider may take for an answer, in seconds. */
const providerTimeoutSeconds = 5

/** How long what the provider says of itself is cached. Its keys are cached for five minutes, by the library. */
const discoveryLifeMs = 3_600_000

/**
 * Signing in by OpenID Connect: the code flow with PKCE, state and nonce. The `sub` of who signs in is the
 * account's `idp_user_id`; no account is made here.
 */
export function serveOidcSignIn(app: FastifyInstance, options: OidcOptions): void {
  const { settings, site, now } = options
  const { publicUrl } = site
  if (!publicUrl) throw new Error('signing in by OpenID Connect needs the public address')
  const base = publicUrl
  const redirectUri = new URL(callbackPath, base).href
  const cookies = createSignInCookies({ key: options.signInKey, isSecure: base.protocol === 'https:', now })
  const provider = cacheDiscovery(settings, now)

  // A sign-in begins and ends with GET alone: what only looks, by HEAD, must not use up its code.
  app.get(oidcPath, { exposeHeadRoute: false }, async (request, reply) => {
    const configuration = await withTraceOf(request.headers, provider).catch((error: unknown) => {
      request.log.error({ err: error }, 'the identity provider does not answer')
    })
    if (!configuration) return sendPage(reply, 502, noProvider)
    const underWay: SignInUnderWay = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      codeVerifier: oidc.randomPKCECodeVerifier(),
      startedAtMs: now(),
      returnTo: screenOf(request, base),
    }
    const address = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: 'openid',
      state: underWay.state,
      nonce: underWay.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(underWay.codeVerifier),
      code_challenge_method: 'S256',
    })
    return leave(reply, address.href, cookies.write(underWay))
  })

  app.get(callbackPath, { exposeHeadRoute: false }, async (request, reply) => {
    const underWay = cookies.read(request.headers.cookie)
    if (!underWay) return sendPage(reply, 400, tooLate)
    const sub = await withTraceOf(request.headers, () => signedIn(request, underWay)).catch(
      (error: unknown) => {
        request.log.warn({ err: error }, 'a sign-in at the identity provider failed')
      },
    )
    void reply.header('set-cookie', cookies.end())
    if (sub === undefined) return sendPage(reply, 403, notSignedIn)
    // Where users name themselves, one may call himself as the operator's own account is called.
    const account = sub === firstUserId ? undefined : await options.store.findAccount({ idpUserId: sub })
    if (!account) return sendPage(reply, 403, noAccount)
    if (account.disabledAtMs !== null) return sendPage(reply, 403, disabled)
    const { session } = await beginSession(options, {
      kind: 'oidc',
      accountId: account.id,
      role: 'owner',
      keyId: null,
      environment: null,
    })
    const isSecure = isSecureRequest(request.headers['x-forwarded-proto']?.toString(), site)
    return leave(reply, new URL(underWay.returnTo, base).href, sessionCookie(session.text, isSecure))
  })

  /**
   * The user id that the provider's ID token carries. The library checks its signature against the provider's keys, its
   * issuer, audience, times and nonce, and the state of the sign-in.
   */
  async function signedIn(request: FastifyRequest, underWay: SignInUnderWay): Promise<string | undefined> {
    const { search } = new URL(request.url, base)
    const tokens = await oidc.authorizationCodeGrant(await provider(), new URL(callbackPath + search, base), {
      expectedState: underWay.state,
      expectedNonce: underWay.nonce,
      pkceCodeVerifier: underWay.codeVerifier,
      idTokenExpected: true,
    })
    return tokens.claims()?.sub
  }
}

/** Longer addresses of screens are forgotten: a cookie carries them. */
const maxReturnLength = 1_000

/** The screen of the console that `return_to` names, as a path; the start of the console when it names none. */
function screenOf(request: FastifyRequest, base: URL): string {
  const { return_to: asked } = request.query as Readonly<Record<string, unknown>>
  if (typeof asked !== 'string' || !asked.startsWith('/') || asked.length > maxReturnLength) return startPath
  const address = `/console${asked}`
  if (!URL.canParse(address, base)) return startPath
  const { origin, pathname, search } = new URL(address, base)
  const isScreen = origin === base.origin && pathname.startsWith(startPath) && !pathname.startsWith(oidcPath)
  return isScreen ? pathname + search : startPath
}

const startPath = '/console/'

/** What the provider says of itself: fetched when first needed, after an hour, and again after a failure. */
function cacheDiscovery(
  { issuer, clientId, clientSecret }: OidcSettings,
  now: () => number,
): () => Promise<oidc.Configuration> {
  let cached: Promise<oidc.Configuration> | undefined
  let discoveredAtMs = 0
  return () => {
    if (cached && now() - discoveredAtMs < discoveryLifeMs) return cached
    discoveredAtMs = now()
    const discovery = discover().catch((error: unknown) => {
      if (cached === discovery) cached = undefined
      throw error
    })
    cached = discovery
    return discovery
  }

  function discover(): Promise<oidc.Configuration> {
    const address = new URL(issuer)
    // Plain HTTP is for a provider on this machine: the settings and `fetchFromProvider` refuse any other.
    const isPlain = address.protocol === 'http:'
    // Without these checks the library trusts TLS, and takes an ID token of the token endpoint unverified.
    const execute = [oidc.enableNonRepudiationChecks, ...(isPlain ? [oidc.allowInsecureRequests] : [])]
    const options = { execute, timeout: providerTimeoutSeconds, [oidc.customFetch]: fetchFromProvider }
    return oidc.discovery(address, clientId, clientSecret, undefined, options)
  }
}

function leave(reply: FastifyReply, address: string, cookie: string): FastifyReply {
  const earlier = reply.getHeader('set-cookie')
  const all = [...(typeof earlier === 'string' ? [earlier] : []), cookie]
  void reply.removeHeader('set-cookie')
  return reply
    .headers({ 'set-cookie': all, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    .redirect(address, 303)
}

const tryAgain = { href: oidcPath, text: 'Sign in again' }

const noProvider = page(
  'The identity provider does not answer',
  ['Try again in a moment, or sign in with a key. The log of the service says what went wrong.'],
  { href: '/console/', text: 'Back to the console' },
)
const tooLate = page(
  'This sign-in is over',
  ['It was begun in another browser, or more than ten minutes ago. Begin again.'],
  tryAgain,
)
const notSignedIn = page(
  'You were not signed in',
  ['The identity provider did not confirm who you are. The log of the service says why.'],
  tryAgain,
)
const disabled = page('Your account is disabled', [
  'An operator of this service has disabled it. Ask an operator to enable it again.',
])
const noAccount = page('No account is yours yet', [
  'The identity provider knows you, but no account of this service carries your user id.',
  'Ask an operator to create one, with the user id that the identity provider gives you as its idp_user_id.',
])
