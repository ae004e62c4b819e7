import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'

import { answersOf } from '@purser/wire/endpoint'
import { ErrorBody } from '@purser/wire/errors'
import { endpoints } from '@purser/wire/openapi'
import { Compile } from 'typebox/compile'
import { Format } from 'typebox/format'

import { allAtOnce } from '../testing/load.ts'
import { hostileRequest, type HostileRequest, type Target } from '../testing/http/hostile-requests.ts'
import { assertLedgerAddsUp } from '../testing/ledger.ts'
import { sendPlain, type PlainAnswer } from '../testing/http/plain-http.ts'
import { registerSeller } from '../testing/purchases.ts'
import { prepareRoleKeys } from '../testing/role-keys.ts'
import { prepareSampleRecords } from '../testing/sample-records.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import {
  createTenant,
  issueKey,
  issueProof,
  preparePurchase,
  startTestService,
  type TestService,
} from '../testing/service.ts'

const requestCount = Number(process.env['HOSTILE_REQUESTS'] ?? 2_500)
const connections = 32
/** Each request is derived from this and its number; another seed gives another run. */
const seed = Number(process.env['HOSTILE_SEED'] ?? 20_261_120)

// A URL is returned as the caller wrote it, and callers may write what a URL parser normalizes.
Format.Set('uri', () => true)

/** Checks of the bodies that the description lists, by endpoint and status. */
const checks = new Map(
  endpoints.map((endpoint) => [
    endpoint.id,
    new Map(
      Object.entries(answersOf(endpoint)).map(([status, { schema }]) => [Number(status), Compile(schema)]),
    ),
  ]),
)
const isErrorBody = Compile(ErrorBody)

test(
  'Whatever is sent, the response is one that the description lists for the endpoint, and never a 5xx [errors.422]',
  { timeout: 300_000 },
  async (t) => {
    const service = await startTestService(t)
    const target = await prepareTarget(service)
    const agent = new Agent({ keepAlive: true, maxSockets: connections })
    t.after(() => agent.destroy())

    const statuses = new Map<number, number>()
    const reached = new Set<string>()
    let next = 0
    async function work(): Promise<void> {
      while (next < requestCount) {
        const number = next++
        const request = hostileRequest(seededRandom(seed + number), target)
        const answer = await sendPlain(service.url, { ...request, agent }).catch((error: unknown) => {
          assert.fail(`${titleOf(number, request)} has no answer: ${String(error)}`)
        })
        const fault = faultIn(request, answer)
        if (fault !== undefined) assert.fail(`${titleOf(number, request)} → ${fault}`)
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        if (request.endpoint && answer.status < 300) reached.add(request.endpoint.id)
      }
    }
    await Promise.all(Array.from({ length: connections }, work))

    const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
    t.diagnostic(`seed ${seed}: ${requestCount} requests, answers ${counts.join(', ')}`)
    // These check the extremes: a generator that never reaches them would find nothing.
    assert.deepEqual(
      endpoints.filter(({ id }) => !reached.has(id)).map(({ id }) => id),
      // The only account that is named is the operator's own, and a key has no session to show or end.
      ['disableAccount', 'getSession', 'endSession'],
    )
    for (const status of [200, 201, 400, 401, 402, 403, 404, 405, 409, 413, 422, 431]) {
      assert.ok(statuses.has(status), `no request was answered ${status}`)
    }
    assert.equal((await service.call('GET', '/readyz')).status, 200)
    await assertLedgerAddsUp(service)
  },
)

