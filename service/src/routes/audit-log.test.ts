import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { auditEventTypes, type AuditEvent, type AuditEventType } from '@purser/wire/audit-log'

import { signIn } from '../../testing/console-session.ts'
import { changingNothing, readLedger } from '../../testing/ledger.ts'
import {
  authorizeProof,
  change,
  createMerchant,
  evaluate,
  pay,
  registerSeller,
  verifyAgent,
} from '../../testing/purchases.ts'
import {
  askForProof,
  createTenant,
  issueKey,
  issueProof,
  preparePurchase,
  verifyProof,
  type Purchase,
  type TestAnswer,
  type TestService,
  startTestService,
} from '../../testing/service.ts'
import { shareTestService } from '../../testing/shared-service.ts'

const service = await startTestService({ after })
const operatorId = await firstKeyId()

test('The first start logs the account and its keys with the actor system', async (context) => {
  const service = await startTestService(context)
  const summary = async (key: string) =>
    (await readLedger(service, key)).events.map(({ type, actor }) => `${type} by ${actor}`).sort()
  assert.deepEqual(await summary(service.sandboxKey), [
    'account.created by system',
    'api_key.created by system',
  ])
  assert.deepEqual(await summary(service.productionKey), ['api_key.created by system'])
})

interface Change {
  readonly type: AuditEventType
  /** Makes the change; returns its answer and the id of what changed. */
  readonly act: (purchase: Purchase) => Promise<{ id: string; answer: TestAnswer }>
  readonly data: (
    purchase: Purchase,
    answer: TestAnswer,
    event: { readonly data: Record<string, unknown> } | undefined,
  ) => Record<string, unknown>
}

const patch = async (path: string, id: string) => ({
  id,
  answer: await change(service, path),
})
const created = (answer: TestAnswer) => ({ id: answer.body.id as string, answer })
const createBudget = (name: string) =>
  service.call('POST', '/v1/budgets', {
    body: { name, limits: [{ window: 'lifetime', max_amount: '10.00' }] },
  })

