import assert from 'node:assert/strict'

import type { Proof } from '@purser/wire/payments'

import type { PlainAnswer } from '../testing/http/plain-http.ts'
import { allAtOnce, labelOf, makePurchase, tally, type LoadClient } from '../testing/load.ts'
import type { Purchase } from '../testing/service.ts'

// Races for limits, approvals and shared budgets, over one or several processes on one ledger.

export interface Racers {
  /** An owner's clients, one per process. */
  readonly owners: readonly [LoadClient, ...LoadClient[]]
  /** The same for another key. */
  readonly open: (key: string) => readonly [LoadClient, ...LoadClient[]]
}

/** A limit admits exactly its number of payments, and releases voided ones. */
export async function raceForLimit({ owners }: Racers): Promise<void> {
  const limits = [{ window: { rolling_seconds: 86_400 }, max_count: 37 }]
  const purchase = await makePurchase(owners[0], { limits })
  const ask = () => allAtOnce(200, (turn) => inTurn(owners, turn).askForProof(purchase))
  const answers = await ask()
  assert.deepEqual(tally(answers), { '201 ok': 37, '402 velocity_limit_exceeded': 163 })
  const [first, ...others] = proofsOf(answers)
  assert(first)
  const collected = await allAtOnce(36, (turn) => inTurn(owners, turn + 1).verify(others[turn] as Proof))
  assert.deepEqual(tally(collected), { '200 ok': 36 })
  const voided = await owners[0].send('POST', `/v1/payments/proofs/${first.nonce}/void`)
  assert.equal(voided.status, 200, voided.text)
  assert.deepEqual(tally(await ask()), { '201 ok': 1, '402 velocity_limit_exceeded': 199 })
}

/** One of many requests uses an approval; none does if it is denied or the mandate is revoked first. */
export async function raceForApproval(racers: Racers): Promise<void> {
  const { owners, open } = racers
  const outcomes = new Set<string>()
  const limits = [{ window: 'lifetime', max_count: 1, action: 'require_approval' }]
  for (const rival of ['none', 'deny', 'revoke', 'pause'] as const) {
    for (let round = 0; round < 5; round++) {
      const purchase = await makePurchase(owners[0], { approval: { above: '0.50' }, limits })
      const agents = open(await issueKey(owners[0], { role: 'agent', agent_id: purchase.agentId }))
      const refused = await agents[0].askForProof(purchase)
      assert.equal(labelOf(refused), '402 approval_required')
      const { id } = refused.body.approval
      // Many people decide at once, and one decision counts.
      const approved = await allAtOnce(4, (turn) =>
        inTurn(owners, turn).send('POST', `/v1/approvals/${id}/approve`, { body: {} }),
      )
      assert.deepEqual(
        approved.map(({ body }) => body.status),
        ['approved', 'approved', 'approved', 'approved'],
      )

      const use = (turn: number) =>
        inTurn(agents, turn).send('POST', '/v1/payments/proof', {
          body: { ...proofBody(purchase), approval_id: id },
        })
      const [used, answer] = await Promise.all([
        allAtOnce(12, use),
        rival === 'none' ? undefined : interfere(inTurn(owners, round), rival, { id, purchase }),
      ])
      const granted = used.filter(({ status }) => status === 201)
      assert.ok(granted.length <= 1, JSON.stringify(tally(used)))
      const { body: approval } = await owners[0].send('GET', `/v1/approvals/${id}`)
      assert.equal(
        approval.status === 'consumed',
        granted.length === 1,
        JSON.stringify([approval, tally(used)]),
      )
      if (rival === 'none') assert.equal(granted.length, 1, JSON.stringify(tally(used)))
      const isDenied = rival === 'deny' && answer?.status === 200
      assert.ok(!(isDenied && granted.length > 0), 'an approval was used and denied')
      if (rival === 'revoke' || rival === 'pause') {
        assert.equal(answer?.status, 200)
        // Its proof, if any, has ended.
        const verified = await Promise.all(proofsOf(granted).map((proof) => owners[0].verify(proof)))
        assert.ok(verified.every((answer) => labelOf(answer) === '402 proof_expired'))
      }
      outcomes.add(`${rival}: ${granted.length}`)
    }
  }
  assert.ok(outcomes.has('none: 1') && !outcomes.has('none: 0'))
}

function interfere(
  owner: LoadClient,
  rival: 'deny' | 'revoke' | 'pause',
  { id, purchase }: { readonly id: string; readonly purchase: Purchase },
): Promise<PlainAnswer> {
  return rival === 'deny'
    ? owner.send('POST', `/v1/approvals/${id}/deny`, { body: {} })
    : owner.send('PATCH', `/mandates/${purchase.mandateId}/${rival}`)
}

