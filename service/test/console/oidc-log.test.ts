import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'

import { makeFolder, startProcess } from '../process.ts'

test('The log has the error of an identity provider, and nothing else of its response', async (context) => {
  const provider = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    const isCode = request.url === '/token'
    response.statusCode = isCode ? 400 : 200
    // Some providers repeat what they were sent.
    const refusal = { error: 'invalid_client', error_description: 'no', client_secret: secret }
    response.end(JSON.stringify(isCode ? refusal : metadata))
  })
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  context.after(() => provider.close())
  const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
  }
  const service = await startProcess(context, {
    folder: makeFolder(context),
    settings: {
      PURSER_PUBLIC_URL: 'http://127.0.0.1:8080',
      PURSER_OIDC_ISSUER: issuer,
      PURSER_OIDC_CLIENT_ID: 'purser',
      PURSER_OIDC_CLIENT_SECRET: secret,
    },
  })
  const redirect = 'manual'
  const begun = await fetch(`${service.url}/console/sign-in`, { redirect })
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state')
  const [cookie = ''] = begun.headers.get('set-cookie')?.split(';') ?? []
  const callback = `${service.url}/console/sign-in/callback?code=hush-code&state=${state}`
  assert.equal((await fetch(callback, { headers: { cookie }, redirect })).status, 403)
  const { stderr } = await service.kill('SIGTERM')
  assert.match(stderr, /"error":"invalid_client".*"a sign-in at the identity provider failed"/)
  assert.doesNotMatch(stderr, /hush/)
})

const secret = 'hush-secret'
