import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Purser, type ListAuditEventsQuery } from '@purser/client'
import Database from 'better-sqlite3'
import { Client } from 'pg'

import { idBytes, idText } from '../../domain/type-id.ts'
import { postgres18 } from '../../../testing/postgres.ts'
import { serviceStores, startServiceOn } from '../../../testing/service-stores.ts'
import { createTenant, type TestService, startTestService } from '../../../testing/service.ts'

/** More mandates than one step of a stop handles. */
const many = 205

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} a stop pauses every mandate of its account and environment, and only undoing the last stop resumes them`,
    { skip: missing ?? false },
    async (context) => {
      const { service } = await startServiceOn(open, context)
      const clientOf = (apiKey: string) => new Purser({ apiKey, baseUrl: service.url })
      const purser = clientOf(service.sandboxKey)
      const [first, ...rest] = await makeMandates(purser, many)
      const [elsewhere] = await makeMandates(clientOf(service.productionKey), 1)
      const stranger = clientOf((await createTenant(service)).sandboxKey)
      const [ofStranger] = await makeMandates(stranger, 1)
      const [paused, held] = rest
      assert.ok(first && elsewhere && ofStranger && paused && held)
      await purser.mandates.pause(paused.id)
      const payment = paymentOf(held)
      const proof = await purser.payments.requestProof(payment)
      assert.ok(proof.decision === 'approved')

      const stop = await purser.console.stop()
      assert.deepEqual([stop.paused_mandates, stop.voided_holds], [many - 1, 1])
      const statuses = async () =>
        (await purser.mandates.list({ limit: 200 }).toArray({ limit: 500 })).map(({ status }) => status)
      assert.deepEqual(new Set(await statuses()), new Set(['paused']))
      const [event] = (await purser.auditLog.list({ type: 'agents.stopped' }).page()).items
      assert.deepEqual(
        [event?.subject_id, event?.data['paused_mandates'], event?.data['voided_holds']],
        [stop.stop_id, many - 1, 1],
      )
      const named = event?.data['mandate_ids'] as string[]
      const covered = [first, ...rest].filter(({ id }) => id !== paused.id).map(({ id }) => id)
      assert.equal(named.length, 100)
      assert.ok(named.every((id) => covered.includes(id)))
      const charge = { proof: proof.proof, merchant_domain: domain, expected_amount: '1.00' }
      assert.deepEqual(await purser.payments.verify(charge), { verified: false, reason: 'proof_expired' })
      assert.equal((await clientOf(service.productionKey).mandates.get(elsewhere.id)).status, 'active')
      assert.equal((await stranger.mandates.get(ofStranger.id)).status, 'active')

      // A second stop takes over what the first stopped; one mandate is resumed by hand, and stopped by the
      // third.
      assert.equal((await purser.console.stop()).paused_mandates, 0)
      await purser.mandates.resume(first.id)
      const third = await purser.console.stop()
      assert.equal(third.paused_mandates, 1)
      assert.equal((await purser.console.resume(stop.stop_id)).resumed_mandates, 0, 'still stopped')
      assert.deepEqual(new Set(await statuses()), new Set(['paused']))
      assert.equal((await purser.console.resume(third.stop_id)).resumed_mandates, many - 1)
      assert.equal((await purser.console.resume()).resumed_mandates, 0)
      assert.equal((await purser.mandates.get(paused.id)).status, 'paused', 'its owner had paused it')
      assert.equal((await purser.payments.requestProof(payment)).decision, 'approved')
    },
  )
}

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} a stop and its undo are one audit log entry each, and each mandate keeps its own history`,
    { skip: missing ?? false },
    async (context) => {
      const { purser } = await startServiceOn(open, context)
      const mandates = await makeMandates(purser, 3)
      const [first] = mandates
      assert.ok(first)
      await purser.mandates.pause(first.id)
      await purser.mandates.resume(first.id)
      const log = async (query: ListAuditEventsQuery = {}) =>
        (await purser.auditLog.list(query).page()).items.map(({ type }) => type)
      const before = await log()
      assert.deepEqual(before.slice(0, 2), ['mandate.resumed', 'mandate.paused'], 'by hand')

      const { stop_id } = await purser.console.stop()
      assert.deepEqual(await log(), ['agents.stopped', ...before])
      await purser.console.resume(stop_id)
      assert.deepEqual(await log(), ['agents.resumed', 'agents.stopped', ...before])
      await purser.console.stop()
      await purser.console.resume()
      const after = await log()
      assert.deepEqual(after.slice(0, 3), ['agents.resumed', 'agents.stopped', 'agents.resumed'])
      assert.equal(after.length, before.length + 4)
      const [last] = (await purser.auditLog.list().page()).items
      assert.ok(last)
      assert.deepEqual(
        (last.data['mandate_ids'] as string[]).toSorted(),
        mandates.map(({ id }) => id).toSorted(),
      )

      const [resumed, paused] = (await purser.auditLog.list({ subject_id: first.id }).page()).items
      assert.deepEqual([resumed?.type, paused?.type], ['mandate.resumed', 'mandate.paused'])
      assert.match(String(paused?.data['stop_id']), /^stop_/)
      assert.equal((await log({ type: 'mandate.paused' })).length, 1 + 3 + 3)
    },
  )
}

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} a stop and its undo have the time of the test clock, and pause no mandate that has expired by it`,
    { skip: missing ?? false },
    async (context) => {
      const { purser } = await startServiceOn(open, context)
      await makeMandates(purser, 1)
      const [expired] = await makeMandates(purser, 1, '2026-11-21T00:00:00Z')
      assert.ok(expired)
      await purser.testClock.advance(2 * 24 * 3_600)
      const stop = await purser.console.stop()
      assert.equal(stop.paused_mandates, 1)
      await purser.console.resume(stop.stop_id)
      const { items } = await purser.auditLog.list().page()
      const stops = ['agents.stopped', 'agents.resumed', 'mandate.paused', 'mandate.resumed'] as const
      for (const type of stops) {
        const [event, ...others] = (await purser.auditLog.list({ type }).page()).items
        assert.deepEqual([event?.created_at, others], ['2026-11-22T12:00:00.000Z', []], type)
      }
      assert.equal((await purser.mandates.get(expired.id)).status, 'active')
      assert.deepEqual(
        items.slice(0, 3).map(({ type }) => type),
        ['agents.resumed', 'agents.stopped', 'test_clock.advanced'],
      )
    },
  )
}

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} a stop with a lost answer reports everything when retried under its Idempotency-Key, and can be undone`,
    { skip: missing ?? false },
    async (context) => {
      const { service, purser } = await startServiceOn(open, context)
      const [first, second, third] = await makeMandates(purser, many)
      assert.ok(first && second && third)
      const proof = await purser.payments.requestProof(paymentOf(first))
      assert.ok(proof.decision === 'approved')
      const stopped = async () =>
        (await purser.auditLog.list({ type: 'agents.stopped' }).toArray({ limit: 9 })).map(
          ({ subject_id, data: { paused_mandates, voided_holds, failed_mandates = 0, ...data } }) => ({
            stop_id: subject_id,
            paused_mandates,
            voided_holds,
            failed_mandates,
            outstanding_authorized: data['outstanding_authorized'] ?? { count: 0, amount: '0.00' },
          }),
        )

      // The first two answers are lost, and with them the number of paused mandates.
      const losing = losingAnswers(service, 2)
      const whole = await losing.purser.console.stop()
      assert.equal(losing.keys.length, 3)
      assert.equal(new Set(losing.keys).size, 1)
      assert.deepEqual([whole.paused_mandates, whole.voided_holds], [many, 1])
      assert.deepEqual(await stopped(), [whole], 'one stop, one event')

      // A retry pauses mandates that were resumed meanwhile again, and then the log says so.
      const [key = ''] = losing.keys
      await purser.mandates.resume(second.id)
      await purser.mandates.pause(third.id)
      const again = await purser.console.stop({ idempotencyKey: key })
      assert.deepEqual(
        again,
        { ...whole, paused_mandates: many - 1 },
        'without the one that its owner paused',
      )
      assert.deepEqual(await stopped(), [again, whole])

      const other = await purser.console.stop()
      assert.deepEqual([other.paused_mandates, other.voided_holds], [0, 0])
      assert.notEqual(other.stop_id, whole.stop_id)
      assert.equal(
        (await purser.console.resume(whole.stop_id)).resumed_mandates,
        0,
        'the other stop took over',
      )
      assert.equal((await purser.console.resume(other.stop_id)).resumed_mandates, many - 1)
      assert.equal((await purser.mandates.get(first.id)).status, 'active')
      assert.equal((await purser.mandates.get(third.id)).status, 'paused')
    },
  )

  test(
    `On ${name} the Idempotency-Key of a stop is scoped to its account and environment`,
    { skip: missing ?? false },
    async (context) => {
      const { service } = await startServiceOn(open, context)
      const strangerKey = (await createTenant(service)).sandboxKey
      const clients = [service.sandboxKey, service.productionKey, strangerKey].map(
        (apiKey) => new Purser({ apiKey, baseUrl: service.url }),
      )
      const [own, production, stranger] = clients
      assert.ok(own && production && stranger)
      for (const [index, purser] of clients.entries()) await makeMandates(purser, index + 1)
      const stops = []
      for (const purser of clients) stops.push(await purser.console.stop({ idempotencyKey: 'stop 1' }))
      assert.deepEqual(
        stops.map(({ paused_mandates }) => paused_mandates),
        [1, 2, 3],
      )
      const ids = stops.map(({ stop_id }) => stop_id)
      assert.equal(new Set(ids).size, 3)
      for (const id of ids) assert.match(id, /^stop_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
      assert.deepEqual(await own.console.stop({ idempotencyKey: 'stop 1' }), stops[0])
      for (const id of ids.slice(1)) assert.equal((await own.console.resume(id)).resumed_mandates, 0)
      assert.equal((await production.console.resume(ids[1])).resumed_mandates, 2)
      assert.equal((await stranger.console.resume(ids[2])).resumed_mandates, 3)
    },
  )
}

