import assert from 'node:assert/strict'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { describe, test } from 'node:test'

import { catalogue } from '../src/metrics/catalogue.ts'
import { requestSeconds } from '../src/metrics/histogram.ts'
import { sendSlowly } from '../testing/http/gone-client.ts'
import { metricOf, namesOf, readMetrics } from '../testing/http/read-metrics.ts'
import { serviceStores, startServiceOn } from '../testing/service-stores.ts'
import {
  askForProof,
  issueProof,
  merchantDomain,
  preparePurchase,
  resourceUrl,
  startTestService,
  verifyProof,
  type TestService,
} from '../testing/service.ts'
import { makeFolder, runProcess } from './process.ts'

const ownPort = { PURSER_METRICS_PORT: '0' }
const token = 'c0b2f5a97d1e43688d20a4f7'

for (const { name, missing, open } of serviceStores) {
  describe(`Metrics on ${name}`, { skip: missing ?? false }, () => {
    test('include payment results, store operations and the state of the process', async (context) => {
      const { service } = await startServiceOn(open, context, ownPort)
      await pay(service)
      const series = await readMetrics(service.metricsUrl)

      const expected = {
        'purser_proofs_total{environment="sandbox",decision="approved",reason="none"}': 2,
        'purser_proofs_total{environment="sandbox",decision="denied",reason="amount_exceeds_per_transaction_limit"}': 1,
        'purser_verifications_total{environment="sandbox",result="captured",reason="none"}': 1,
        'purser_verifications_total{environment="sandbox",result="replayed",reason="none"}': 1,
        'purser_verifications_total{environment="sandbox",result="failed",reason="nonce_reused"}': 1,
        'purser_verifications_total{environment="sandbox",result="failed",reason="amount_mismatch"}': 1,
        'purser_verifications_total{environment="sandbox",result="refused",reason="merchant_not_allowed"}': 1,
        'purser_evaluations_total{environment="sandbox",decision="approved",reason="none"}': 1,
        'purser_evaluations_total{environment="sandbox",decision="denied",reason="merchant_not_allowed"}': 1,
        'http_server_request_duration_seconds_count{http_request_method="POST",http_route="/v1/payments/verify",http_response_status_code="200"}': 2,
        'http_server_request_duration_seconds_count{http_request_method="GET",http_route="/agents/:agent_id",http_response_status_code="200"}': 1,
        'http_server_request_duration_seconds_count{http_request_method="GET",http_route="unmatched",http_response_status_code="404"}': 1,
        purser_open_holds: 1,
        purser_sweep_lag_seconds: 0,
        purser_workers: 1,
        purser_workers_scraped: 1,
      }
      for (const [key, value] of Object.entries(expected)) assert.equal(series.get(key), value, key)
      for (const metric of [
        'purser_store_size_bytes',
        'process_cpu_seconds_total',
        'purser_http_connections',
      ])
        assert.ok((series.get(metric) ?? 0) > 0, metric)
      const batches = [...series].filter(([key]) => key.startsWith('purser_commit_duration_seconds_count'))
      assert.ok(batches.reduce((sum, [, count]) => sum + count, 0) > 4)
      assert.deepEqual(
        [...namesOf(series)].filter((metric) => !Object.hasOwn(catalogue, metric)),
        [],
      )
    })

    test('carry no id, no raw path and no domain in any label', async (context) => {
      const { service } = await startServiceOn(open, context, ownPort)
      await pay(service)
      await service.call('GET', `/console/no-such-file-${token}?secret=${token}`)
      await service.call('PURGE', `/agents/${token}`)
      const keys = [...(await readMetrics(service.metricsUrl)).keys()].join('\n')
      assert.doesNotMatch(keys, /acct_|agent_0|mandate_0|key_0|txn_|example\.com|svc_/)
      assert.ok(!keys.includes(token))
      assert.match(keys, /http_request_method="_OTHER"/)
    })
  })
}

/** One purchase, and one of each way in which others fail. */
async function pay(service: TestService): Promise<void> {
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  const retry = { headers: { 'idempotency-key': 'delivery-1' } }
  await verifyProof(service, proof, { merchant_domain: 'other.example.com' })
  await verifyProof(service, proof, { expected_amount: '2.00' })
  await verifyProof(service, proof, {}, retry)
  await verifyProof(service, proof, {}, retry)
  await verifyProof(service, proof)
  await issueProof(service, purchase)
  await askForProof(service, purchase, '50.00')
  for (const domain of [merchantDomain, 'shop.example.com']) {
    await service.call('POST', '/v1/policy/evaluate', {
      body: {
        agent_id: purchase.agentId,
        mandate_id: purchase.mandateId,
        merchant_domain: domain,
        amount: '1.00',
        resource_url: resourceUrl,
      },
    })
  }
  await service.call('GET', `/agents/${purchase.agentId}`)
  await service.call('GET', '/no/such/path')
}

