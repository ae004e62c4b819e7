import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { mock, test, type TestContext } from 'node:test'

import {
  hs256,
  makeKey,
  rs256,
  startForgingProvider,
  tokenOf,
  type ForgingProvider,
} from '../../testing/http/forging-provider.ts'
import { createTenant, startTestService } from '../../testing/service.ts'

const clientId = 'purser'
const clientSecret = 'a secret that the provider and the service share'

test('An ID token not signed with a key of the provider signs nobody in', async (t) => {
  const { provider, signIn } = await prepare(t)
  const [own] = provider.keys
  assert.ok(own)
  const foreign = makeKey(own.kid)
  const publicPem = own.publicKey.export({ type: 'spki', format: 'pem' })
  const forgeries: Readonly<Record<string, (claims: Record<string, unknown>) => string>> = {
    'alg none, no signature': (claims) => tokenOf({ alg: 'none' }, claims, () => Buffer.alloc(0)),
    'HS256 with the client secret': (claims) => hs256(clientSecret, claims),
    'HS256 with the public key as its secret': (claims) => hs256(publicPem, claims),
    'a foreign key under the id of the real one': (claims) => rs256(foreign, claims),
    'a foreign key under its own id': (claims) => rs256({ ...foreign, kid: 'another' }, claims),
    'the user changed after signing': (claims) => {
      const [head, , signature] = rs256(own, { ...claims, sub: 'eve' }).split('.')
      return [head, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
    },
    'a truncated signature': (claims) => rs256(own, claims).slice(0, -8),
  }
  const honest = provider.tokenOf
  for (const [name, forge] of Object.entries(forgeries)) {
    provider.tokenOf = forge
    assert.deepEqual(await signIn(), { status: 403, hasSession: false }, name)
  }
  provider.tokenOf = honest
  assert.deepEqual(await signIn(), { status: 303, hasSession: true }, 'the real key signs in')
})

test("The provider's keys are cached, and a rotated key is found without a restart", async (t) => {
  mock.timers.enable({ apis: ['Date'], now: Date.now() })
  t.after(() => mock.timers.reset())
  const { provider, signIn } = await prepare(t)
  for (let count = 0; count < 3; count++) assert.equal((await signIn()).status, 303)
  assert.equal(provider.keyFetches, 1)

  const next = makeKey('second')
  provider.keys = [next]
  provider.tokenOf = (claims) => rs256(next, claims)
  mock.timers.tick(61_000)
  assert.deepEqual(await signIn(), { status: 303, hasSession: true })
  assert.equal(provider.keyFetches, 2)
})

test('An oversized response of the provider signs nobody in', async (t) => {
  const { provider, signIn } = await prepare(t)
  provider.answerKeys = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const filler = Buffer.alloc(64 * 1024, ' ')
    const write = () => {
      while (!response.destroyed && response.write(filler));
    }
    response.on('drain', write)
    write()
  }
  assert.deepEqual(await signIn(), { status: 403, hasSession: false })
})

async function prepare(t: TestContext): Promise<{
  readonly provider: ForgingProvider
  readonly signIn: () => Promise<{ status: number; hasSession: boolean }>
}> {
  const provider = await startForgingProvider(t, clientId)
  const port = await freePort()
  const service = await startTestService(t, {
    PURSER_PORT: String(port),
    PURSER_PUBLIC_URL: `http://127.0.0.1:${port}`,
    PURSER_OIDC_ISSUER: provider.issuer,
    PURSER_OIDC_CLIENT_ID: clientId,
    PURSER_OIDC_CLIENT_SECRET: clientSecret,
  })
  await createTenant(service, 'ada')

  async function signIn() {
    const begun = await fetch(`${service.url}/console/sign-in`, { redirect: 'manual' })
    const cookie = begun.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const asked = await fetch(begun.headers.get('location') ?? '', { redirect: 'manual' })
    const callback = asked.headers.get('location') ?? ''
    const end = await fetch(callback, { redirect: 'manual', headers: { cookie } })
    const hasSession = end.headers.getSetCookie().some((one) => one.startsWith('purser-session='))
    return { status: end.status, hasSession }
  }
  return { provider, signIn }
}

/** A port that was free a moment ago: the service must know its public address before it starts. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