test('A retried stop reports everything, even if an earlier attempt ended halfway, and an invalid key stops nothing', async (context) => {
  const before = await startTestService(context)
  const clientOf = ({ url }: TestService) => new Purser({ apiKey: before.sandboxKey, baseUrl: url })
  let purser = clientOf(before)
  const [mandate] = await makeMandates(purser, 1)
  assert.ok(mandate)
  for (const key of ['', 'x'.repeat(256)]) {
    const refused = await before.call('POST', '/v1/console/stop', { headers: { 'idempotency-key': key } })
    assert.deepEqual([refused.status, refused.text], [400, '{"detail":"invalid_idempotency_key"}'])
  }
  assert.equal((await purser.mandates.get(mandate.id)).status, 'active')
  const idempotencyKey = 'stop 1'
  const first = await purser.console.stop({ idempotencyKey })
  await before.stop()
  const forget = new Database(before.databasePath)
  forget.exec("delete from audit_events where type = 'agents.stopped'")
  forget.close()
  purser = clientOf(await startTestService(context, { PURSER_DATABASE: `sqlite:${before.databasePath}` }))
  const [newest] = (await purser.auditLog.list().page()).items
  assert.equal(newest?.type, 'mandate.paused', "until the stop's event is written, its parts are in the log")
  await makeMandates(purser, 1)
  const whole = await purser.console.stop({ idempotencyKey })
  assert.deepEqual(whole, { ...first, paused_mandates: 2 })
  const events = (await purser.auditLog.list({ type: 'agents.stopped' }).page()).items
  assert.deepEqual(
    events.map(({ data }) => [data['paused_mandates'], data['voided_holds']]),
    [[2, 0]],
  )
})

