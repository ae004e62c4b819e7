import { createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** A provider's key: its signing key, and the id of its published public half. */
export interface ProviderKey {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** An identity provider that answers every sign-in at once, with any ID token that the test makes. */
export interface ForgingProvider {
  readonly issuer: string
  /** The keys in its JWKS. */
  keys: readonly ProviderKey[]
  /** The ID token that it issues for the claims of a sign-in. */
  tokenOf: (claims: Record<string, unknown>) => string
  /** Replaces the provider's JWKS response. */
  answerKeys: ((response: ServerResponse) => void) | undefined
  /** How often the JWKS was fetched. */
  keyFetches: number
}

export function makeKey(kid: string): ProviderKey {
  return { kid, ...generateKeyPairSync('rsa', { modulusLength: 2048 }) }
}

/** A token with an algorithm, a key id, and any signature. */
export function tokenOf(
  header: Record<string, unknown>,
  claims: Record<string, unknown>,
  signatureOf: (signed: string) => Buffer,
): string {
  const signed = `${encode(header)}.${encode(claims)}`
  return `${signed}.${signatureOf(signed).toString('base64url')}`
}

export function rs256({ kid, privateKey }: ProviderKey, claims: Record<string, unknown>): string {
  return tokenOf({ alg: 'RS256', kid }, claims, (signed) => sign('sha256', Buffer.from(signed), privateKey))
}

export function hs256(secret: string | Buffer, claims: Record<string, unknown>): string {
  return tokenOf({ alg: 'HS256' }, claims, (signed) => createHmac('sha256', secret).update(signed).digest())
}

function encode(part: Record<string, unknown>): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/** Starts the provider; every sign-in is one of the user `ada`. */
export async function startForgingProvider(t: TestContext, clientId: string): Promise<ForgingProvider> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const key = makeKey('first')
  const provider: ForgingProvider = {
    issuer,
    keys: [key],
    tokenOf: (claims) => rs256(key, claims),
    answerKeys: undefined,
    keyFetches: 0,
  }
  let nonce: string | null = null
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', issuer)
    request.resume()
    if (pathname === '/.well-known/openid-configuration') return sendJson(response, metadataOf(issuer))
    if (pathname === '/authorize') {
      nonce = searchParams.get('nonce')
      const back = new URL(searchParams.get('redirect_uri') ?? '')
      back.searchParams.set('code', 'one code')
      back.searchParams.set('state', searchParams.get('state') ?? '')
      return void response.writeHead(303, { location: back.href }).end()
    }
    if (pathname === '/token') {
      const nowSeconds = Math.floor(Date.now() / 1_000)
      const times = { iat: nowSeconds, exp: nowSeconds + 60 }
      const claims = { iss: issuer, sub: 'ada', aud: clientId, nonce, ...times }
      const idToken = provider.tokenOf(claims)
      return sendJson(response, { access_token: 'none', token_type: 'bearer', id_token: idToken })
    }
    provider.keyFetches += 1
    if (provider.answerKeys) return provider.answerKeys(response)
    const keys = provider.keys.map(({ kid, publicKey }) => ({
      ...publicKey.export({ format: 'jwk' }),
      kid,
      use: 'sig',
    }))
    return sendJson(response, { keys })
  })
  return provider
}

/** Claims to support every method, so that only the signature can fail. */
function metadataOf(issuer: string): Record<string, unknown> {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
  }
}

function sendJson(response: ServerResponse, body: Record<string, unknown>): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
