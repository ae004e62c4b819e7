import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import type { Proof } from '@purser/wire/payments'

import { assertLedgerAddsUp, readLedger, readMandate, readSums } from '../testing/ledger.ts'
import { allAtOnce, inParallel, labelOf, openLoadClient, tally, type LoadClient } from '../testing/load.ts'
import type { PlainAnswer } from '../testing/http/plain-http.ts'
import { createMerchant } from '../testing/purchases.ts'
import {
  issueKey,
  issueProof,
  preparePurchase,
  startTestService,
  type Purchase,
  type TestService,
} from '../testing/service.ts'

import { raceForAuthorized, raceForRefunds } from './collection-races.ts'
import { raceForApproval, raceForLimit, raceInBudgets } from './spending-races.ts'

const minuteMs = 60_000

test('Of 200 clients with one proof, exactly one verifies it and 199 get nonce_reused [verify.step.4] [verify.step.5] [verify.step.6] [limits.nonce]', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  const client = openClient(context, service, service.sandboxKey, 200)

  const answers = await allAtOnce(200, () => client.verify(proof))

  assert.deepEqual(tally(answers), { '200 ok': 1, '402 nonce_reused': 199 })
  assert.deepEqual(await readSums(service, purchase), ['1.00', '0.00', '99.00'])
  const { transactions, events } = await readLedger(service)
  assert.equal(transactions.length, 1)
  assert.equal(events.filter(({ type }) => type === 'payment.verified').length, 1)
  await assertLedgerAddsUp(service)
})

test('Of 200 clients with one proof, one key and one Idempotency-Key, one gets a new answer and 199 its replay, for one charge [verify.step.4] [limits.nonce]', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service)
  const proof = await issueProof(service, purchase)
  const client = openClient(context, service, service.sandboxKey, 200)
  const stranger = openClient(context, service, await issueKey(service, { role: 'merchant' }), 50)
  const attempt = { idempotencyKey: 'order-1' }

  const answers = await allAtOnce(200, () => client.verify(proof, attempt))
  const strangersAnswers = await allAtOnce(50, () => stranger.verify(proof, attempt))

  assert.deepEqual(tally(answers), { '200 ok': 200 })
  const replays = answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true')
  assert.equal(replays.length, 199)
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  assert.deepEqual(tally(strangersAnswers), { '402 nonce_reused': 50 })
  assert.deepEqual(await readSums(service, purchase), ['1.00', '0.00', '99.00'])
  await assertLedgerAddsUp(service)
})

test('Of 500 concurrent proofs under a budget for 100, exactly 100 are granted and the rest are total_budget_exceeded [policy.9] [verify.step.6]', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service, { max_spend_total: '100.00' })
  const client = openClient(context, service, service.sandboxKey, 500)

  const answers = await allAtOnce(500, () => client.askForProof(purchase))

  assert.deepEqual(tally(answers), { '201 ok': 100, '402 total_budget_exceeded': 400 })
  assert.equal((await readMandate(service, purchase)).held_total, '100.00')
  const proofs = answers.filter(({ status }) => status === 201).map(({ body }) => body.proof as Proof)
  assert.equal(new Set(proofs.map(({ nonce }) => nonce)).size, 100)

  const verified = await allAtOnce(100, (index) => client.verify(proofs[index] as Proof))

  assert.deepEqual(tally(verified), { '200 ok': 100 })
  assert.deepEqual(await readSums(service, purchase), ['100.00', '0.00', '0.00'])
  assert.deepEqual(tally([await client.askForProof(purchase)]), { '402 total_budget_exceeded': 1 })
  await assertLedgerAddsUp(service)
})

test("After the answer to an agent's revocation nothing of it succeeds, and its holds are void [endpoint.agents.revoke] [state.rule.3] [policy.2]", async (context) => {
  const race = await raceAgainstStop(context, {
    loadKey: (service) => issueKey(service, { role: 'owner' }),
    stop: (owner, { agentId }) => owner.send('PATCH', `/agents/${agentId}/revoke`),
    refusals: ['402 agent_revoked', '402 proof_expired'],
  })
  assert.equal(race.heldTotal, '0.00')
})

test("After the answer to a mandate's pause nothing under it succeeds, and resuming it restores no hold [policy.4]", async (context) => {
  const race = await raceAgainstStop(context, {
    loadKey: (service) => issueKey(service, { role: 'owner' }),
    stop: (owner, { mandateId }) => owner.send('PATCH', `/mandates/${mandateId}/pause`),
    refusals: ['402 mandate_expired', '402 proof_expired'],
    afterwards: async (owner, { mandateId }, unverified) => {
      assert.equal((await owner.send('PATCH', `/mandates/${mandateId}/resume`)).status, 200)
      const answers = await Promise.all(unverified.map((proof) => owner.verify(proof)))
      assert.deepEqual(tally(answers), { '402 proof_expired': unverified.length })
    },
  })
  assert.equal(race.heldTotal, '0.00')
})