const changes: readonly Change[] = [
  {
    type: 'agent.created',
    act: async () => created(await service.call('POST', '/agents', { body: { name: 'Ada' } })),
    data: () => ({ name: 'Ada' }),
  },
  {
    type: 'mandate.created',
    act: async (purchase) => created(await postMandate(service, purchase)),
    data: ({ agentId }) => ({
      agent_id: agentId,
      max_spend_total: '5.00',
      max_spend_per_transaction: '1.0',
      expires_at: '2099-01-01T00:00:00Z',
    }),
  },
  {
    type: 'agent.budget_changed',
    act: async ({ agentId }) => {
      const { body } = await createBudget('of an agent')
      return {
        id: agentId,
        answer: await service.call('PATCH', `/v1/agents/${agentId}`, { body: { budget_id: body.id } }),
      }
    },
    data: (_, { body }) => ({ budget_id: body.budget_id }),
  },
  {
    type: 'budget.created',
    act: async () => created(await createBudget('team')),
    data: (_, { body }) => ({ name: 'team', parent_id: null, limits: body.limits }),
  },
  {
    type: 'budget.frozen',
    act: async () => {
      const { body } = await createBudget('frozen')
      return created(await service.call('POST', `/v1/budgets/${body.id}/freeze`))
    },
    data: () => ({}),
  },
  {
    type: 'budget.unfrozen',
    act: async () => {
      const { body } = await createBudget('unfrozen')
      await service.call('POST', `/v1/budgets/${body.id}/freeze`)
      return created(await service.call('POST', `/v1/budgets/${body.id}/unfreeze`))
    },
    data: () => ({}),
  },
  {
    type: 'seller.created',
    act: async () =>
      created(
        await service.call('POST', '/sellers', {
          body: { name: 'Shop', domain: 'Shop.Example', price_config: {} },
        }),
      ),
    data: () => ({ domain: 'shop.example' }),
  },
  {
    type: 'seller.released',
    act: async () => {
      const id = await registerSeller(service, 'released.example')
      return { id, answer: await service.call('DELETE', '/sellers/domains/released.example') }
    },
    data: (_, { body }) => ({ domain: 'released.example', account_id: body.account_id }),
  },
  {
    type: 'api_key.created',
    act: async () =>
      created(
        await service.call('POST', '/accounts/api-keys', {
          body: { role: 'merchant', environment: 'sandbox', label: 'till' },
        }),
      ),
    data: () => ({ role: 'merchant', environment: 'sandbox', agent_id: null, label: 'till' }),
  },
  {
    type: 'api_key.created',
    act: async ({ agentId }) =>
      created(
        await service.call('POST', '/accounts/api-keys', {
          body: { role: 'agent', environment: 'sandbox', agent_id: agentId },
        }),
      ),
    data: ({ agentId }) => ({ role: 'agent', environment: 'sandbox', agent_id: agentId, label: null }),
  },
  {
    type: 'account.created',
    act: async () =>
      created(
        await service.call('POST', '/accounts', {
          body: { name: 'Third', email: 'third@example.com', idp_user_id: 'idp_third' },
        }),
      ),
    data: () => ({ name: 'Third' }),
  },
  {
    type: 'account.disabled',
    act: async () => {
      const { accountId } = await createTenant(service, 'idp_disabled')
      return patch(`/accounts/${accountId}/disable`, accountId)
    },
    data: () => ({}),
  },
  {
    type: 'account.enabled',
    act: async () => {
      const { accountId } = await createTenant(service, 'idp_enabled')
      await change(service, `/accounts/${accountId}/disable`)
      return patch(`/accounts/${accountId}/enable`, accountId)
    },
    data: () => ({}),
  },
  {
    type: 'mandate.paused',
    act: ({ mandateId }) => patch(`/mandates/${mandateId}/pause`, mandateId),
    data: () => ({ voided_holds: 1 }),
  },
  {
    type: 'mandate.resumed',
    act: async ({ mandateId }) => {
      await change(service, `/mandates/${mandateId}/pause`)
      return patch(`/mandates/${mandateId}/resume`, mandateId)
    },
    data: () => ({ voided_holds: 0 }),
  },
  {
    type: 'mandate.revoked',
    act: ({ mandateId }) => patch(`/mandates/${mandateId}/revoke`, mandateId),
    data: () => ({ voided_holds: 1 }),
  },
  {
    type: 'agent.revoked',
    act: ({ agentId }) => patch(`/agents/${agentId}/revoke`, agentId),
    data: () => ({ voided_holds: 1 }),
  },
  {
    type: 'api_key.revoked',
    act: async () => {
      const { body } = await service.call('POST', '/accounts/api-keys', {
        body: { role: 'merchant', environment: 'sandbox' },
      })
      return created(await service.call('DELETE', `/accounts/api-keys/${body.id}`))
    },
    data: () => ({}),
  },
  {
    type: 'proof.voided',
    act: async (purchase) => {
      const { nonce } = await issueProof(service, purchase)
      return { id: nonce, answer: await service.call('POST', `/v1/payments/proofs/${nonce}/void`) }
    },
    data: ({ agentId, mandateId }) => ({
      agent_id: agentId,
      mandate_id: mandateId,
      amount: '1.00',
      currency: 'USDC',
    }),
  },
  {
    type: 'payment.authorized',
    act: async (purchase) => {
      const proof = await issueProof(service, purchase)
      return { id: proof.nonce, answer: await authorizeProof(service, proof) }
    },
    data: dataOfAuthorization,
  },
  {
    type: 'authorization.voided',
    act: async (purchase) => {
      const proof = await issueProof(service, purchase)
      await authorizeProof(service, proof)
      return { id: proof.nonce, answer: await service.call('POST', `/v1/payments/${proof.nonce}/void`) }
    },
    data: dataOfAuthorization,
  },
  {
    type: 'payment.refunded',
    act: async (purchase) => {
      const id = await pay(service, purchase)
      const headers = { 'idempotency-key': id }
      const path = `/v1/transactions/${id}/refund`
      const answer = await service.call('POST', path, { body: { amount: '0.40' }, headers })
      return { id: answer.body.id as string, answer }
    },
    data: (purchase, { body }) => ({
      ...dataOfAuthorization(purchase),
      amount: '0.40',
      refund_of: body.refund_of,
    }),
  },
  {
    type: 'agents.stopped',
    act: async () => {
      const answer = await service.call('POST', '/v1/console/stop')
      return { id: answer.body.stop_id as string, answer }
    },
    data: (_, { body }, event) => ({
      paused_mandates: body.paused_mandates,
      voided_holds: body.voided_holds,
      mandate_ids: namedIn(event, body.paused_mandates),
      outstanding_authorized: body.outstanding_authorized,
    }),
  },
  {
    type: 'agents.resumed',
    act: async () => {
      const stopped = await service.call('POST', '/v1/console/stop')
      const body = { stop_id: stopped.body.stop_id as string }
      return { id: body.stop_id, answer: await service.call('POST', '/v1/console/resume', { body }) }
    },
    data: (_, { body }, event) => ({
      resumed_mandates: body.resumed_mandates,
      mandate_ids: namedIn(event, body.resumed_mandates),
    }),
  },
  {
    type: 'session.started',
    act: async () => {
      const body = { api_key: service.sandboxKey }
      return created(await service.call('POST', '/v1/console/session', { key: null, body }))
    },
    data: () => ({}),
  },
  {
    type: 'session.ended',
    act: async () => {
      const browser = await signIn(service)
      const { body } = await browser.call('GET', '/v1/console/session')
      return { id: body.id as string, answer: await browser.call('DELETE', '/v1/console/session') }
    },
    data: () => ({}),
  },
]
/** The mandates that an event of a stop names: each once, and as many as it counts. */
function namedIn(event: { readonly data: Record<string, unknown> } | undefined, count: number): string[] {
  const ids = event?.data['mandate_ids'] as string[]
  assert.equal(new Set(ids).size, count)
  return ids
}