/** The problem with the response, or undefined. */
function faultIn(request: HostileRequest, { status, headers, text, body }: PlainAnswer): string | undefined {
  const answer = `${status} ${text.slice(0, 500)}`
  if (status >= 500) return answer
  if (/\bat .*\.[jt]s:\d+/.test(text) || text.includes('node_modules')) return `a stack trace: ${answer}`
  const { endpoint, mustBe } = request
  if (mustBe !== undefined && status !== mustBe) return `${answer} instead of ${mustBe}`
  if (request.method === 'HEAD') return text === '' ? undefined : `a body for HEAD: ${answer}`
  const produces = (status < 300 && endpoint?.produces) || 'application/json'
  if (!headers['content-type']?.startsWith(`${produces}; charset=utf-8`)) return `no ${produces}: ${answer}`
  if (!endpoint) return isErrorBody.Check(body) ? undefined : `no error body: ${answer}`
  const check = checks.get(endpoint.id)?.get(status)
  if (!check) return `a status that the description does not list: ${answer}`
  if (!check.Check(body)) return `a body that the description does not describe: ${answer}`
  if (request.isValid && [400, 413, 422].includes(status)) return `refused, though valid: ${answer}`
  return undefined
}

function titleOf(number: number, { method, path, headers, body }: HostileRequest): string {
  const sent = body === undefined ? '' : ` ${body.toString().slice(0, 500)}`
  return `seed ${seed}, request ${number}: ${method} ${path.slice(0, 300)} ${JSON.stringify(headers).slice(0, 500)}${sent}`
}

async function prepareTarget(service: TestService): Promise<Target> {
  const { keys } = await prepareRoleKeys(service)
  const generous = { max_spend_total: '999999999999', max_spend_per_transaction: '999999999999' }
  const purchase = await preparePurchase(service, { ...generous, allowed_sellers: ['*'] })
  const sample = await prepareSampleRecords(service, service.sandboxKey)
  const records = { ...sample, agent_id: purchase.agentId, mandate_id: purchase.mandateId }
  const revoked = await issueKey(service, { role: 'owner' })
  const { body: listed } = await service.call('GET', '/accounts/api-keys')
  await service.call('DELETE', `/accounts/api-keys/${listed[0].id}`)

  const spareAgents: string[] = []
  const spareMandates: string[] = []
  const spareKeys: string[] = []
  const spareDomains: string[] = []
  const spareNonces: string[] = []
  const spareTransactions: string[] = []
  const spareApprovals: string[] = []
  const verifications: object[] = []
  for (let count = 0; count < 20; count++) {
    const spare = await preparePurchase(service)
    spareAgents.push((await service.call('POST', '/agents', { body: { name: 'spare' } })).body.id)
    spareMandates.push(spare.mandateId)
    const key = { role: 'merchant', environment: 'sandbox' }
    spareKeys.push((await service.call('POST', '/accounts/api-keys', { body: key })).body.id)
    const domain = `spare${count}.example.com`
    await registerSeller(service, domain)
    spareDomains.push(domain)
    const requests = await allAtOnce(4, async () => {
      const proof = await issueProof(service, purchase)
      return { proof, merchant_domain: purchase.merchantDomain, expected_amount: proof.amount }
    })
    const [toPay, toAuthorize, open, toVerify] = requests
    const paid = await service.call('POST', '/v1/payments/verify', { body: toPay })
    const authorized = await service.call('POST', '/v1/payments/authorize', { body: toAuthorize })
    const increase = await service.call('POST', `/v1/mandates/${spare.mandateId}/increase-requests`, {
      body: { max_spend_total: '2000.00', reason: 'spare' },
    })
    assert.deepEqual([paid.status, authorized.status, increase.status], [200, 200, 201])
    spareTransactions.push(paid.body.transaction_id)
    spareNonces.push(authorized.body.authorization.nonce, open?.proof.nonce ?? '')
    spareApprovals.push(increase.body.id)
    verifications.push(toVerify ?? {})
  }
  return {
    keys: { ...keys, agent: await issueKey(service, { role: 'agent', agent_id: purchase.agentId }) },
    bystanderKey: (await createTenant(service, 'idp_bystander')).sandboxKey,
    badKeys: [revoked, 'x', 'svc_sand_', service.sandboxKey.slice(0, -1), 'x'.repeat(2_000), '\xe9'],
    records,
    spare: {
      agent_id: spareAgents as [string],
      mandate_id: spareMandates as [string],
      key_id: spareKeys as [string],
      domain: spareDomains as [string],
      nonce: spareNonces as [string],
      transaction_id: spareTransactions as [string],
      approval_id: spareApprovals as [string],
    },
    verifications: verifications as [object],
  }
}
