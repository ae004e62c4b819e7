import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'

import { mintApiKey } from '../domain/api-key.ts'
import { signIn } from '../../testing/console-session.ts'
import { createTenant, issueKey, startTestService } from '../../testing/service.ts'
import { networkOf, TokenBuckets } from './token-buckets.ts'

test('A bucket allows its quota, refills evenly, and never exceeds its quota', () => {
  const buckets = new TokenBuckets('default', { requests: 10, seconds: 5 })
  const takeAll = (nowMs: number) => {
    let count = 0
    while (buckets.take('a', nowMs)) count++
    return count
  }
  assert.equal(takeAll(0), 10)
  assert.equal(buckets.retryAfterSeconds('a', 0), 1)
  assert.equal(buckets.header('a', 0), '"default";r=0;t=5')
  assert.equal(takeAll(499), 0)
  assert.equal(takeAll(500), 1)
  assert.equal(takeAll(1_000_000), 10)
  assert.equal(buckets.take('b', 1_000_000), true, 'another bucket is full')
  assert.equal(buckets.policy, '"default";q=10;w=5')
  for (let count = 0; count < 25_000; count++) {
    buckets.take(String(count), 1_000_000)
    assert.equal(buckets.take('a', 1_000_000), false, 'it is kept while in use')
  }
})

test('An IPv6 address counts as its /64, and an IPv4 address as itself', () => {
  assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2')
  assert.equal(networkOf('2001:db8:1:2::9'), '2001:db8:1:2')
  assert.equal(networkOf('2001:DB8:0001::9'), '2001:db8:1:0')
  assert.equal(networkOf('::1'), '0:0:0:0')
  assert.equal(networkOf('fe80::1%eth0'), 'fe80:0:0:0')
  assert.equal(networkOf('::ffff:10.0.0.1'), '10.0.0.1')
  assert.equal(networkOf('10.0.0.1'), '10.0.0.1')
})

test('A key or account over its limit is 429 with Retry-After, and others are not affected', async (t) => {
  const service = await startTestService(t, {
    PURSER_RATE_LIMIT_KEY: '20/1000',
    PURSER_RATE_LIMIT_ACCOUNT: '30/1000',
  })
  const { sandboxKey: honest } = await createTenant(service)
  const keys = [await issueKey(service, { role: 'owner' }), await issueKey(service, { role: 'owner' })]
  const statuses: number[] = []
  let last
  for (let count = 0; count < 36; count++) {
    last = await service.call('GET', '/agents', { key: keys[count % 2] ?? '' })
    statuses.push(last.status)
  }
  const allowed = statuses.filter((status) => status === 200).length
  assert.ok(allowed > 20 && allowed <= 30, `${allowed} were allowed`)
  assert.equal(last?.status, 429)
  assert.deepEqual(last?.body, { detail: 'rate_limited' })
  assert.match(last?.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.equal(last?.headers.get('ratelimit-policy'), '"account";q=30;w=1000')
  assert.match(last?.headers.get('ratelimit') ?? '', /^"account";r=0;t=\d+$/)

  const good = await service.call('GET', '/agents', { key: honest })
  assert.equal(good.status, 200)
  assert.equal(good.headers.get('ratelimit-policy'), '"key";q=20;w=1000')
  assert.equal(good.headers.get('ratelimit'), '"key";r=19;t=50')
})

test('Wrong keys and sign-ins are limited by address; keys in use keep working', async (t) => {
  const service = await startTestService(t, { PURSER_RATE_LIMIT_ADDRESS: '10/1000' })
  assert.equal((await service.call('GET', '/agents')).status, 200)
  const unused = await issueKey(service, { role: 'owner' })
  const guess = () => service.call('GET', '/agents', { key: mintApiKey('sandbox', randomBytes) })
  const statuses: number[] = []
  for (let count = 0; count < 12; count++) statuses.push((await guess()).status)
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429, 429])
  assert.match((await guess()).headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.equal((await service.call('GET', '/agents')).status, 200, 'a key in use keeps working')
  assert.equal((await service.call('GET', '/agents', { key: unused })).status, 429)
  const signIn = await service.call('POST', '/v1/console/session', { key: null, body: { api_key: unused } })
  assert.equal(signIn.status, 429)
  assert.equal((await service.call('GET', '/healthz', { key: null })).status, 200)
})