for (const { type, act, data } of changes) {
  test(`${type} records one event with actor, subject, data and time [what.1]`, async () => {
    const purchase = await preparePurchase(service)
    await issueProof(service, purchase)
    const before = await readLedger(service)
    service.clock.nowMs += 1_500
    const { id, answer } = await act(purchase)
    service.clock.nowMs -= 1_500
    assert(answer.status < 300, answer.text)
    const { events } = await readLedger(service)
    const fresh = events.slice(0, events.length - before.events.length)
    assert.deepEqual(events.slice(fresh.length), before.events)
    const [event, ...others] = fresh.filter((event) => event.type === type)
    assert.deepEqual(others, [])
    assert.deepEqual(event, {
      id: event?.id,
      type,
      actor: operatorId,
      subject_id: id,
      data: data(purchase, answer, event),
      created_at: '2026-11-20T12:00:01.500Z',
    })
  })
}

test('A successful verification records one audit log event [events.1] [state.paid]', async () => {
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase, '2.50')
  const before = await readLedger(service)
  const answer = await verifyProof(service, proof, { merchant_domain: 'API.example.com' })
  const { events } = await readLedger(service)
  assert.deepEqual(events.slice(1), before.events)
  assert.deepEqual(events[0], {
    id: events[0]?.id,
    type: 'payment.verified',
    actor: operatorId,
    subject_id: answer.body.transaction_id,
    data: {
      agent_id: purchase.agentId,
      mandate_id: purchase.mandateId,
      amount: '2.50',
      currency: 'USDC',
      merchant_domain: 'api.example.com',
      nonce: proof.nonce,
    },
    created_at: '2026-11-20T12:00:00.000Z',
  })
})

test('These tests cover every event type of the interface', () => {
  // Other files test the rest: account-access.test.ts `proofs.voided`, which is in the log of a disabled
  // account; seller-verification.test.ts `seller.verified`, which needs a domain; mandate-amendments.test.ts
  // `mandate.amended`; approvals.test.ts the events of approvals; operations/limits.test.ts `limit.exceeded`;
  // budget-changes.test.ts `budget.changed`; and test-clock.test.ts `test_clock.advanced`.
  const made = new Set([
    ...changes.map(({ type }) => type),
    'approval.approved',
    'approval.consumed',
    'approval.denied',
    'approval.requested',
    'budget.changed',
    'limit.exceeded',
    'mandate.amended',
    'payment.verified',
    'proofs.voided',
    'seller.verified',
    'test_clock.advanced',
  ])
  assert.deepEqual([...made].sort(), [...auditEventTypes].sort())
})

test('The actor is the key that acted, whatever its account', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service)
  const merchant = await createMerchant(service)
  const owner = await issuedKey(service, { role: 'owner' })
  const till = await issuedKey(service, { role: 'merchant' })
  const theirs = await issuedKey(service, { role: 'merchant' }, merchant.ownerKey)
  const [one, two] = [await issueProof(service, purchase), await issueProof(service, purchase)]
  const ownId = (await verifyProof(service, one, {}, { key: till.key })).body.transaction_id as string
  const theirId = (await verifyProof(service, two, {}, { key: theirs.key })).body.transaction_id as string
  await change(service, `/agents/${purchase.agentId}/revoke`, owner.key)
  const { events } = await readLedger(service)
  const actorOf = (subjectId: string) => events.find((event) => event.subject_id === subjectId)?.actor
  assert.equal(actorOf(ownId), till.id)
  assert.equal(actorOf(theirId), theirs.id)
  assert.equal(actorOf(purchase.agentId), owner.id)
  assert.equal(events.filter(({ type }) => type === 'payment.verified').length, 2)
})