test('A stop reports a locked mandate, which blocks no other, and stops it as soon as possible', async (context) => {
  const { service, purser, lockMandate, unlock } = await startOnPostgres(context)
  const mandates = await makeMandates(purser, 205)
  const locked = mandates[3]
  assert.ok(locked)
  const proof = await purser.payments.requestProof(paymentOf(locked))
  assert.ok(proof.decision === 'approved')
  await lockMandate(locked.id)

  const stopping = purser.console.stop()
  const others = mandates.filter(({ id }) => id !== locked.id)
  const stranger = new Purser({ apiKey: (await createTenant(service)).sandboxKey, baseUrl: service.url })
  const [ofStranger] = await makeMandates(stranger, 1)
  assert.ok(ofStranger)
  for (let stopped = 0; stopped < others.length; await sleep(50)) {
    assert.equal((await stranger.payments.requestProof(paymentOf(ofStranger, '0.01'))).decision, 'approved')
    stopped = (await purser.console.status()).stopped_mandates
  }
  const stop = await stopping
  assert.deepEqual([stop.paused_mandates, stop.voided_holds, stop.failed_mandates], [others.length, 0, 1])
  const events = async () => (await purser.auditLog.list({ type: 'agents.stopped' }).page()).items
  const [told] = await events()
  assert.deepEqual([told?.data['failed_mandates'], told?.data['failed_mandate_ids']], [1, [locked.id]])

  await unlock()
  while ((await purser.mandates.get(locked.id)).status !== 'paused') {
    service.clock.nowMs += 1_000
    await sleep(50)
  }
  // The stop records its end a moment later.
  let last = told
  for (; last?.id === told?.id; [last] = await events()) await sleep(10)
  const { paused_mandates, voided_holds, failed_mandates } = last?.data ?? {}
  assert.deepEqual([paused_mandates, voided_holds, failed_mandates], [mandates.length, 1, undefined])
  assert.equal((await purser.console.resume(stop.stop_id)).resumed_mandates, mandates.length)
})

