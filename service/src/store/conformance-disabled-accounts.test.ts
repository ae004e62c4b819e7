import assert from 'node:assert/strict'
import { test } from 'node:test'

import { hashApiKey } from '../domain/api-key.ts'
import type { Caller } from '../domain/records.ts'
import type { CaptureOutcome } from './store.ts'
import { shopDomain, type StoreLedger, type Tenant } from '../../testing/store-ledger.ts'
import { storeConformance } from '../../testing/stores.ts'

// What a disabled account can no longer do.
storeConformance(({ open, openEmpty }) => {
  test('The keys and sessions of a disabled account are not found until it is enabled again', async (context) => {
    const ledger = await open(context)
    const tenant = await ledger.tenant()
    const bystander = await ledger.tenant()
    const session = await signIn(ledger, tenant)
    const find = async () => [
      await ledger.store.authenticate(hashApiKey(tenant.sandbox.keyId)),
      await ledger.store.authenticate(hashApiKey(tenant.production.keyId)),
      await ledger.store.findSession(session),
    ]
    const before = await find()
    assert.ok(before.every(Boolean))

    const disabled = await move(ledger, tenant, 'disabled')
    assert.deepEqual(disabled, { ...tenant.account, disabledAtMs: ledger.clock.nowMs })
    assert.deepEqual(await find(), [undefined, undefined, undefined])
    assert.deepEqual(await ledger.store.findAccount({ id: tenant.account.id }), disabled)
    assert.ok(await ledger.store.authenticate(hashApiKey(bystander.sandbox.keyId)))
    ledger.clock.nowMs += 1_000
    assert.deepEqual(await move(ledger, tenant, 'disabled'), disabled, 'a retry changes nothing')

    assert.deepEqual(await move(ledger, tenant, 'active'), tenant.account)
    assert.deepEqual(await find(), before)
    const events = await ledger.eventsAbout(tenant.sandbox, tenant.account.id)
    assert.deepEqual(
      events.map(({ type }) => type),
      ['account.disabled', 'account.enabled'],
    )
    assert.equal(
      await ledger.store.moveAccount('acct_unknown', 'disabled', { atMs: 1, events: [] }),
      'not_found',
    )
  })

  test("No proof of a disabled account can be captured, by its own keys or by another account's", async (context) => {
    const ledger = await openEmpty(context)
    const [payer, payee] = [await ledger.tenant(), await ledger.tenant()]
    await ledger.seller(payee.sandbox)
    const mandate = await ledger.mandate(payer.sandbox)
    // After the first captures, PostgreSQL sends the others as optimistic single statements.
    const [first, paid] = [await ledger.hold(mandate), await ledger.hold(mandate)]
    await ledger.pay(payer.sandbox, first)
    const idempotencyKey = 'once'
    const transactionId = await ledger.pay(payee.sandbox, paid, { idempotencyKey })
    const holds = [await ledger.hold(mandate), await ledger.hold(mandate)] as const

    await move(ledger, payer, 'disabled')
    const expired = { outcome: 'failed', reason: 'proof_expired' }
    assert.deepEqual(await ledger.capture(payee.sandbox, holds[0]), expired)
    const revoked = { outcome: 'refused', code: 'invalid_api_key' }
    assert.deepEqual(await capture(ledger, payer.sandbox, holds[1]), revoked)
    assert.deepEqual(
      await ledger.capture(payee.sandbox, paid, { idempotencyKey }),
      { outcome: 'replayed', transactionId },
      'earlier payments stay paid',
    )
    assert.deepEqual(await ledger.sums(mandate), { spent: '2.00', held: '2.00' })
    assert.deepEqual(await ledger.store.findLedgerFaults(), [])

    await move(ledger, payer, 'active')
    await ledger.pay(payee.sandbox, holds[0])
  })

  test('A merchant with a disabled account cannot collect from other accounts', async (context) => {
    const ledger = await openEmpty(context)
    const [payer, payee] = [await ledger.tenant(), await ledger.tenant()]
    await ledger.seller(payee.sandbox)
    const mandate = await ledger.mandate(payer.sandbox)
    const hold = await ledger.hold(mandate)
    await move(ledger, payee, 'disabled')
    assert.deepEqual(await capture(ledger, payee.sandbox, hold), {
      outcome: 'refused',
      code: 'invalid_api_key',
    })
    assert.equal((await ledger.store.findProof(hold))?.status, 'open', 'the payer can still use the proof')
    await ledger.pay(payer.sandbox, hold)
  })

  test('The open holds of an account are voided step by step, and their amounts are released', async (context) => {
    const ledger = await open(context)
    const [tenant, bystander] = [await ledger.tenant(), await ledger.tenant()]
    const agent = await ledger.agent(tenant.sandbox)
    const mandates = await Promise.all(Array.from({ length: 103 }, () => ledger.mandate(agent)))
    const holds = await Promise.all(mandates.map((mandate) => ledger.hold(mandate)))
    const other = await ledger.hold(await ledger.mandate(bystander.sandbox))
    const production = await ledger.hold(await ledger.mandate(tenant.production))
    const event = ledger.newEvent(tenant.sandbox, 'proofs.voided', tenant.account.id)
    await ledger.store.voidHolds(tenant.sandbox, event)
    for (const hold of holds) assert.equal((await ledger.store.findProof(hold))?.status, 'voided')
    for (const hold of [other, production]) {
      assert.equal((await ledger.store.findProof(hold))?.status, 'open')
    }
    assert.deepEqual(await ledger.sums(mandates[0] ?? assert.fail()), { spent: '0.00', held: '0.00' })
    const events = await ledger.eventsAbout(tenant.sandbox, tenant.account.id)
    assert.deepEqual(new Set(events.map(({ data }) => data['voided_holds'])), new Set([100, 3]))
  })

  test('If captures race with disabling an account, nothing is charged after its answer, and the sums agree', async (context) => {
    const ledger = await open(context)
    const tenant = await ledger.tenant()
    const mandate = await ledger.mandate(tenant.sandbox)
    await ledger.pay(tenant.sandbox, await ledger.hold(mandate))
    const holds = await Promise.all(Array.from({ length: 40 }, () => ledger.hold(mandate)))
    let isDisabled = false
    let charged = 1
    const racing = holds.map(async (hold, index) => {
      await Promise.all(Array.from({ length: index % 8 }, () => ledger.store.isEmpty()))
      const mayCharge = !isDisabled
      const { outcome } = await capture(ledger, tenant.sandbox, hold)
      if (outcome !== 'captured') return
      assert.ok(mayCharge, 'a capture that started after the answer charged')
      charged++
    })
    await move(ledger, tenant, 'disabled')
    isDisabled = true
    const event = ledger.newEvent(tenant.sandbox, 'proofs.voided', tenant.account.id)
    await ledger.store.voidHolds(tenant.sandbox, event)
    const { spent } = await ledger.sums(mandate)
    await Promise.all(racing)
    assert.deepEqual(
      await ledger.sums(mandate),
      { spent, held: '0.00' },
      'nothing is charged after the voids',
    )
    assert.equal(spent, `${charged}.00`)
  })

  test('Sessions of an account are listed until they end, and can be ended once by id', async (context) => {
    const ledger = await open(context)
    const [tenant, other] = [await ledger.tenant(), await ledger.tenant()]
    const ended = await signIn(ledger, tenant)
    const bound = await signIn(ledger, tenant, { keyId: tenant.sandbox.keyId, kind: 'key' })
    const live = await signIn(ledger, tenant)
    await signIn(ledger, tenant, { endsAtMs: ledger.clock.nowMs })
    await signIn(ledger, tenant, { kind: 'set_up_link' })
    await signIn(ledger, other)
    const account = { accountId: tenant.account.id }
    const listed = async () => {
      const { items } = await ledger.store.listSessions(account, ledger.clock.nowMs, { limit: 200 })
      return items.map(({ id }) => id)
    }
    assert.deepEqual(await listed(), [live.id, bound.id, ended.id])
    await ledger.revokeKey(tenant.sandbox, 'sandbox')
    assert.deepEqual(await listed(), [live.id, ended.id], 'a session ends with its key')

    const event = () => ledger.newEvent(tenant.sandbox, 'session.ended', ended.id)
    assert.equal(await ledger.store.endSessionById({ ...account, id: ended.id }, event()), true)
    assert.equal(await ledger.store.findSession(ended), undefined)
    assert.equal(await ledger.store.endSessionById({ ...account, id: ended.id }, event()), false)
    const foreign = { accountId: other.account.id, id: live.id }
    assert.equal(await ledger.store.endSessionById(foreign, event()), false)
    assert.deepEqual(await listed(), [live.id])
    assert.equal((await ledger.eventsAbout(tenant.sandbox, ended.id)).length, 1)
  })
})

