import assert from 'node:assert/strict'
import { createHmac, hkdfSync } from 'node:crypto'
import { after, test } from 'node:test'

import { changingNothing, leavingDenials, readLedger, readSums } from '../../testing/ledger.ts'
import { change, pay } from '../../testing/purchases.ts'
import {
  askForProof,
  createTenant,
  issueKey,
  issueProof,
  preparePurchase,
  testStartMs,
  verifyProof,
  type Purchase,
  startTestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const secret = 'the-secret-of-this-test-and-of-nothing-else'
const service = await startTestService({ after }, { PURSER_PROOF_SECRET: secret })
const purchase = await preparePurchase(service, { max_spend_total: '100000.00' })

test('POST /v1/payments/proof answers 201 with one property, proof, of ten fields [endpoint.proof] [what.3]', async () => {
  const answer = await askForProof(service, purchase, '2.50')
  assert.equal(answer.status, 201)
  assert.deepEqual(Object.keys(answer.body), ['proof'])
  const fields = 'scheme network agentId mandateId amount currency resource nonce timestamp signature'
  assert.deepEqual(Object.keys(answer.body.proof), fields.split(' '))
})

test('scheme is svc-sandbox in the sandbox [proof.scheme]', async () => {
  assert.equal((await issueProof(service, purchase)).scheme, 'svc-sandbox')
})

test('network is sandbox in the sandbox [proof.network]', async () => {
  assert.equal((await issueProof(service, purchase)).network, 'sandbox')
})

test('agentId is the agent that generated the proof [proof.agentId]', async () => {
  assert.equal((await issueProof(service, purchase)).agentId, purchase.agentId)
})

test('mandateId is the mandate drawn from [proof.mandateId]', async () => {
  assert.equal((await issueProof(service, purchase)).mandateId, purchase.mandateId)
})

test('amount is the requested text, digit by digit [proof.amount] [what.amounts]', async () => {
  for (const amount of ['1', '1.0', '1.00', '1.000000', '0.000001', '007.50']) {
    assert.equal((await issueProof(service, purchase, amount)).amount, amount)
  }
})

test('currency is USDC, also if the request omits it [proof.currency] [limits.currency]', async () => {
  for (const fields of [{}, { currency: 'USDC' }]) {
    const answer = await ask(fields)
    assert.equal(answer.status, 201, answer.text)
    assert.equal(answer.body.proof.currency, 'USDC')
  }
})

test('resource is the requested address, as sent [proof.resource]', async () => {
  for (const resource of [
    'https://api.example.com',
    'http://API.example.com:8080/a/../b?q=ä#x',
    purchase.resourceUrl,
  ]) {
    const answer = await ask({ resource_url: resource })
    assert.equal(answer.body.proof.resource, resource)
  }
})

test('nonce is a UUIDv7, unique for each proof [proof.nonce]', async () => {
  const proofs = await Promise.all(Array.from({ length: 20 }, () => issueProof(service, purchase)))
  const nonces = proofs.map(({ nonce }) => nonce)
  assert.equal(new Set(nonces).size, nonces.length)
  for (const nonce of nonces) {
    assert.match(nonce, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.equal(parseInt(nonce.replaceAll('-', '').slice(0, 12), 16), testStartMs)
  }
})

test('timestamp is the creation time, with milliseconds and the offset +00:00 [proof.timestamp]', async () => {
  assert.equal((await issueProof(service, purchase)).timestamp, '2026-11-20T12:00:00.000+00:00')
})

test('signature is the HMAC-SHA256 of the canonical JSON without it, in lower-case hex [proof.signature]', async () => {
  const { signature, ...unsigned } = await issueProof(service, purchase)
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'purser/proof/sandbox', 32))
  const canonical = JSON.stringify(unsigned, Object.keys(unsigned).toSorted())
  assert.equal(signature, createHmac('sha256', key).update(canonical).digest('hex'))
})