test('A resumption that was refused for one locked mandate is logged with those that it resumed', async (context) => {
  const { service, purser, lockMandate, unlock } = await startOnPostgres(context)
  const mandates = await makeMandates(purser, 4)
  await purser.console.stop()
  await lockMandate(mandates[1]?.id ?? assert.fail())
  const resume = () => service.call('POST', '/v1/console/resume', { body: {} })
  const first = await resume()
  assert.deepEqual([first.status, first.body.detail], [503, 'store_unavailable'])
  await unlock()
  assert.deepEqual((await resume()).body, { resumed_mandates: 1 })
  for (const { id } of mandates) assert.equal((await purser.mandates.get(id)).status, 'active')
  const { items } = await purser.auditLog.list({ limit: 200 }).page()
  const resumed = items.filter(({ type }) => type === 'mandate.resumed' || type === 'agents.resumed')
  const named = resumed.flatMap(({ subject_id, data }) => data['mandate_ids'] ?? subject_id)
  assert.equal(named.length, mandates.length)
  assert.deepEqual(new Set(named), new Set(mandates.map(({ id }) => id)))
})

/** A service on PostgreSQL, and a second connection that can lock the row of a mandate. */
async function startOnPostgres(context: TestContext) {
  const { url, drop } = await postgres18.createDatabase()
  const frozen = new Client({ connectionString: url })
  await frozen.connect()
  context.after(() => frozen.end())
  const service = await startTestService(context, { PURSER_DATABASE: url, PURSER_WORKERS: '1' })
  context.after(drop)
  return {
    service,
    purser: new Purser({ apiKey: service.sandboxKey, baseUrl: service.url }),
    async lockMandate(id: string) {
      await frozen.query('begin')
      const nonce = idText('nonce', idBytes('mandate', id) ?? assert.fail())
      await frozen.query('select from mandates where id = $1 for update', [nonce])
    },
    unlock: () => frozen.query('rollback'),
  }
}

/** A client whose first stops arrive, but whose answers are lost. */
function losingAnswers(service: TestService, count: number) {
  const keys: (string | null)[] = []
  const purser = new Purser({
    apiKey: service.sandboxKey,
    baseUrl: service.url,
    sleep: async () => {},
    fetch: async (input, init) => {
      const answer = await fetch(input, init)
      keys.push(new Headers(init?.headers).get('idempotency-key'))
      if (keys.length > count) return answer
      await answer.body?.cancel()
      throw new TypeError('the connection broke after the stop')
    },
  })
  return { purser, keys: keys as string[] }
}

function paymentOf({ id, agent_id }: { readonly id: string; readonly agent_id: string }, amount = '1.00') {
  return { agent_id, mandate_id: id, amount, resource_url }
}

const domain = 'api.example.com'
const resource_url = `https://${domain}/data`

async function makeMandates(purser: Purser, count: number, expires_at = '2099-01-01T00:00:00Z') {
  const agent = await purser.agents.create({ name: 'research-bot' })
  const mandate = {
    agent_id: agent.id,
    purpose: 'Research data',
    max_spend_total: '10.00',
    max_spend_per_transaction: '1.00',
    allowed_sellers: [domain],
    expires_at,
  }
  return Promise.all(Array.from({ length: count }, () => purser.mandates.create(mandate)))
}

test('A pause of a mandate that a stop has paused is logged, because the undo then leaves it paused', async (context) => {
  const service = await startTestService(context)
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const [mandate] = await makeMandates(purser, 1)
  assert.ok(mandate)
  assert.equal((await purser.console.stop()).paused_mandates, 1)
  service.clock.nowMs += 1
  for (let count = 0; count < 2; count++) await purser.mandates.pause(mandate.id)
  assert.equal((await purser.console.resume()).resumed_mandates, 0)
  const { items } = await purser.auditLog.list({ subject_id: mandate.id }).page()
  assert.deepEqual(
    items.map(({ type }) => type),
    ['mandate.paused', 'mandate.paused', 'mandate.created'],
  )
})