test('An event is recorded only when something changes [events.1]', async (context) => {
  const service = await startTestService(context)
  const gone = await preparePurchase(service)
  const paused = await preparePurchase(service)
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  const idempotent = { headers: { 'idempotency-key': 'k' } }
  await verifyProof(service, proof, {}, idempotent)
  await registerSeller(service, 'shop.example')
  await createTenant(service, 'idp_twice')
  const till = await issuedKey(service, { role: 'merchant' })
  await service.call('DELETE', `/accounts/api-keys/${till.id}`)
  await change(service, `/mandates/${paused.mandateId}/pause`)
  await change(service, `/mandates/${gone.mandateId}/revoke`)
  await change(service, `/agents/${gone.agentId}/revoke`)
  const { events } = await readLedger(service)

  const repeated: readonly (readonly [status: number, act: () => Promise<TestAnswer>])[] = [
    [200, () => service.call('PATCH', `/agents/${gone.agentId}/revoke`)],
    [200, () => service.call('PATCH', `/mandates/${gone.mandateId}/revoke`)],
    [200, () => service.call('PATCH', `/mandates/${paused.mandateId}/pause`)],
    [200, () => service.call('PATCH', `/mandates/${purchase.mandateId}/resume`)],
    [200, () => service.call('DELETE', `/accounts/api-keys/${till.id}`)],
    [200, () => verifyProof(service, proof, {}, idempotent)],
    [402, () => verifyProof(service, proof)],
    [402, () => verifyProof(service, proof, { expected_amount: '2.00' })],
    [409, () => service.call('PATCH', `/mandates/${gone.mandateId}/resume`)],
    [404, () => service.call('PATCH', '/mandates/mandate_unknown/revoke')],
    [404, () => service.call('PATCH', '/agents/agent_unknown/revoke')],
    [404, () => service.call('DELETE', '/accounts/api-keys/key_unknown')],
    [409, () => postMandate(service, gone)],
    [404, () => postMandate(service, { ...gone, agentId: 'agent_unknown' })],
    [422, () => service.call('POST', '/agents', { body: {} })],
    [
      409,
      () =>
        service.call('POST', '/sellers', {
          body: { name: 'Again', domain: 'shop.example', price_config: {} },
        }),
    ],
    [
      409,
      () =>
        service.call('POST', '/accounts', {
          body: { name: 'Again', email: 'a@example.com', idp_user_id: 'idp_twice' },
        }),
    ],
    [200, () => evaluate(service, purchase)],
    [402, () => evaluate(service, gone)],
    [200, () => verifyAgent(service, purchase)],
    [201, () => askForProof(service, purchase)],
    [402, () => askForProof(service, gone)],
  ]
  for (const [status, act] of repeated) {
    const answer = await act()
    assert.equal(answer.status, status, answer.text)
    assert.deepEqual((await readLedger(service)).events, events)
  }
})

test('The log can be filtered by type and by subject', async () => {
  const service = await shareTestService()
  const first = await preparePurchase(service)
  const second = await preparePurchase(service)
  await change(service, `/mandates/${first.mandateId}/pause`)
  await change(service, `/mandates/${second.mandateId}/pause`)
  await change(service, `/mandates/${first.mandateId}/revoke`)
  const paid = await pay(service, await preparePurchase(service))
  const { events } = await readLedger(service)
  const rows: readonly (readonly [query: string, expected: (event: AuditEvent) => boolean, count: number])[] =
    [
      ['type=mandate.paused', ({ type }) => type === 'mandate.paused', 2],
      ['type=payment.verified', ({ type }) => type === 'payment.verified', 1],
      ['type=seller.created', ({ type }) => type === 'seller.created', 0],
      [`subject_id=${first.mandateId}`, (event) => event.subject_id === first.mandateId, 3],
      [`subject_id=${paid}`, (event) => event.subject_id === paid, 1],
      ['subject_id=nobody', () => false, 0],
      [
        `subject_id=${second.mandateId}&type=mandate.paused`,
        (event) => event.subject_id === second.mandateId && event.type === 'mandate.paused',
        1,
      ],
      [`subject_id=${second.mandateId}&type=mandate.revoked`, () => false, 0],
    ]
  for (const [query, expected, count] of rows) {
    const { body } = await service.call('GET', `/v1/audit-log?${query}`)
    assert.deepEqual(body, events.filter(expected), query)
    assert.equal(body.length, count, query)
  }
  const wrong = await service.call('GET', '/v1/audit-log?type=mandate.forgotten')
  assert.equal(wrong.status, 422)
  assert.deepEqual(wrong.body.detail[0].loc, ['query', 'type'])
})