for (const field of ['agent_id', 'mandate_id', 'amount', 'resource_url']) {
  test(`A request for a proof without ${field} is 422 and holds nothing [endpoint.proof]`, async () => {
    const answer = await changingNothing(service, () => ask({ [field]: undefined }))
    assert.equal(answer.status, 422)
    const [item, ...others] = answer.body.detail
    assert.deepEqual([item.type, item.loc, item.msg], ['missing', ['body', field], 'Field required'])
    assert.deepEqual(others, [])
  })
}

test('A proof in a currency other than USDC is 422 [limits.currency] [proof.currency]', async () => {
  for (const currency of ['EUR', 'usdc', '', null]) {
    const answer = await changingNothing(service, () => ask({ currency }))
    assert.equal(answer.status, 422, String(currency))
    assert.deepEqual(answer.body.detail, [
      {
        type: 'literal_error',
        loc: ['body', 'currency'],
        msg: "Input should be 'USDC'",
        input: currency,
        ctx: { expected: "'USDC'" },
      },
    ])
  }
})

const badAmounts: readonly (readonly [amount: unknown, type: string])[] = [
  ['0', 'greater_than'],
  ['0.00', 'greater_than'],
  ['0.000000', 'greater_than'],
  ['1000000000000', 'decimal_whole_digits'],
  ['0.0000001', 'string_pattern_mismatch'],
  ['-1.00', 'string_pattern_mismatch'],
  ['+1.00', 'string_pattern_mismatch'],
  ['1e3', 'string_pattern_mismatch'],
  ['1.', 'string_pattern_mismatch'],
  ['.5', 'string_pattern_mismatch'],
  ['1,00', 'string_pattern_mismatch'],
  ['1.00\n', 'string_pattern_mismatch'],
  ['', 'string_pattern_mismatch'],
  [1, 'string_type'],
  [null, 'string_type'],
]
for (const [amount, type] of badAmounts) {
  test(`A proof of ${JSON.stringify(amount)} is 422 ${type}`, async () => {
    const answer = await changingNothing(service, () => ask({ amount }))
    assert.equal(answer.status, 422)
    assert.deepEqual(
      answer.body.detail.map((item: { type: string; loc: unknown }) => [item.type, item.loc]),
      [[type, ['body', 'amount']]],
    )
  })
}

interface Refusal {
  readonly title: string
  readonly reasonCode: string
  /** Sets up what the proof needs; by default a generous purchase. */
  readonly prepare?: () => Promise<Purchase>
  readonly amount?: string
}

const mandateOf = (fields: Record<string, unknown>) => () => preparePurchase(service, fields)

