import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createSignInCookies, deriveSignInKey } from './sign-in-cookie.ts'

const underWay = { state: 's', nonce: 'n', codeVerifier: 'v', startedAtMs: 1_000, returnTo: '/console/' }

function cookies(isSecure: boolean) {
  return createSignInCookies({ key: deriveSignInKey('secret'), isSecure, now: () => 2_000 })
}

test('Over TLS, another subdomain can neither set nor replace the cookie of a sign-in', () => {
  const { write, read } = cookies(true)
  const [own = '', ...attributes] = write(underWay).split('; ')
  assert.match(own, /^__Host-purser-sign-in=/)
  assert.deepEqual(attributes, ['Max-Age=600', 'Path=/', 'HttpOnly', 'SameSite=Lax', 'Secure'])
  assert.deepEqual(read(`a=b; ${own}`), underWay)
  const [planted = ''] = cookies(false)
    .write({ ...underWay, state: 'planted' })
    .split('; ')
  assert.equal(read(planted), undefined)
  assert.deepEqual(read(`${planted}; ${own}`), underWay)
})

test('Without TLS the cookie of a sign-in has no prefix, which browsers would refuse', () => {
  const { write, read } = cookies(false)
  const [own = ''] = write(underWay).split('; ')
  assert.match(own, /^purser-sign-in=/)
  assert.deepEqual(read(own), underWay)
})

test('A sign-in goes on in a service whose clock is a little behind, and ends after ten minutes', () => {
  let nowMs = 1_000
  const { write, read } = createSignInCookies({
    key: deriveSignInKey('secret'),
    isSecure: false,
    now: () => nowMs,
  })
  const [own = ''] = write(underWay).split('; ')
  nowMs = 0
  assert.deepEqual(read(own), underWay)
  nowMs = 600_999
  assert.deepEqual(read(own), underWay)
  nowMs = 601_000
  assert.equal(read(own), undefined)
})