test('The log is an array, newest first, in pages joined by Link', async () => {
  await preparePurchase(service)
  const { events } = await readLedger(service)
  const collected: AuditEvent[] = []
  let next: string | undefined = '/v1/audit-log?limit=2'
  while (next !== undefined) {
    const answer: TestAnswer = await service.call('GET', next)
    assert(answer.body.length === 2 || !answer.headers.has('link'))
    collected.push(...(answer.body as AuditEvent[]))
    next = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1]
  }
  assert.deepEqual(collected, events)
  const ids = events.map(({ id }) => id)
  assert.deepEqual(ids, ids.toSorted().toReversed())
})

test('Operator and owner can read the log; agent and merchant cannot', async () => {
  const purchase = await preparePurchase(service)
  const rows = [
    [await issueKey(service, { role: 'owner' }), 200],
    [await issueKey(service, { role: 'agent', agent_id: purchase.agentId }), 403],
    [await issueKey(service, { role: 'merchant' }), 403],
    [null, 401],
  ] as const
  for (const [key, status] of rows) {
    const answer = await service.call('GET', '/v1/audit-log', { key })
    assert.equal(answer.status, status)
    if (status === 403) assert.equal(answer.text, '{"detail":"insufficient_scope"}')
  }
})

test('An event appears only in the log of the account and environment that it changed', async (context) => {
  const service = await startTestService(context)
  const tenant = await createTenant(service)
  const productionKey = await issuedKey(service, { role: 'merchant', environment: 'production' })
  await changingNothing(
    service,
    async () => {
      await preparePurchase(service, {}, service.productionKey)
      await preparePurchase(service, {}, tenant.sandboxKey)
      await service.call('DELETE', `/accounts/api-keys/${productionKey.id}`)
    },
    service.sandboxKey,
  )
  const types = async (key: string) => (await readLedger(service, key)).events.map(({ type }) => type)
  assert.deepEqual(await types(tenant.sandboxKey), ['mandate.created', 'agent.created', 'api_key.created'])
  assert.deepEqual(await types(tenant.productionKey), ['api_key.created'])
  assert.deepEqual((await types(service.productionKey)).slice(0, -1), [
    'api_key.revoked',
    'mandate.created',
    'agent.created',
    'api_key.created',
  ])
})

test('The log contains no key and no signature', async () => {
  await pay(service, await preparePurchase(service))
  const key = await issueKey(service, { role: 'merchant', label: 'shown once' })
  const { text } = await service.call('GET', '/v1/audit-log?limit=200')
  assert.equal(text.includes(key), false)
  assert.doesNotMatch(text, /svc_(sand|prod)_|signature/)
})

function postMandate(service: TestService, { agentId }: Purchase): Promise<TestAnswer> {
  return service.call('POST', '/mandates', {
    body: {
      agent_id: agentId,
      purpose: 'Another one',
      max_spend_total: '5.00',
      max_spend_per_transaction: '1.0',
      expires_at: '2099-01-01T00:00:00Z',
    },
  })
}

async function issuedKey(
  service: TestService,
  fields: Record<string, unknown>,
  key?: string,
): Promise<{ id: string; key: string }> {
  const issuer = key === undefined ? {} : { key }
  const answer = await service.call('POST', '/accounts/api-keys', {
    ...issuer,
    body: { environment: 'sandbox', ...fields },
  })
  assert.equal(answer.status, 201, answer.text)
  return answer.body as { id: string; key: string }
}

/** The id of the sandbox key from the first start. */
async function firstKeyId(): Promise<string> {
  const { body } = await service.call('GET', '/accounts/api-keys')
  const keys = body as { id: string; label: string | null }[]
  return keys.find(({ label }) => label === 'first sandbox key')?.id ?? ''
}

function dataOfAuthorization({ agentId, mandateId }: Purchase) {
  return {
    agent_id: agentId,
    mandate_id: mandateId,
    amount: '1.00',
    currency: 'USDC',
    merchant_domain: 'api.example.com',
  }
}