const refusals: readonly Refusal[] = [
  {
    title: 'check 1: the agent is unknown',
    reasonCode: 'agent_revoked',
    prepare: async () => ({ ...(await preparePurchase(service)), agentId: 'agent_unknown' }),
  },
  {
    title: "check 1: the agent is another tenant's",
    reasonCode: 'agent_revoked',
    prepare: async () => preparePurchase(service, {}, (await createTenant(service)).sandboxKey),
  },
  {
    title: 'check 2: the agent is revoked',
    reasonCode: 'agent_revoked',
    prepare: async () => {
      const purchase = await preparePurchase(service)
      await change(service, `/agents/${purchase.agentId}/revoke`)
      return purchase
    },
  },
  {
    title: 'check 3: the mandate is unknown',
    reasonCode: 'mandate_expired',
    prepare: async () => ({ ...(await preparePurchase(service)), mandateId: 'mandate_unknown' }),
  },
  {
    title: "check 3: the mandate is another agent's",
    reasonCode: 'mandate_expired',
    prepare: async () => {
      const { mandateId } = await preparePurchase(service)
      return { ...(await preparePurchase(service)), mandateId }
    },
  },
  {
    title: 'check 4: the mandate is paused',
    reasonCode: 'mandate_expired',
    prepare: async () => {
      const purchase = await preparePurchase(service)
      await change(service, `/mandates/${purchase.mandateId}/pause`)
      return purchase
    },
  },
  {
    title: 'check 4: the mandate is revoked',
    reasonCode: 'mandate_expired',
    prepare: async () => {
      const purchase = await preparePurchase(service)
      await change(service, `/mandates/${purchase.mandateId}/revoke`)
      return purchase
    },
  },
  {
    title: 'check 5: the mandate expires at this moment',
    reasonCode: 'mandate_expired',
    prepare: mandateOf({ expires_at: '2026-11-20T12:00:00Z' }),
  },
  {
    title: 'check 8: the amount is a millionth above the cap',
    reasonCode: 'amount_exceeds_per_transaction_limit',
    amount: '10.000001',
  },
  {
    title: 'check 9: spent and amount are a millionth above the total',
    reasonCode: 'total_budget_exceeded',
    amount: '4.000001',
    prepare: async () => {
      const purchase = await preparePurchase(service, { max_spend_total: '10.00' })
      await pay(service, purchase, '6.00')
      return purchase
    },
  },
  {
    title: 'check 9: spent, held and amount are above the total',
    reasonCode: 'total_budget_exceeded',
    amount: '4.00',
    prepare: async () => {
      const purchase = await preparePurchase(service, { max_spend_total: '10.00' })
      await pay(service, purchase, '3.00')
      await issueProof(service, purchase, '3.01')
      return purchase
    },
  },
  {
    title: 'the first failure counts: agent before mandate',
    reasonCode: 'agent_revoked',
    amount: '11.00',
    prepare: async () => {
      const purchase = await preparePurchase(service, { max_spend_total: '5.00' })
      await change(service, `/mandates/${purchase.mandateId}/revoke`)
      await change(service, `/agents/${purchase.agentId}/revoke`)
      return purchase
    },
  },
  {
    title: 'the first failure counts: mandate before cap',
    reasonCode: 'mandate_expired',
    amount: '11.00',
    prepare: mandateOf({ max_spend_total: '5.00', expires_at: '2020-01-01T00:00:00Z' }),
  },
  {
    title: 'the first failure counts: cap before total',
    reasonCode: 'amount_exceeds_per_transaction_limit',
    amount: '11.00',
    prepare: mandateOf({ max_spend_total: '5.00' }),
  },
]
for (const { title, reasonCode, prepare = mandateOf({}), amount } of refusals) {
  test(`A refused proof is 402, holds nothing and is recorded, ${title} [errors.codes]`, async () => {
    const purchase = await prepare()
    const ask = () => askForProof(service, purchase, amount)
    const { result: answer, denials } = await leavingDenials(service, ask)
    assert.equal(answer.status, 402, answer.text)
    const detail: unknown = answer.body.reason_detail
    assert(typeof detail === 'string' && detail.length > 0)
    assert.deepEqual(answer.body, {
      decision: 'denied',
      reason_code: reasonCode,
      reason_detail: detail,
      agent_id: purchase.agentId,
      mandate_id: purchase.mandateId,
    })
    const [recorded] = denials
    assert.ok(recorded && denials.length === 1)
    assert.deepEqual(recorded, {
      id: recorded.id,
      status: 'denied',
      agent_id: purchase.agentId,
      mandate_id: purchase.mandateId,
      amount: amount ?? '1.00',
      currency: 'USDC',
      resource_url: purchase.resourceUrl,
      merchant_domain: purchase.merchantDomain,
      seller_id: null,
      category: null,
      reason_code: reasonCode,
      reason_detail: detail,
      order_id: null,
      refund_of: null,
      refunded_total: null,
      created_at: '2026-11-20T12:00:00.000Z',
      mandate_version: recorded.mandate_version,
      metadata: {},
    })
  })
}

test("Another tenant's agent and mandate are refused like unknown ones", async () => {
  const theirs = await preparePurchase(service, {}, (await createTenant(service, 'idp_their')).sandboxKey)
  const masked = async (asked: Purchase) => {
    const answer = await askForProof(service, asked)
    return answer.text.replace(asked.agentId, 'A').replace(asked.mandateId, 'M')
  }
  const unknown = { ...purchase, agentId: 'agent_unknown', mandateId: 'mandate_unknown' }
  assert.equal(await masked(theirs), await masked(unknown))
  assert.equal(
    await masked({ ...purchase, mandateId: theirs.mandateId }),
    await masked({ ...purchase, mandateId: 'mandate_unknown' }),
  )
})

