import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { refusesUnknownParameters } from '@purser/wire/interface-endpoints'
import { endpoints } from '@purser/wire/openapi'

import { startTestService } from '../testing/service.ts'

/** The endpoints of interface 0.1.0, as its pages list them. */
const listedByInterface = [
  'createMandate',
  'listMandates',
  'getMandate',
  'issueProof',
  'verify',
  'evaluate',
  'verifyAgent',
  'createAccount',
  'createSeller',
  'listSellers',
  'revokeApiKey',
  'revokeAgent',
  'getAgent',
]

const service = await startTestService({ after })

for (const endpoint of endpoints) {
  const { id, method, path } = endpoint
  const isListed = listedByInterface.includes(id)
  const rule = isListed ? 'ignores' : 'refuses'
  test(`${id} ${rule} an unknown query parameter`, async () => {
    assert.equal(refusesUnknownParameters(endpoint), !isListed)
    const address = path.replaceAll(/\{\w+\}/g, 'unknown')
    const options = endpoint.body ? { body: {} } : {}
    const search = '?created_form=2026-11-01&limit=x&constructor'
    const { status, text, body } = await service.call(method, `${address}${search}`, options)
    const faults = (Array.isArray(body?.detail) ? body.detail : []) as { loc: string[] }[]
    const unknown = faults.filter(({ loc }) => loc[1] === 'created_form' || loc[1] === 'constructor')
    if (isListed) {
      assert.deepEqual(unknown, [], text)
      return
    }
    const known = Object.keys(endpoint.query?.properties ?? {})
    const takes = known.join(', ') || 'no query parameters'
    assert.equal(status, 422, text)
    assert.deepEqual(
      unknown,
      [
        ['created_form', '2026-11-01'],
        ['constructor', ''],
      ].map(([name, input]) => ({
        type: 'extra_forbidden',
        loc: ['query', name],
        msg: `Extra inputs are not permitted; this takes ${takes}`,
        input,
        ctx: { known: takes },
      })),
    )
    // Errors of known parameters are reported in the same answer.
    const { limit } = endpoint.query?.properties ?? {}
    assert.equal(
      faults.some(({ loc }) => loc[1] === 'limit'),
      true,
      limit ? 'its fault' : 'unknown',
    )
  })
}

test('An unknown parameter is refused after authentication, and before anything is done', async () => {
  const stranger = await service.call('GET', '/v1/transactions?x=1', { key: null })
  assert.equal(stranger.status, 401)
  const created = await service.call('POST', '/agents?dry_run=true', { body: { name: 'research-bot' } })
  assert.equal(created.status, 422)
  assert.deepEqual(created.body.detail[0].loc, ['query', 'dry_run'])
  assert.deepEqual((await service.call('GET', '/agents')).body, [])
})

test('Many unknown parameters list 20 errors with truncated inputs', async () => {
  const search = Array.from({ length: 40 }, (_, index) => `p${index}=${'x'.repeat(300)}`).join('&')
  const { status, body, text } = await service.call('GET', `/v1/audit-log?${search}`)
  assert.equal(status, 422)
  assert.equal(body.detail.length, 20)
  assert.ok(text.length < 20_000, `${text.length}`)
})

/** A mistyped field, where it would change what is paid: the endpoint, its body and the place of the field. */
const mistyped: readonly [string, unknown, string][] = [
  ['POST /v1/payments/unknown/capture', { amout: '1.00' }, 'amout'],
  ['POST /v1/payments/authorize', { capture_second: 60 }, 'capture_second'],
  ['POST /v1/transactions/unknown/refund', { amout: '1.00' }, 'amout'],
  ['PATCH /v1/mandates/unknown', { max_spend_totl: '1.00' }, 'max_spend_totl'],
  ['PATCH /v1/mandates/unknown', { max_capture_seconds: 60 }, 'max_capture_seconds'],
  ['POST /v1/mandates/unknown/increase-requests', { reason: 'more', limit: [] }, 'limit'],
  ['POST /v1/budgets', { name: 'Team', limits: [], parent: 'budget_1' }, 'parent'],
  ['PATCH /v1/budgets/unknown', { limit: [] }, 'limit'],
  ['POST /mandates', { limits: [{ window: 'lifetime', max_amount: '1', pers: 'seller' }] }, 'limits.0.pers'],
  ['POST /mandates', { approval: { abov: '1' } }, 'approval.abov'],
]

for (const [called, body, place] of mistyped) {
  test(`${called} refuses the unknown field ${place}`, async () => {
    const [method = '', path = ''] = called.split(' ')
    const headers = { 'if-match': '"1"', 'idempotency-key': 'once' }
    const answer = await service.call(method, path, { body, headers })
    assert.equal(answer.status, 422, answer.text)
    const faults = answer.body.detail as { type: string; loc: (string | number)[] }[]
    const unknown = faults.filter(({ type }) => type === 'extra_forbidden')
    assert.deepEqual(
      unknown.map(({ loc }) => loc.join('.')),
      [`body.${place}`],
    )
  })
}
