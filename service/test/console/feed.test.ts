import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser, type FeedMessage } from '@purser/client'
import type { Transaction } from '@purser/wire/transactions'

import { maxFeedsOfAccount } from '../../src/limits.ts'
import { signIn } from '../../testing/console-session.ts'
import { serviceStores, startServiceOn } from '../../testing/service-stores.ts'
import {
  issueKey,
  issueProof,
  preparePurchase,
  verifyProof,
  type TestService,
  startTestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} a feed reader that is disconnected again and again gets every transaction once while payments race`,
    { skip: missing ?? false },
    async (t) => {
      const { service } = await startServiceOn(open, t)
      const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url, maxRetries: 0 })
      const purchase = await preparePurchase(service)
      const made = new Set<string>()
      const seen: string[] = []
      const paid = new AbortController()
      // It starts before the first payment: of earlier transactions, a feed shows only the newest.
      const before = purser.console.feed()
      let lastEventId = placeOf(await next(before))
      await before.return(undefined)
      const reading = (async () => {
        while (!paid.signal.aborted || seen.length < made.size) {
          const cut = new AbortController()
          const signal = paid.signal.aborted ? cut.signal : AbortSignal.any([cut.signal, paid.signal])
          const feed = purser.console.feed({ lastEventId, signal })
          // Reads one message per connection; none may arrive any more once everything is paid.
          const { value, done } = await feed.next().catch((error: unknown) => {
            if (paid.signal.aborted) return { value: undefined, done: true }
            throw error
          })
          cut.abort()
          await feed.return(undefined).catch(() => undefined)
          if (done || value?.type !== 'transactions') continue
          assert.equal(value.has_gap, false)
          lastEventId = value.id
          seen.push(...value.transactions.map(({ id }) => id))
        }
      })()
      const buyers = Array.from({ length: 4 }, async (_, buyer) => {
        for (let round = 0; round < 5; round++) {
          const evaluated = await purser.policy.evaluate({
            agent_id: purchase.agentId,
            mandate_id: purchase.mandateId,
            merchant_domain: purchase.merchantDomain,
            amount: round % 2 ? '1.00' : '999.00',
            resource_url: purchase.resourceUrl,
          })
          made.add(evaluated.transaction_id)
          const proof = await issueProof(service, purchase, `0.${buyer + 1}${round + 1}`)
          made.add((await verifyProof(service, proof)).body.transaction_id)
        }
      })
      await Promise.all(buyers)
      paid.abort()
      await reading
      assert.equal(seen.length, made.size, 'none twice')
      assert.deepEqual(new Set(seen), made)
    },
  )
}

test('A feed begins with the newest transactions, continues with new ones, and ends with the session or the key', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  await evaluate(service, purchase, null)
  const browser = await signIn(service)
  const byCookie: typeof fetch = (url, init) =>
    fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), cookie: browser.cookie } })
  const key = await issueKey(service, { role: 'owner' })
  const feeds = [
    new Purser({ apiKey: null, baseUrl: service.url, fetch: byCookie }).console.feed(),
    new Purser({ apiKey: key, baseUrl: service.url }).console.feed(),
  ]
  for (const feed of feeds) assert.equal(transactionsOf(await next(feed)).length, 1)
  const happened = await evaluate(service, purchase, 'live')
  for (const feed of feeds) {
    assert.deepEqual(
      transactionsOf(await next(feed)).map(({ id }) => id),
      [happened],
    )
  }
  assert.equal((await browser.call('DELETE', '/v1/console/session')).status, 200)
  const { body: keys } = await service.call('GET', '/accounts/api-keys')
  assert.equal((await service.call('DELETE', `/accounts/api-keys/${keys[0].id}`)).status, 200)
  for (const feed of feeds) assert.deepEqual(await next(feed), { type: 'end', reason: 'signed_out' })
})

test('A feed that resumes when nothing has happened confirms that at once', async () => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  await evaluate(service, purchase, null)
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const begun = purser.console.feed()
  const place = placeOf(await next(begun))
  await begun.return(undefined)
  const feed = purser.console.feed({ lastEventId: place })
  assert.deepEqual(transactionsOf(await next(feed)), [])
  const happened = await evaluate(service, purchase, 'live')
  assert.deepEqual(
    transactionsOf(await next(feed)).map(({ id }) => id),
    [happened],
  )
  await feed.return(undefined)
})

test('A stopping service notifies its readers and does not wait for them', async (t) => {
  const service = await startTestService(t)
  const feed = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url }).console.feed()
  await next(feed)
  const startedAtMs = performance.now()
  await service.stop()
  assert.ok(performance.now() - startedAtMs < 5_000)
  assert.deepEqual(await next(feed), { type: 'end', reason: 'service_stopping' })
})

test('The feeds of an account are limited, and an invalid position starts a new feed', async () => {
  const service = await shareTestService()
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url, maxRetries: 0 })
  const cut = new AbortController()
  const feeds = Array.from({ length: maxFeedsOfAccount }, (_, index) =>
    purser.console.feed({ signal: cut.signal, lastEventId: index === 0 ? '!' : undefined }),
  )
  await Promise.all(feeds.map(next))
  await assert.rejects(next(purser.console.feed()), { code: 'too_many_streams' })
  cut.abort()
  for (const feed of feeds) await feed.return(undefined).catch(() => undefined)
})

async function next(feed: AsyncGenerator<FeedMessage, void, undefined>): Promise<FeedMessage> {
  const { value } = await feed.next()
  assert.ok(value)
  return value
}

function placeOf(message: FeedMessage): string {
  assert.ok(message.type === 'transactions')
  return message.id
}

function transactionsOf(message: FeedMessage): Transaction[] {
  assert.ok(message.type === 'transactions')
  return message.transactions
}

async function evaluate(
  service: TestService,
  purchase: { agentId: string; mandateId: string; merchantDomain: string; resourceUrl: string },
  category: string | null,
): Promise<string> {
  const answer = await service.call('POST', '/v1/policy/evaluate', {
    body: {
      agent_id: purchase.agentId,
      mandate_id: purchase.mandateId,
      merchant_domain: purchase.merchantDomain,
      amount: category === null ? '999.00' : '1.00',
      resource_url: purchase.resourceUrl,
      category,
    },
  })
  return answer.body.transaction_id as string
}
