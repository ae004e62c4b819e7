import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as oidc from 'openid-client'

import type { OidcSettings } from '../settings/config.ts'
import { firstUserId } from '../domain/records.ts'
import type { RateLimits } from '../http/rate-limits.ts'
import { keyOfError, RepeatedErrors } from '../http/repeated-errors.ts'
import { withTraceOf } from '../http/request-trace.ts'
import { sessionCookie } from '../http/session-cookie.ts'
import type { RouteContext } from '../routes/context.ts'
import { beginSession } from '../routes/console/session.ts'
import { page } from './pages.ts'
import { fetchFromProvider } from './provider-fetch.ts'
import { sendPage } from './static-files.ts'
import { createSignInCookies, oidcPath, type SignInUnderWay } from './sign-in-cookie.ts'

/** Where the identity provider sends the user back to. */
const callbackPath = `${oidcPath}/callback`

export interface OidcOptions extends Pick<RouteContext, 'store' | 'now' | 'ids' | 'randomBytes' | 'site'> {
  readonly settings: OidcSettings
  /** The key that signs the state of a sign-in; the same in every process. */
  readonly signInKey: Buffer
  /** Each request to either page counts as a sign-in of its address. Default no limit. */
  readonly rateLimits?: RateLimits | undefined
}

/** Timeout for the identity provider, in seconds. */
const providerTimeoutSeconds = 5

/** How long the provider's metadata is cached. The library caches its keys for five minutes. */
const discoveryLifeMs = 3_600_000

/**
 * Sign-in with OpenID Connect: the code flow with PKCE, state and nonce. The user's `sub` is the account's
 * `idp_user_id`; no account is created here.
 */
export function serveOidcSignIn(app: FastifyInstance, options: OidcOptions): void {
  const { settings, now } = options
  const { publicUrl } = options.site
  if (!publicUrl) throw new Error('OpenID Connect sign-in needs the public URL')
  const base = publicUrl
  const isSecure = base.protocol === 'https:'
  const redirectUri = new URL(callbackPath, base).href
  const cookies = createSignInCookies({ key: options.signInKey, isSecure, now })
  const provider = cacheDiscovery(settings, now)
  const repeated = new RepeatedErrors()

  /** Refuses an address with too many sign-ins: each may cost a request to the identity provider. */
  function isLimited(request: FastifyRequest, reply: FastifyReply): boolean {
    const limited = options.rateLimits?.takeForAddress(request)
    if (limited) sendPage(reply.headers({ ...limited.headers }), limited.status, tooMany)
    return limited !== undefined
  }

  function warn(request: FastifyRequest, error: unknown, what: string): void {
    const isFirst = repeated.isFirst(
      `${what} ${error instanceof Error ? keyOfError(error) : String(error)}`,
      (count) => app.log.warn({ count }, `${what}, ${count} more times`),
    )
    if (isFirst) request.log.warn({ err: withoutResponse(error) }, what)
  }

  // Only GET: a HEAD request must not use up the code.
  app.get(oidcPath, { exposeHeadRoute: false }, async (request, reply) => {
    if (isLimited(request, reply)) return reply
    const configuration = await withTraceOf(request.headers, provider).catch((error: unknown) => {
      warn(request, error, 'the identity provider does not answer')
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
    if (isLimited(request, reply)) return reply
    const underWay = cookies.read(request.headers.cookie)
    if (!underWay) return sendPage(reply, 400, tooLate)
    const sub = await withTraceOf(request.headers, () => signedIn(request, underWay)).catch(
      (error: unknown) => warn(request, error, 'a sign-in at the identity provider failed'),
    )
    void reply.header('set-cookie', cookies.end())
    if (sub === undefined) return sendPage(reply, 403, notSignedIn)
    // If users choose their own ids, one could choose that of the operator's account.
    const account = sub === firstUserId ? undefined : await options.store.findAccount({ idpUserId: sub })
    if (!account) return sendPage(reply, 403, noAccountOf(sub))
    if (account.disabledAtMs !== null) return sendPage(reply, 403, disabled)
    const session = await beginSession(options, {
      kind: 'oidc',
      accountId: account.id,
      role: 'owner',
      keyId: null,
      environment: null,
    })
    return leave(reply, new URL(underWay.returnTo, base).href, sessionCookie(session.text, isSecure))
  })

  /**
   * The user id in the provider's ID token. The library checks its signature with the provider's keys, its
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

/** The error without the provider's response, its cause: that may contain anything, even the client secret, at any length. */
function withoutResponse(error: unknown): unknown {
  const hasResponse =
    error instanceof oidc.ResponseBodyError || error instanceof oidc.WWWAuthenticateChallengeError
  if (hasResponse) Object.defineProperty(error, 'cause', { enumerable: false })
  return error
}

/** Longer return paths are dropped, because they are stored in a cookie. */
const maxReturnLength = 1_000

/** The console path in `return_to`; by default the start page. */
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

/** The provider's metadata: fetched on first use, every hour, and after a failure. */
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
    // Plain HTTP is only for a provider on this machine; the settings and `fetchFromProvider` enforce that.
    const isPlain = address.protocol === 'http:'
    // Without these checks the library trusts TLS, and accepts an ID token from the token endpoint
    // unverified.
    const execute = [oidc.enableNonRepudiationChecks, ...(isPlain ? [oidc.allowInsecureRequests] : [])]
    const options = { execute, timeout: providerTimeoutSeconds, [oidc.customFetch]: fetchFromProvider }
    return oidc.discovery(address, clientId, clientSecret, authenticate, options)
  }

  /** Sends the secret in the body, unless the provider supports only HTTP Basic, the default of the standard. */
  function authenticate(...[provider, ...request]: Parameters<oidc.ClientAuth>): void {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = provider
    const isPost = methods.includes('client_secret_post')
    const method = isPost ? oidc.ClientSecretPost(clientSecret) : oidc.ClientSecretBasic(clientSecret)
    method(provider, ...request)
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
  ['Try again in a moment, or sign in with a key. The service log has the cause.'],
  { href: '/console/', text: 'Back to the console' },
)
const tooMany = page(
  'Too many sign-ins from your network',
  ['Others at your address may have tried. Wait a minute, and try again.'],
  tryAgain,
)
const tooLate = page(
  'This sign-in has expired',
  ['It was started in another browser, or more than ten minutes ago. Start again.'],
  tryAgain,
)
const notSignedIn = page(
  'You were not signed in',
  ['The identity provider did not confirm your identity. The service log has the cause.'],
  tryAgain,
)
const disabled = page('Your account is disabled', [
  'An operator of this service has disabled it. Ask an operator to enable it again.',
])

function noAccountOf(sub: string): string {
  return page('You have no account yet', [
    `The identity provider knows you as ${sub}, but no account of this service has this user id.`,
    'Ask an operator to create one with this user id as its idp_user_id.',
  ])
}