test("After the answer to an API key's revocation nothing with that key succeeds [auth.4] [endpoint.api-keys.revoke]", async (context) => {
  const race = await raceAgainstStop(context, {
    loadKey: (service) => issueKey(service, { role: 'owner' }),
    stop: async (owner) => {
      const { body } = await owner.send('GET', '/accounts/api-keys')
      return owner.send('DELETE', `/accounts/api-keys/${body[0].id}`)
    },
    refusals: ['401 invalid_api_key'],
    afterwards: async (owner, _purchase, unverified) => {
      // The key is revoked, not the budget: the owner can still collect its held proofs.
      const answers = await Promise.all(unverified.map((proof) => owner.verify(proof)))
      assert.deepEqual(tally(answers), { '200 ok': unverified.length })
    },
  })
  assert.notEqual(race.heldTotal, '0.00')
})

test('Of two merchants of different accounts with one proof, exactly one is paid, and only that one sees the payment [verify.step.4] [limits.nonce]', async (context) => {
  const service = await startTestService(context)
  const domains = ['api.example.com', 'example.com'] as const
  const purchase = await preparePurchase(service, { allowed_sellers: domains })
  const proofs = await allAtOnce(20, () => issueProof(service, purchase))
  const merchants = await Promise.all(domains.map((domain) => createMerchant(service, domain)))
  const clients = merchants.map(({ merchantKey }) => openClient(context, service, merchantKey, 100))

  const wins = await allAtOnce(proofs.length, async (index) => {
    const answers = await allAtOnce(10, (turn) => {
      // The first caller changes from proof to proof, so that neither always wins.
      const who = (index + turn) % 2
      return clients[who]!.verify(proofs[index] as Proof, { merchantDomain: domains[who]! })
    })
    assert.deepEqual(tally(answers), { '200 ok': 1, '402 nonce_reused': 9 })
    const turn = answers.findIndex(({ status }) => status === 200)
    return { who: (index + turn) % 2, transactionId: answers[turn]?.body.transaction_id as string }
  })

  for (const [who, client] of clients.entries()) {
    const received = await client.send('GET', '/v1/transactions')
    const won = wins.filter((win) => win.who === who).map(({ transactionId }) => transactionId)
    assert.deepEqual(received.body.map(({ id }: { id: string }) => id).sort(), won.sort())
  }
  assert.deepEqual(await readSums(service, purchase), ['20.00', '0.00', '80.00'])
  await assertLedgerAddsUp(service)
})

test('A verification that races with the expiry of its hold is charged or is proof_expired, and the budget is granted once [verify.step.1]', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service, { max_spend_total: '100.00' })
  const old = await allAtOnce(100, () => issueProof(service, purchase))
  const merchant = openClient(context, service, service.sandboxKey, 16)
  const agent = openClient(context, service, service.sandboxKey, 100)
  const verified: PlainAnswer[] = []
  let asked: Promise<PlainAnswer[]> | undefined
  let begunLate = 0

  const verifications = old.map((proof) => async () => {
    if (asked) begunLate++
    verified.push(await merchant.verify(proof))
    if (verified.length === 30) {
      service.clock.nowMs += 6 * minuteMs + 1
      asked = allAtOnce(100, () => agent.askForProof(purchase))
    }
  })
  await inParallel(16, verifications)
  const granted = (await asked) ?? []

  const { '200 ok': paid = 0, ...others } = tally(verified)
  assert.deepEqual(others, { '402 proof_expired': 100 - paid })
  assert.ok(paid >= 30 && begunLate > 0 && paid <= 100 - begunLate, `${paid} paid, ${begunLate} started late`)
  assert.deepEqual(tally(granted), { '201 ok': 100 - paid, '402 total_budget_exceeded': paid })
  assert.deepEqual(await readSums(service, purchase), [`${paid}.00`, `${100 - paid}.00`, `${100 - paid}.00`])
  await assertLedgerAddsUp(service)
})

const spendingRaces = {
  'A limit admits exactly its number of 200 proofs': raceForLimit,
  'An approval is used once, or not at all if it is denied or its mandate is stopped first': raceForApproval,
  'Payments below four levels of budgets never deadlock, and none outlives a freeze': raceInBudgets,
  'Of captures, a void, the deadline and a stop at once, one ends an authorized payment': raceForAuthorized,
  'Refunds at once never exceed the payment': raceForRefunds,
}

for (const [title, race] of Object.entries(spendingRaces)) {
  test(title, async (context) => {
    const service = await startTestService(context)
    const open = (key: string) => [openClient(context, service, key, 64)] as const
    await race({ owners: open(service.sandboxKey), open })
    await assertLedgerAddsUp(service)
  })
}

