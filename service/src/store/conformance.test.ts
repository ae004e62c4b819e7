import assert from 'node:assert/strict'
import { test } from 'node:test'

import { environments } from '@purser/wire/fields'
import type { MandateStatus } from '@purser/wire/mandates'

import { hashApiKey } from '../domain/api-key.ts'
import { parseAmount } from '../domain/money.ts'
import type { Caller } from '../domain/records.ts'
import { scopeOf } from '../../testing/store-ledger.ts'
import { storeConformance } from '../../testing/stores.ts'
import { StoreUnavailableError } from './store.ts'

// Accounts, keys, agents, mandates and sellers. The rest of the suite is in the other conformance-* files.
storeConformance(({ open, openOwn }) => {
  test('A store is empty until it has its first account', async (context) => {
    const ledger = await openOwn(context)
    await ledger.store.checkReady()
    assert.equal(await ledger.store.isEmpty(), true)
    await ledger.tenant()
    assert.equal(await ledger.store.isEmpty(), false)
  })

  test('Acknowledged writes are there after the store is reopened', async (context) => {
    const ledger = await openOwn(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const transactionId = await ledger.pay(owner.sandbox, await ledger.hold(mandate))
    const held = await ledger.hold(mandate, '2.00')
    if (!(await ledger.reopen())) return
    assert.deepEqual(await ledger.sums(mandate), { spent: '1.00', held: '2.00' })
    assert.ok(await ledger.store.findTransaction({ ...owner.sandbox, id: transactionId }, {}))
    assert.deepEqual(await ledger.store.authenticate(hashApiKey(owner.sandbox.keyId)), owner.sandbox)
    assert.equal((await ledger.capture(owner.sandbox, held)).outcome, 'captured')
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])
  })

  test('A closed store rejects everything as unavailable, and can be closed again', async (context) => {
    const ledger = await openOwn(context)
    const owner = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox)
    const hold = ledger.newHold(mandate)
    await ledger.store.close()
    await ledger.store.close()
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => ledger.store.checkReady(),
      () => ledger.store.isEmpty(),
      () => ledger.store.findMandate(mandate),
      () => ledger.store.listMandates(owner.sandbox, {}, { limit: 1 }),
      () => ledger.store.listTransactions(owner.sandbox, {}, { limit: 1 }),
      () => ledger.store.readBudgets(owner.sandbox, 0),
      () => ledger.store.findLedgerFaults(),
      () => ledger.store.issueProof(hold),
      () => ledger.capture(owner.sandbox, hold),
      () => ledger.agent(owner.sandbox),
    ]
    for (const attempt of attempts) await assert.rejects(attempt, StoreUnavailableError)
  })

  test('A closing store writes what it accepted and rejects later calls', async (context) => {
    const ledger = await openOwn(context)
    const owner = await ledger.tenant()
    const agents = Array.from({ length: 140 }, () => ledger.newAgent(owner.sandbox))
    const accepted = agents.map(async (agent) => {
      await ledger.store.createAgent(agent, ledger.newEvent(agent, 'agent.created', agent.id))
      // The answer triggers another operation, which finds the store closing or closed.
      return ledger.agent(owner.sandbox).then(
        ({ id }) => ({ first: agent.id, second: id }),
        (error: unknown) => {
          assert(error instanceof StoreUnavailableError, String(error))
          return { first: agent.id, second: undefined }
        },
      )
    })
    const closing = ledger.store.close()
    const written = await Promise.all(accepted)
    await closing
    if (!(await ledger.reopen())) return
    for (const { first, second } of written) {
      assert.ok(await ledger.store.findAgent({ ...owner.sandbox, id: first }))
      if (second) assert.ok(await ledger.store.findAgent({ ...owner.sandbox, id: second }))
    }
  })

  test('An account is created with its keys and events atomically', async (context) => {
    const ledger = await open(context)
    const account = ledger.newAccount()
    const keys = environments.map((environment) =>
      ledger.newKey({ accountId: account.id, environment }, 'owner', { label: 'first' }),
    )
    const scope = { accountId: account.id, environment: 'sandbox' } as const
    const events = [
      ledger.newEvent(scope, 'account.created', account.id),
      ...keys.map((key) => ledger.newEvent(key, 'api_key.created', key.id)),
    ]
    assert.equal(await ledger.store.createAccount(account, keys, events), 'created')
    for (const { secretHash, id, ...key } of keys) {
      const caller = { ...scopeOf(key), keyId: id, role: key.role, agentId: null }
      assert.deepEqual(await ledger.store.authenticate(secretHash), caller)
    }
    const { items } = await ledger.store.listApiKeys({ accountId: account.id }, { limit: 10 })
    const withoutHash = keys.map(({ secretHash, ...key }) => secretHash && key)
    assert.deepEqual(items, withoutHash.toReversed())
    const logged = await ledger.store.listAuditEvents(scope, {}, { limit: 10 })
    assert.deepEqual(logged.items, events.filter(({ environment }) => environment === 'sandbox').toReversed())
  })

  test('A second account with the same idp_user_id is account_exists and records nothing', async (context) => {
    const ledger = await open(context)
    const { account } = await ledger.tenant()
    const second = ledger.newAccount({ idpUserId: account.idpUserId })
    const key = ledger.newKey({ accountId: second.id, environment: 'sandbox' }, 'owner')
    const event = ledger.newEvent(key, 'account.created', second.id)
    assert.equal(await ledger.store.createAccount(second, [key], [event]), 'account_exists')
    assert.equal(await ledger.store.authenticate(key.secretHash), undefined)
    assert.deepEqual((await ledger.store.listApiKeys({ accountId: second.id }, { limit: 10 })).items, [])
    assert.deepEqual(await ledger.eventsAbout(key, second.id), [])
  })

  test('A key resolves to its account, environment, role and agent; an unknown key to nothing', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const agent = await ledger.agent(owner.production)
    const issued = [
      await ledger.key(owner.sandbox, 'operator'),
      await ledger.key(owner.sandbox, 'merchant'),
      await ledger.key(owner.production, 'owner'),
      await ledger.key(owner.production, 'agent', { agentId: agent.id }),
    ]
    for (const caller of issued) {
      assert.deepEqual(await ledger.store.authenticate(hashApiKey(caller.keyId)), caller)
    }
    assert.equal(await ledger.store.authenticate(hashApiKey('svc_sand_unknown')), undefined)
    assert.equal(await ledger.store.authenticate(Buffer.alloc(0)), undefined)
  })

  test('A key cannot be issued for a missing account or agent, or for a revoked agent', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const other = await ledger.tenant()
    const agent = await ledger.agent(owner.sandbox)
    const revoked = await ledger.agent(owner.sandbox)
    await ledger.revokeAgent(revoked)
    const rows = [
      [ledger.newKey({ accountId: 'acct_none', environment: 'sandbox' }, 'owner'), 'not_found'],
      [ledger.newKey(owner.sandbox, 'agent', { agentId: 'agent_none' }), 'not_found'],
      [ledger.newKey(owner.production, 'agent', { agentId: agent.id }), 'not_found'],
      [ledger.newKey(other.sandbox, 'agent', { agentId: agent.id }), 'not_found'],
      [ledger.newKey(owner.sandbox, 'agent', { agentId: revoked.id }), 'agent_revoked'],
    ] as const
    for (const [key, outcome] of rows) {
      const event = ledger.newEvent(key, 'api_key.created', key.id)
      assert.equal(await ledger.store.issueApiKey(key, event), outcome)
      assert.equal(await ledger.store.authenticate(key.secretHash), undefined)
      assert.deepEqual(await ledger.eventsAbout(key, key.id), [])
    }
    assert.equal((await ledger.store.listApiKeys(owner.sandbox, { limit: 10 })).items.length, 2)
  })

  test('A key in constant use is refused from the answer to its revocation on, and other keys keep working [auth.4]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const keys: Caller[] = []
    for (let count = 0; count < 5; count++) keys.push(await ledger.key(owner.sandbox, 'merchant'))
    const opening = () =>
      Promise.all(keys.map(async ({ keyId }) => ledger.store.authenticate(hashApiKey(keyId))))
    const expected: (Caller | undefined)[] = [...keys]
    assert.deepEqual(await opening(), expected)
    for (const [index, key] of keys.entries()) {
      const [, meanwhile] = await Promise.all([ledger.revokeKey(key, 'sandbox'), opening()])
      expected[index] = undefined
      assert.deepEqual(await opening(), expected)
      assert.deepEqual(meanwhile.slice(index + 1), expected.slice(index + 1))
    }
    const later = ledger.newKey(owner.sandbox, 'owner')
    assert.equal(await ledger.store.authenticate(later.secretHash), undefined)
    const event = ledger.newEvent(later, 'api_key.created', later.id)
    assert.equal(await ledger.store.issueApiKey(later, event), 'created')
    const caller = await ledger.store.authenticate(later.secretHash)
    assert.equal(caller?.keyId, later.id, 'a key that was looked up too early')
  })

  test('A revoked key does not authenticate; a second delete gives the same answer and records nothing [auth.4]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const key = await ledger.key(owner.sandbox, 'merchant')
    ledger.clock.nowMs += 1_000
    const first = await ledger.revokeKey(key, 'sandbox')
    assert(typeof first === 'object')
    assert.equal(first.revokedAtMs, ledger.clock.nowMs)
    assert.equal(await ledger.store.authenticate(hashApiKey(key.keyId)), undefined)
    ledger.clock.nowMs += 1_000
    assert.deepEqual(await ledger.revokeKey(key, 'sandbox'), first)
    const types = (await ledger.eventsAbout(owner.sandbox, key.keyId)).map(({ type }) => type)
    assert.deepEqual(types, ['api_key.created', 'api_key.revoked'])
  })

  test("A key's revocation is logged in the key's environment, whichever key revoked it [auth.4]", async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    assert(typeof (await ledger.revokeKey(owner.production, 'sandbox')) === 'object')
    const [event] = await ledger.eventsAbout(owner.production, owner.production.keyId)
    assert.equal(event?.type, 'api_key.revoked')
    assert.deepEqual(await ledger.eventsAbout(owner.sandbox, owner.production.keyId), [])
  })

  test("Another account's key is not_found and stays unchanged", async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const other = await ledger.tenant()
    const theft = { accountId: other.account.id, keyId: owner.sandbox.keyId }
    assert.equal(await ledger.revokeKey(theft, 'sandbox'), 'not_found')
    assert.deepEqual(await ledger.store.authenticate(hashApiKey(owner.sandbox.keyId)), owner.sandbox)
    assert.deepEqual(await ledger.eventsAbout(other.sandbox, owner.sandbox.keyId), [])
  })

  test("The account's last working operator or owner key is last_owner_key and keeps working", async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    await ledger.tenant()
    const agent = await ledger.agent(owner.sandbox)
    await ledger.key(owner.sandbox, 'agent', { agentId: agent.id })
    await ledger.key(owner.sandbox, 'merchant')
    // A key of either environment counts; a revoked key or one with a lesser role does not.
    assert(typeof (await ledger.revokeKey(owner.production, 'production')) === 'object')
    assert.equal(await ledger.revokeKey(owner.sandbox, 'sandbox'), 'last_owner_key')
    assert.deepEqual(await ledger.store.authenticate(hashApiKey(owner.sandbox.keyId)), owner.sandbox)
    assert.deepEqual(await ledger.eventsAbout(owner.sandbox, owner.sandbox.keyId), [])
    await ledger.key(owner.sandbox, 'operator')
    assert(typeof (await ledger.revokeKey(owner.sandbox, 'sandbox')) === 'object')
  })

  test('An agent is returned as created, and only to its own account and environment [endpoint.agents.get]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const other = await ledger.tenant()
    const agent = await ledger.agent(owner.sandbox, {
      name: 'Bücher 🤖 "quoted" {\\},NULL',
      description: '',
      capabilities: ['search', '', 'ünï\u0000'],
    })
    assert.deepEqual(await ledger.store.findAgent(agent), agent)
    for (const scope of [owner.production, other.sandbox, other.production]) {
      const key = { ...scopeOf(scope), id: agent.id }
      assert.equal(await ledger.store.findAgent(key), undefined)
      assert.equal(await ledger.revokeAgent(key), 'not_found')
      assert.deepEqual(await ledger.eventsAbout(scope, agent.id), [])
    }
    assert.deepEqual(await ledger.store.findAgent(agent), agent)
  })

  test('An agent is revoked permanently; a retry changes and logs nothing [endpoint.agents.revoke]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const agent = await ledger.agent(owner.sandbox)
    ledger.clock.nowMs += 1_000
    const revoked = { ...agent, status: 'revoked', revokedAtMs: ledger.clock.nowMs } as const
    assert.deepEqual(await ledger.revokeAgent(agent), revoked)
    ledger.clock.nowMs += 1_000
    assert.deepEqual(await ledger.revokeAgent(agent), revoked)
    assert.deepEqual(await ledger.store.findAgent(agent), revoked)
    const types = (await ledger.eventsAbout(agent, agent.id)).map(({ type }) => type)
    assert.deepEqual(types, ['agent.created', 'agent.revoked'])
    assert.equal(await ledger.revokeAgent({ ...agent, id: 'agent_none' }), 'not_found')
  })

  test('A mandate is returned as created, to the last millionth, and only to its own account and environment [endpoint.mandates.get]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const other = await ledger.tenant()
    const mandate = await ledger.mandate(owner.sandbox, {
      purpose: 'Naïve "quotes" 🛒\n',
      maxTotalText: '999999999999.999999',
      maxTotalMicro: parseAmount('999999999999.999999'),
      maxPerTransactionText: '0000000001.50',
      maxPerTransactionMicro: parseAmount('1.5'),
      allowedSellers: ['*', 'Bücher.example'],
      allowedCategories: ['data', '*'],
      expiresAtText: '1970-01-01T13:59:59.999999+14:00',
      expiresAtMs: -1,
    })
    assert.deepEqual(await ledger.store.findMandate(mandate), mandate)
    for (const scope of [owner.production, other.sandbox]) {
      const key = { ...scopeOf(scope), id: mandate.id }
      assert.equal(await ledger.store.findMandate(key), undefined)
      assert.equal(await ledger.moveMandate(key, 'revoked'), 'not_found')
      assert.deepEqual(await ledger.eventsAbout(scope, mandate.id), [])
    }
    assert.deepEqual(await ledger.store.findMandate(mandate), mandate)
  })

  test('A mandate needs an active agent of its account and environment [mandate.agent_id]', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const other = await ledger.tenant()
    const agent = await ledger.agent(owner.sandbox)
    const revoked = await ledger.agent(owner.sandbox)
    await ledger.revokeAgent(revoked)
    const rows = [
      [ledger.newMandate({ ...agent, id: 'agent_none' }), 'not_found'],
      [ledger.newMandate({ ...agent, environment: 'production' }), 'not_found'],
      [ledger.newMandate({ ...agent, accountId: other.account.id }), 'not_found'],
      [ledger.newMandate(revoked), 'agent_revoked'],
    ] as const
    for (const [mandate, outcome] of rows) {
      assert.equal(await ledger.createMandate(mandate), outcome)
      assert.equal(await ledger.store.findMandate(mandate), undefined)
      assert.deepEqual(await ledger.eventsAbout(mandate, mandate.id), [])
    }
  })

  const moves: readonly (readonly [
    from: MandateStatus,
    to: MandateStatus,
    outcome: 'moved' | 'same' | 'refused',
  ])[] = [
    ['active', 'active', 'same'],
    ['active', 'paused', 'moved'],
    ['active', 'revoked', 'moved'],
    ['paused', 'active', 'moved'],
    ['paused', 'paused', 'same'],
    ['paused', 'revoked', 'moved'],
    ['revoked', 'active', 'refused'],
    ['revoked', 'paused', 'refused'],
    ['revoked', 'revoked', 'same'],
  ]
  for (const [from, to, outcome] of moves) {
    test(`A mandate from ${from} to ${to} is ${outcome}, and each transition records one event`, async (context) => {
      const ledger = await open(context)
      const mandate = await ledger.mandate((await ledger.tenant()).sandbox)
      if (from !== 'active') await ledger.moveMandate(mandate, from)
      const before = await ledger.store.findMandate(mandate)
      const eventsBefore = await ledger.eventsAbout(mandate, mandate.id)
      ledger.clock.nowMs += 1_000
      const moved = await ledger.moveMandate(mandate, to)
      const expected =
        outcome === 'moved' ? { ...before, status: to, updatedAtMs: ledger.clock.nowMs } : before
      assert.deepEqual(moved, outcome === 'refused' ? 'mandate_revoked' : expected)
      assert.deepEqual(await ledger.store.findMandate(mandate), expected)
      const [event, ...more] = (await ledger.eventsAbout(mandate, mandate.id)).slice(eventsBefore.length)
      assert.deepEqual(more, [])
      assert.equal(event !== undefined, outcome === 'moved')
    })
  }

  test('A domain is unique in its environment across accounts', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const other = await ledger.tenant()
    const seller = ledger.newSeller(owner.sandbox, 'shop.example', {
      priceConfig: '{"per_call":"0.01","nested":{"list":[1.10,12345678901234567890,null,true,"é\\u0000"]}}',
    })
    assert.equal(await ledger.createSeller(seller), 'created')
    for (const scope of [owner.sandbox, other.sandbox]) {
      const second = ledger.newSeller(scope, 'shop.example')
      assert.equal(await ledger.createSeller(second), 'seller_exists')
      assert.deepEqual(await ledger.eventsAbout(scope, second.id), [])
    }
    await ledger.seller(other.production, 'shop.example')
    await ledger.seller(other.sandbox, 'api.shop.example')
    assert.deepEqual((await ledger.store.listSellers(owner.sandbox, { limit: 10 })).items, [seller])
    assert.equal((await ledger.eventsAbout(owner.sandbox, seller.id)).length, 1)
  })

  test('A NUL in a text is stored, or becomes U+FFFD where the database cannot store it', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const agent = await ledger.agent(owner.sandbox, { name: 'a\u0000b' }).catch((error: unknown) => {
      // The store relies on the API to reject it.
      assert.equal((error as { readonly code?: unknown }).code, '22021')
    })
    if (!agent) return
    const found = await ledger.store.findAgent(agent)
    assert(found?.name === 'a\u0000b' || found?.name === 'a\uFFFDb', found?.name)
    assert.equal(await ledger.store.findAgent({ ...agent, id: `${agent.id}\u0000` }), undefined)
    const mandate = await ledger.mandate(agent, { allowedSellers: ['*'], purpose: '\u0000' })
    const fields = { merchantDomain: 'shop\u0000', idempotencyKey: 'order-1' }
    const hold = await ledger.hold(mandate)
    const transactionId = await ledger.pay(owner.sandbox, hold, fields)
    const replayed = { outcome: 'replayed', transactionId }
    assert.deepEqual(await ledger.capture(owner.sandbox, hold, fields), replayed)
    const attempt = ledger.newCapture(owner.sandbox, hold, fields)
    assert.deepEqual(await ledger.store.settleLate(attempt), replayed)
    const listed = await ledger.store.listTransactions(
      owner.sandbox,
      { merchantDomain: 'shop\u0000' },
      { limit: 10 },
    )
    assert.deepEqual(
      listed.items.map(({ id }) => id),
      [transactionId],
    )
  })

  test('A text of any length is stored, compared and looked up in full', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const long = Array.from({ length: 8_000 }, (_, index) =>
      String.fromCodePoint(0x4e00 + ((index * 7919) % 20_000)),
    ).join('')
    const [first, second] = [`${long}1`, `${long}2`]
    const account = ledger.newAccount({ idpUserId: first })
    assert.equal(await ledger.store.createAccount(account, [], []), 'created')
    assert.equal(
      await ledger.store.createAccount(ledger.newAccount({ idpUserId: second }), [], []),
      'created',
    )
    assert.equal(
      await ledger.store.createAccount(ledger.newAccount({ idpUserId: first }), [], []),
      'account_exists',
    )
    const mandate = await ledger.mandate(owner.sandbox, { allowedSellers: ['*'] })
    const ids: string[] = []
    for (const merchantDomain of [first, second]) {
      ids.push(await ledger.pay(owner.sandbox, await ledger.hold(mandate), { merchantDomain }))
    }
    const { items } = await ledger.store.listTransactions(
      owner.sandbox,
      { merchantDomain: second },
      { limit: 10 },
    )
    assert.deepEqual(
      items.map(({ id }) => id),
      ids.slice(1),
    )
  })

  test('An operation that fails leaves nothing behind and does not fail others in its batch', async (context) => {
    const ledger = await open(context)
    const owner = await ledger.tenant()
    const taken = await ledger.agent(owner.sandbox)
    const agents = Array.from({ length: 20 }, (_, index) =>
      ledger.newAgent(owner.sandbox, index === 7 ? { id: taken.id, name: 'impostor' } : {}),
    )
    const events = agents.map((agent) => ledger.newEvent(agent, 'agent.created', agent.id))
    const outcomes = await Promise.allSettled(
      agents.map((agent, index) => ledger.store.createAgent(agent, events[index] ?? assert.fail())),
    )
    assert.deepEqual(
      outcomes.flatMap(({ status }, index) => (status === 'rejected' ? [index] : [])),
      [7],
    )
    for (const [index, agent] of agents.entries()) {
      assert.deepEqual(await ledger.store.findAgent(agent), index === 7 ? taken : agent)
      assert.equal((await ledger.eventsAbout(agent, agent.id)).length, 1)
    }
  })
})
