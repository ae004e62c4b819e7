import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser } from '@purser/client'

import { explainChange, explainFailure, formFaults } from './failures.ts'

/** What the client throws when the service answers so. */
async function failureOf(status: number, body: unknown): Promise<unknown> {
  const purser = new Purser({
    apiKey: 'svc_sand_x',
    baseUrl: 'http://127.0.0.1:1',
    maxRetries: 0,
    fetch: async () => Response.json(body, { status }),
  })
  return purser.sellers
    .list()
    .page()
    .then(
      () => assert.fail('it succeeded'),
      (error: unknown) => error,
    )
}

const refusal = (field: string) =>
  failureOf(422, {
    detail: [
      {
        type: 'value_error',
        loc: ['body', field],
        msg: 'Value error, it is none',
        input: '',
        ctx: { error: 'it is none' },
      },
    ],
  })

test('Each error of a form is shown once: beside its field, or below the form if it has none', async () => {
  assert.deepEqual(formFaults(null, ['domain']), { byField: {}, rest: undefined })
  assert.deepEqual(formFaults(await refusal('domain'), ['name', 'domain']), {
    byField: { domain: 'It is none' },
    rest: undefined,
  })
  assert.deepEqual(formFaults(await refusal('currency'), ['domain']), {
    byField: {},
    rest: 'currency: It is none',
  })
  const conflict = await failureOf(409, { error: 'seller_exists' })
  assert.deepEqual(formFaults(conflict, ['domain']), { byField: {}, rest: explainFailure(conflict) })
})

test('Each failure of an approval, an amendment or a refund is shown with a remedy, and that it may have been made', async () => {
  for (const [status, code] of [
    [403, 'own_request'],
    [409, 'approval_decided'],
    [409, 'approval_expired'],
    [409, 'nothing_to_increase'],
    [409, 'too_many_approvals'],
    [403, 'widening_needs_owner'],
    [428, 'if_match_required'],
    [412, 'version_mismatch'],
    [409, 'budget_below_committed'],
    [409, 'refund_exceeds_payment'],
    [400, 'idempotency_key_required'],
    [422, 'idempotency_key_reused'],
    [429, 'rate_limited'],
    [500, 'internal_error'],
    [503, 'store_unavailable'],
  ] as const) {
    const words = explainFailure(await failureOf(status, { detail: code }))
    assert.match(words, /^[A-Z].*\.$/, code)
    assert.doesNotMatch(words, /The service answered|_/, code)
    const isUnknown = explainChange(await failureOf(status, { detail: code })).endsWith(
      ' may not have been done.',
    )
    assert.equal(isUnknown, status >= 500, code)
  }
})

test('An answer of a proxy is explained by its status', async () => {
  assert.match(explainFailure(await failureOf(429, {})), /Too many requests/)
  assert.match(explainFailure(await failureOf(502, {})), /proxy answered 502: .* restarting/)
  assert.match(explainFailure(await failureOf(418, {})), /^Something other than the service answered \(418\)/)
})

test('A page in place of the answer to a change does not say that it was refused', async () => {
  for (const status of [200, 201, 302]) {
    const page = new Response('<h1>Sign in to the network</h1>', {
      status,
      headers: { 'content-type': 'text/html' },
    })
    const purser = new Purser({
      apiKey: 'svc_sand_x',
      baseUrl: 'http://127.0.0.1:1',
      fetch: async () => page,
    })
    const words = await purser.agents.create({ name: 'bot' }).then(
      () => assert.fail('it succeeded'),
      (error: unknown) => explainChange(error),
    )
    assert.match(words, /^Something other than the service answered .* It may or may not have been done\.$/)
  }
})