test('A proof names no seller yet, so checks 6 and 7 do not apply', async () => {
  const narrow = await preparePurchase(service, { allowed_sellers: [], allowed_categories: ['books'] })
  assert.equal((await askForProof(service, narrow)).status, 201)
})

test('The amount may equal the cap, and exhaust the total budget [limits.total]', async () => {
  const narrow = await preparePurchase(service, { max_spend_total: '12.50' })
  assert.equal((await askForProof(service, narrow, '10.00')).status, 201)
  assert.equal((await askForProof(service, narrow, '2.50')).status, 201)
  assert.equal((await askForProof(service, narrow, '0.000001')).status, 402)
})

test('A proof holds its amount; a hold is not spent and records no transaction or event', async () => {
  const fresh = await preparePurchase(service)
  const { mandates: _, ...before } = await readLedger(service)
  const proof = await issueProof(service, fresh, '2.500001')
  assert.deepEqual(await readSums(service, fresh), ['0.00', '2.500001', '100.00'])
  await issueProof(service, fresh, '1.5')
  assert.deepEqual(await readSums(service, fresh), ['0.00', '4.000001', '100.00'])
  const { mandates: __, ...afterwards } = await readLedger(service)
  assert.deepEqual(afterwards, before)
  assert.equal((await verifyProof(service, proof)).status, 200)
  assert.deepEqual(await readSums(service, fresh), ['2.500001', '1.50', '97.499999'])
})

test('A production key gets 400 production_payments_not_supported, whatever else is wrong [endpoint.proof.production] [errors.400] [auth.3]', async () => {
  const service = await shareTestService()
  const { productionKey } = service
  const purchase = await preparePurchase(service, {}, productionKey)
  const agentKey = await issueKey(
    service,
    { role: 'agent', agent_id: purchase.agentId, environment: 'production' },
    productionKey,
  )
  const cases = [
    { key: productionKey, asked: purchase },
    { key: agentKey, asked: purchase },
    { key: agentKey, asked: { ...purchase, agentId: 'agent_unknown' } },
    { key: productionKey, asked: { ...purchase, mandateId: 'mandate_unknown' } },
  ]
  await changingNothing(
    service,
    async () => {
      for (const { key, asked } of cases) {
        const answer = await askForProof(service, asked, '1000.00', { key })
        assert.equal(answer.status, 400)
        assert.equal(answer.text, '{"detail":"production_payments_not_supported"}')
      }
    },
    productionKey,
  )
})

test('Operator, owner and the agent itself may request a proof; another agent and a merchant may not [endpoint.proof]', async () => {
  const other = await preparePurchase(service)
  const keyed = (fields: Record<string, unknown>) => issueKey(service, fields)
  const rows = [
    { key: service.sandboxKey, status: 201 },
    { key: await keyed({ role: 'owner' }), status: 201 },
    { key: await keyed({ role: 'agent', agent_id: purchase.agentId }), status: 201 },
    { key: await keyed({ role: 'agent', agent_id: other.agentId }), status: 403 },
    { key: await keyed({ role: 'merchant' }), status: 403 },
    { key: null, status: 401 },
  ]
  for (const { key, status } of rows) {
    const answer = await askForProof(service, purchase, '1.00', { key })
    assert.equal(answer.status, status, answer.text)
    if (status === 403) assert.equal(answer.text, '{"detail":"insufficient_scope"}')
  }
})

function ask(fields: Record<string, unknown>) {
  return service.call('POST', '/v1/payments/proof', {
    body: {
      agent_id: purchase.agentId,
      mandate_id: purchase.mandateId,
      amount: '1.00',
      resource_url: purchase.resourceUrl,
      ...fields,
    },
  })
}