test('The clients of a trusted proxy are limited by the addresses that it names, and nobody else can name one', async (t) => {
  const behind = await startTestService(t, {
    PURSER_RATE_LIMIT_ADDRESS: '3/1000',
    PURSER_TRUSTED_PROXIES: '127.0.0.0/8, 10.1.2.3',
  })
  const direct = await startTestService(t, { PURSER_RATE_LIMIT_ADDRESS: '3/1000' })
  const guesses = async (service: typeof behind, forwarded: readonly string[]) => {
    const statuses: number[] = []
    for (const one of forwarded) {
      const headers = { 'x-forwarded-for': one }
      statuses.push(
        (await service.call('GET', '/agents', { key: mintApiKey('sandbox', randomBytes), headers })).status,
      )
    }
    return statuses
  }
  // What a client names itself is before what the proxies have added.
  const stranger = ['203.0.113.7', '198.51.100.1, 203.0.113.7', '203.0.113.7, 10.1.2.3', '203.0.113.7:4711']
  assert.deepEqual(await guesses(behind, stranger), [401, 401, 401, 429])
  assert.deepEqual(
    await guesses(behind, ['203.0.113.8', '[2001:db8::1]:443', '2001:db8::2']),
    [401, 401, 401],
  )
  // What is no address counts as the proxy.
  const nonsense = ['unknown', '_hidden', 'x'.repeat(5_000), 'another']
  assert.deepEqual(await guesses(behind, nonsense), [401, 401, 401, 429])
  assert.deepEqual(
    await guesses(direct, ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4']),
    [401, 401, 401, 429],
  )
})

test('The service starts with every spelling of a range that the settings accept', async (t) => {
  const ranges = [
    '0.0.0.0/1',
    '10.1.2.3/08',
    '127.0.0.1/32',
    '::/1',
    '::1/128',
    '::ffff:10.0.0.1',
    '::FFFF:10.0.0.0/104',
    '64:ff9b::1.2.3.4/96',
  ]
  const service = await startTestService(t, { PURSER_TRUSTED_PROXIES: ranges.join() })
  assert.equal((await service.call('GET', '/healthz', { key: null })).status, 200)
})

test('Forged sessions are limited by address, also at the same time; sessions in use keep working', async (t) => {
  const service = await startTestService(t, { PURSER_RATE_LIMIT_ADDRESS: '10/1000' })
  const used = await signIn(service)
  assert.equal((await used.call('GET', '/agents')).status, 200)
  const [name, accountId] = /^(.*=)([^.]+)/.exec(used.cookie)?.slice(1) ?? []
  const guess = () => {
    const cookie = `${name}${accountId}.${randomBytes(32).toString('base64url')}`
    return service.call('GET', '/agents', { key: null, headers: { cookie } })
  }
  const statuses = (await Promise.all(Array.from({ length: 12 }, guess))).map(({ status }) => status)
  // The sign-in and the first use of its session took two of ten.
  assert.deepEqual(
    statuses.sort((a, b) => a - b),
    [...Array.from({ length: 8 }, () => 401), 429, 429, 429, 429],
  )
  assert.match((await guess()).headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  assert.equal((await used.call('GET', '/agents')).status, 200, 'a session in use keeps working')
})

test('Without rate limits there is no limit and no header', async (t) => {
  const service = await startTestService(t, { PURSER_RATE_LIMITS: 'off', PURSER_RATE_LIMIT_KEY: '1/1000' })
  for (let count = 0; count < 3; count++) {
    const { status, headers } = await service.call('GET', '/agents')
    assert.deepEqual([status, headers.get('ratelimit')], [200, null])
  }
})