test('An approval that expires while it is used is used before that or not at all', async (context) => {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service, { approval: { above: '0.50' } })
  const agentKey = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const agent = openClient(context, service, agentKey, 32)
  for (let round = 0; round < 5; round++) {
    const refused = await agent.askForProof(purchase)
    const { id } = refused.body.approval
    const approved = await service.call('POST', `/v1/approvals/${id}/approve`, { body: {} })
    assert.equal(approved.status, 200, approved.text)
    service.clock.nowMs += 15 * minuteMs - 1
    const used = await allAtOnce(16, (turn) => {
      if (turn === round * 4) service.clock.nowMs += 1
      const { agentId: agent_id, mandateId: mandate_id, resourceUrl: resource_url } = purchase
      const body = { agent_id, mandate_id, amount: '1.00', resource_url, approval_id: id }
      return agent.send('POST', '/v1/payments/proof', { body })
    })
    const granted = used.filter(({ status }) => status === 201).length
    const { body } = await service.call('GET', `/v1/approvals/${id}`)
    assert.deepEqual([granted, body.status], granted === 1 ? [1, 'consumed'] : [0, 'expired'])
    service.clock.nowMs += 16 * minuteMs
  }
  await assertLedgerAddsUp(service)
})

interface Stop {
  /** The key of the load. */
  readonly loadKey: (service: TestService) => Promise<string>
  /** What the owner does in the middle of the load. */
  readonly stop: (owner: LoadClient, purchase: Purchase) => Promise<PlainAnswer>
  /** The answer to everything that begins after the stop was answered. */
  readonly refusals: readonly string[]
  readonly afterwards?: (owner: LoadClient, purchase: Purchase, unverified: Proof[]) => Promise<void>
}

/** When a request began and when it was answered, by one counter for the whole race. */
interface Timed {
  readonly began: number
  readonly ended: number
  readonly answer: PlainAnswer
}

/** How many verifications, and how many proof requests, an owner stops. */
const toStop = 400

/** Verifications and proof requests, while an owner stops them. */
async function raceAgainstStop(context: TestContext, race: Stop): Promise<{ heldTotal: string }> {
  const service = await startTestService(context)
  const purchase = await preparePurchase(service, { max_spend_total: '100000.00' })
  const owner = openClient(context, service, service.sandboxKey, 64)
  const load = openClient(context, service, await race.loadKey(service), 64)
  const issued = await allAtOnce(toStop, () => owner.askForProof(purchase))
  const proofs = issued.map(({ body }) => body.proof as Proof)
  let count = 0
  const timed = async (request: () => Promise<PlainAnswer>): Promise<Timed> => {
    const began = ++count
    const answer = await request()
    return { began, ended: ++count, answer }
  }

  const verifications: Timed[] = []
  const requests: Timed[] = []
  const unverified: Proof[] = []
  let stopping: Promise<Timed> | undefined
  function stopInTheMiddle(): void {
    if (verifications.length + requests.length < toStop / 2) return
    stopping ??= timed(() => race.stop(owner, purchase))
  }
  const verify = async (proof: Proof) => {
    const verification = await timed(() => load.verify(proof))
    verifications.push(verification)
    if (verification.answer.status !== 200) unverified.push(proof)
    stopInTheMiddle()
  }
  const request = async () => {
    requests.push(await timed(() => load.askForProof(purchase)))
    stopInTheMiddle()
  }
  await inParallel(
    64,
    proofs.flatMap((proof) => [() => verify(proof), request]),
  )
  const stop = await stopping
  assert.ok(stop)
  assert.equal(stop.answer.status, 200, stop.answer.text)

  const everything = [...verifications, ...requests]
  const before = everything.filter(({ ended }) => ended < stop.began)
  const after = everything.filter(({ began }) => began > stop.ended)
  assert.ok(
    before.length >= toStop / 2 && after.length >= 100,
    `${before.length} before, ${after.length} after`,
  )
  assert.deepEqual(new Set(before.map(({ answer }) => labelOf(answer))), new Set(['200 ok', '201 ok']))
  assert.deepEqual(new Set(after.map(({ answer }) => labelOf(answer))), new Set(race.refusals))
  const possible = ['200 ok', '201 ok', ...race.refusals]
  assert.deepEqual(Object.keys(tally(everything.map(({ answer }) => answer))).sort(), possible.sort())

  const paid = verifications.filter(({ answer }) => answer.status === 200).length
  const granted = requests.filter(({ answer }) => answer.status === 201).length
  const mandate = await readMandate(service, purchase)
  assert.equal(mandate.spent_total, `${paid}.00`)
  assert.ok(['0.00', `${toStop + granted - paid}.00`].includes(mandate.held_total), mandate.held_total)
  await race.afterwards?.(owner, purchase, unverified.slice(0, 50))
  await assertLedgerAddsUp(service)
  return { heldTotal: mandate.held_total }
}

function openClient(
  context: TestContext,
  service: TestService,
  key: string,
  connections: number,
): LoadClient {
  const client = openLoadClient(service.url, key, connections)
  context.after(client.close)
  return client
}