/** Payments below four levels of budgets, while one is cut and another frozen: there is no deadlock. */
export async function raceInBudgets({ owners }: Racers): Promise<void> {
  const [owner] = owners
  const company = await createBudget(owner, null, 150)
  const area = await createBudget(owner, company, 1_000)
  const team = await createBudget(owner, area, 1_000)
  const project = await createBudget(owner, team, 70)
  const other = await createBudget(owner, area, 1_000)
  const purchases = await Promise.all(
    [project, project, team, other, company].map((budget_id) => makePurchase(owner, { budget_id })),
  )
  // The agent's budget is above the mandate's own, so the order differs from that of the chain.
  const crossed = purchases[3]!
  const assigned = await owner.send('PATCH', `/v1/agents/${crossed.agentId}`, {
    body: { budget_id: project },
  })
  assert.equal(assigned.status, 200, assigned.text)

  const moments: { began: number; ended: number; purchase: Purchase; answer: PlainAnswer }[] = []
  let moment = 0
  const timed = async (purchase: Purchase, request: () => Promise<PlainAnswer>) => {
    const began = ++moment
    const answer = await request()
    moments.push({ began, ended: ++moment, purchase, answer })
    return answer
  }
  const stopped = { began: 0, ended: 0 }
  const freeze = async () => {
    stopped.began = ++moment
    const answer = await inTurn(owners, 1).send('POST', `/v1/budgets/${team}/freeze`)
    stopped.ended = ++moment
    return answer
  }
  const cut = (turn: number) =>
    inTurn(owners, turn).send('PATCH', `/v1/budgets/${company}`, {
      body: { limits: [{ window: 'lifetime', max_count: 100 }], end_holds: false },
      headers: { 'if-match': '"1"' },
    })
  const [load, frozen, cuts] = await Promise.all([
    allAtOnce(300, async (turn) => {
      await turnsOf(turn)
      const purchase = purchases[turn % purchases.length]!
      const answer = await timed(purchase, () => inTurn(owners, turn).askForProof(purchase))
      if (answer.status !== 201 || turn % 3 === 0) return answer
      await timed(purchase, () => inTurn(owners, turn + 1).verify(answer.body.proof as Proof))
      return answer
    }),
    turnsOf(150).then(freeze),
    Promise.all([turnsOf(100).then(() => cut(0)), turnsOf(100).then(() => cut(1))]),
  ])
  assert.equal(frozen.status, 200, frozen.text)
  // Both cuts request the same: once one is made, the other has nothing to change.
  const cutAnswers = cuts.map(({ status }) => status)
  assert.ok(
    cutAnswers.every((status) => status === 200 || status === 409 || status === 412),
    cutAnswers.join(),
  )
  const max = cutAnswers.includes(200) ? 100 : 150
  const labels = new Set(moments.map(({ answer }) => labelOf(answer)))
  const possible = [
    '201 ok',
    '200 ok',
    '402 shared_budget_exceeded',
    '402 budget_frozen',
    '402 proof_expired',
  ]
  assert.deepEqual(
    [...labels].filter((label) => !possible.includes(label)),
    [],
  )

  const { body: shown } = await owner.send('GET', `/v1/budgets/${company}`)
  assert.ok(shown.usage[0].count <= max, JSON.stringify(shown.usage))
  // Below the frozen budget nothing begins after its answer, and open payments have ended, even after it is
  // unfrozen.
  const below = purchases.slice(0, 4)
  const late = moments.filter(({ began, purchase }) => began > stopped.ended && below.includes(purchase))
  const wins = late.filter(({ answer }) => answer.status < 300)
  assert.deepEqual(
    wins.map(({ answer }) => answer.text),
    [],
  )
  const unfrozen = await owner.send('POST', `/v1/budgets/${team}/unfreeze`)
  assert.equal(unfrozen.status, 200, unfrozen.text)
  const early = moments.filter(({ ended, answer }) => ended < stopped.began && answer.status === 201)
  const revived = await Promise.all(
    early
      .filter(({ purchase }) => below.includes(purchase))
      .map(({ answer }) => owner.verify(answer.body.proof as Proof)),
  )
  assert.ok(revived.every(({ status }) => status === 402))
  assert.ok(load.length === 300)
}

async function createBudget(owner: LoadClient, parent: string | null, maxCount: number): Promise<string> {
  const limits = [{ window: 'lifetime', max_count: maxCount }]
  const { status, body, text } = await owner.send('POST', '/v1/budgets', {
    body: { name: 'Team', parent_id: parent, limits },
  })
  assert.equal(status, 201, text)
  return body.id
}

async function issueKey(owner: LoadClient, fields: Readonly<Record<string, unknown>>): Promise<string> {
  const { status, body, text } = await owner.send('POST', '/accounts/api-keys', {
    body: { environment: 'sandbox', ...fields },
  })
  assert.equal(status, 201, text)
  return body.key
}

function proofBody({ agentId, mandateId, resourceUrl }: Purchase) {
  return { agent_id: agentId, mandate_id: mandateId, amount: '1.00', resource_url: resourceUrl }
}

function proofsOf(answers: readonly PlainAnswer[]): Proof[] {
  return answers.filter(({ status }) => status === 201).map(({ body }) => body.proof as Proof)
}

/** Spreads requests over some time, in order. */
async function turnsOf(turn: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, turn * 2))
}

/** The client whose turn it is, so that requests alternate between processes. */
export function inTurn(clients: readonly LoadClient[], turn: number): LoadClient {
  return clients[turn % clients.length] ?? assert.fail()
}