test('Metrics are off unless a setting enables them', async (context) => {
  const service = await startTestService(context)
  assert.equal(service.metricsUrl, undefined)
  const { status, body } = await service.call('GET', '/metrics')
  assert.deepEqual([status, body], [404, { detail: 'Not Found' }])
})

test('Durations are counted in the buckets that OpenTelemetry recommends', async (context) => {
  const service = await startTestService(context, ownPort)
  await service.call('GET', '/healthz')
  const series = await readMetrics(service.metricsUrl)
  const labels = 'http_request_method="GET",http_route="/healthz",http_response_status_code="200"'
  for (const bound of [...requestSeconds, '+Inf'])
    assert.ok(series.has(`http_server_request_duration_seconds_bucket{${labels},le="${bound}"}`), `${bound}`)
  assert.deepEqual(
    requestSeconds,
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  )
})

test('The metrics port serves nothing else, and the main port no metrics', async (context) => {
  const service = await startTestService(context, ownPort)
  const { origin } = new URL(service.metricsUrl ?? '')
  assert.notEqual(origin, service.url)
  assert.equal((await fetch(`${origin}/agents`)).status, 404)
  const posted = await fetch(`${origin}/metrics`, { method: 'POST' })
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
  assert.equal((await fetch(`${origin}/metrics`, { method: 'HEAD' })).status, 200)
  assert.equal((await service.call('GET', '/metrics')).status, 404)
})

test('With a token alone metrics are on the main port, for whoever shows it', async (context) => {
  const service = await startTestService(context, { PURSER_METRICS_TOKEN: token })
  assert.equal(service.metricsUrl, `${service.url}/metrics`)
  for (const key of [null, service.sandboxKey, `${token}x`]) {
    const refused = await service.call('GET', '/metrics', { key })
    assert.deepEqual([refused.status, refused.body], [401, { detail: 'Not authenticated' }])
    assert.equal(refused.headers.get('www-authenticate'), 'Bearer')
  }
  assert.equal((await readMetrics(service.metricsUrl, token)).get('purser_workers'), 1)
  const posted = await service.call('POST', '/metrics', { key: token })
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
})

test('With a token and a port, the port asks for the token', async (context) => {
  const service = await startTestService(context, { ...ownPort, PURSER_METRICS_TOKEN: token })
  assert.equal((await fetch(service.metricsUrl ?? '')).status, 401)
  assert.equal((await readMetrics(service.metricsUrl, token)).get('purser_workers'), 1)
  assert.equal((await service.call('GET', '/metrics', { key: token })).status, 404)
})

test('Guesses of the token are limited by address', async (context) => {
  const service = await startTestService(context, {
    PURSER_METRICS_TOKEN: token,
    PURSER_RATE_LIMIT_ADDRESS: '3/600',
  })
  const statuses: number[] = []
  for (let guess = 0; guess < 5; guess++)
    statuses.push((await service.call('GET', '/metrics', { key: `guess-${guess}` })).status)
  assert.deepEqual(statuses, [401, 401, 401, 429, 429])
})

test('A metrics port in use is reported in a sentence that names the setting', async (context) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  context.after(async () => void taken.close())
  const { port } = taken.address() as AddressInfo
  const { code, stderr } = await runProcess(context, {
    folder: makeFolder(context),
    settings: { PURSER_METRICS_PORT: String(port) },
  })
  assert.equal(code, 1)
  assert.match(stderr, /is taken; choose another with PURSER_METRICS_PORT, or 0 for any free one/)
})

test('A client that disconnects before its answer is counted as 499', async (context) => {
  const service = await startTestService(context, ownPort)
  await sendSlowly(service.url, '/agents', service.sandboxKey)
  const key =
    'http_server_request_duration_seconds_count{http_request_method="POST",http_route="/agents",http_response_status_code="499"}'
  const seen = async () => (await readMetrics(service.metricsUrl)).get(key)
  while ((await seen()) === undefined) await new Promise(setImmediate)
  assert.equal(await seen(), 1)
})

test('Histograms keep their names separate from their suffixes', () => {
  assert.equal(metricOf('purser_batch_operations_bucket'), 'purser_batch_operations')
  assert.equal(metricOf('purser_worker_ends_total'), 'purser_worker_ends_total')
})