/** A capture as the service makes it: unless it has captured, the caller's key is checked again. */
async function capture(
  ledger: StoreLedger,
  caller: Caller,
  hold: Parameters<StoreLedger['capture']>[1],
): Promise<CaptureOutcome> {
  const outcome = await ledger.capture(caller, hold)
  if (outcome.outcome === 'captured') return outcome
  const found = await ledger.store.authenticate(hashApiKey(caller.keyId))
  return found ? outcome : { outcome: 'refused', code: 'invalid_api_key' }
}

function move(ledger: StoreLedger, { account, sandbox }: Tenant, to: 'active' | 'disabled') {
  const type = to === 'disabled' ? 'account.disabled' : 'account.enabled'
  const events = [ledger.newEvent(sandbox, type, account.id)]
  return ledger.store.moveAccount(account.id, to, { atMs: ledger.clock.nowMs, events })
}

let sessions = 0

async function signIn(ledger: StoreLedger, { account }: Tenant, fields: object = {}) {
  const nowMs = ledger.clock.nowMs
  const session = {
    accountId: account.id,
    tokenHash: hashApiKey(`${shopDomain} ${sessions++}`),
    id: ledger.ids.next('session'),
    kind: 'oidc',
    role: 'owner',
    keyId: null,
    environment: null,
    createdAtMs: nowMs,
    usedAtMs: nowMs,
    endsAtMs: nowMs + 86_400_000,
    ...fields,
  } as const
  await ledger.store.createSession(session, undefined)
  return session
}
