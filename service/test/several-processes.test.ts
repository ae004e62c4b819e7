import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'

import type { Proof } from '@purser/wire/payments'

import { openPool } from '../src/store/ledger/postgres/connection.ts'
import { readPostgresSnapshot } from '../src/store/ledger/postgres/postgres-reader.ts'
import { findLedgerFaults } from '../src/store/ledger/reads/faults.ts'
import {
  allAtOnce,
  inParallel,
  labelOf,
  makePurchase,
  openLoadClient,
  tally,
  type LoadClient,
} from '../testing/load.ts'
import type { PlainAnswer } from '../testing/http/plain-http.ts'
import { postgres18 } from '../testing/postgres.ts'
import type { Purchase } from '../testing/service.ts'
import { makeFolder, startProcess } from './process.ts'
import { raceForAuthorized, raceForRefunds } from './collection-races.ts'
import { raceForApproval, raceForLimit, raceInBudgets } from './spending-races.ts'

const operatorKey = 'svc_sand_several-processes'

interface Group {
  readonly urls: readonly string[]
  readonly databaseUrl: string
}

/** The processes: tests share them, each with an account of its own, because starts are slow. */
let group: Promise<Group> | undefined
let accounts = 0
/** What to do after all tests. */
const stops: (() => Promise<void>)[] = []
after(async () => {
  for (const stop of stops.toReversed()) await stop()
})

test('Of 200 proofs requested from 3 processes under a limit that admits 37, exactly 37 are granted, even if the limit was added later', async (context) => {
  const clients = await openClients(context)
  const [first] = clients
  const daily = { calendar: 'day', time_zone: 'Europe/Berlin' }
  const limits = [{ window: daily, max_count: 40 }]
  const body = { name: 'Team', limits: [] }
  const budget = await first.send('POST', '/v1/budgets', { body })
  const cases = [
    { terms: {}, path: (purchase: Purchase) => `/v1/mandates/${purchase.mandateId}` },
    { terms: { budget_id: budget.body.id }, path: () => `/v1/budgets/${budget.body.id}` },
  ]
  for (const { terms, path } of cases) {
    const purchase = await makePurchase(first, terms)
    const [paid, open] = [await first.askForProof(purchase), await first.askForProof(purchase)]
    await first.verify(paid.body.proof)
    await first.send('POST', `/v1/payments/proofs/${open.body.proof.nonce}/void`)
    await allAtOnce(2, () => first.askForProof(purchase))
    const headers = { 'if-match': '"1"' }
    const added = await inTurn(clients, 1).send('PATCH', path(purchase), { body: { limits }, headers })
    assert.equal(added.status, 200, added.text)

    const answers = await allAtOnce(200, (turn) => inTurn(clients, turn).askForProof(purchase))

    const code = 'budget_id' in terms ? 'shared_budget_exceeded' : 'velocity_limit_exceeded'
    assert.deepEqual(tally(answers), { '201 ok': 37, [`402 ${code}`]: 163 })
  }
})

test('Of 200 clients of 3 processes with one proof, exactly one verifies it and 199 get nonce_reused [verify.step.4] [verify.step.5]', async (context) => {
  const clients = await openClients(context)
  const purchase = await makePurchase(clients[0])
  const { body } = await clients[0].askForProof(purchase)

  const answers = await allAtOnce(200, (turn) => inTurn(clients, turn).verify(body.proof))

  assert.deepEqual(tally(answers), { '200 ok': 1, '402 nonce_reused': 199 })
  assert.deepEqual(await readSums(clients[0], purchase), ['1.00', '0.00'])
})

test('Of 500 proofs requested from 3 processes under a budget for 100, exactly 100 are granted and all are paid [policy.9]', async (context) => {
  const clients = await openClients(context)
  const purchase = await makePurchase(clients[0], { max_spend_total: '100.00' })

  const answers = await allAtOnce(500, (turn) => inTurn(clients, turn).askForProof(purchase))

  assert.deepEqual(tally(answers), { '201 ok': 100, '402 total_budget_exceeded': 400 })
  const proofs = answers.filter(({ status }) => status === 201).map(({ body }) => body.proof as Proof)
  // Each is sent to another process than the one that issued it, and in the end to all of them.
  const verified = await allAtOnce(100, (turn) => inTurn(clients, turn + 1).verify(proofs[turn] as Proof))
  assert.deepEqual(tally(verified), { '200 ok': 100 })
  assert.deepEqual(await readSums(clients[0], purchase), ['100.00', '0.00'])
})

test('After one of 3 processes has answered a revocation, no other starts a payment [endpoint.agents.revoke]', async (context) => {
  const clients = await openClients(context)
  const purchase = await makePurchase(clients[0])
  const { before, after } = await stopUnderLoad(clients, purchase, `/agents/${purchase.agentId}/revoke`)
  assert.deepEqual(before, new Set(['200 ok', '201 ok']))
  assert.deepEqual(after, new Set(['402 agent_revoked', '402 proof_expired']))
})

test('After one of 3 processes has answered that a mandate is paused or revoked, no other starts a payment under it [state.rule.4]', async (context) => {
  const clients = await openClients(context)
  for (const move of ['pause', 'revoke']) {
    const purchase = await makePurchase(clients[0])
    const path = `/mandates/${purchase.mandateId}/${move}`
    const { before, after } = await stopUnderLoad(clients, purchase, path)
    assert.deepEqual(before, new Set(['200 ok', '201 ok']), move)
    assert.deepEqual(after, new Set(['402 mandate_expired', '402 proof_expired']), move)
  }
})

test('Limits, approvals, shared budgets, refunds and authorizations hold when everything happens at once in 3 processes', async (context) => {
  const { owners, open, databaseUrl } = await openRacers(context)
  const races = [raceForLimit, raceForApproval, raceInBudgets, raceForRefunds, raceForAuthorized]
  for (const race of races) await race({ owners, open })
  const pool = openPool(databaseUrl, { max: 1 })
  context.after(() => pool.end())
  // Meanwhile the sweep ends what has expired on the test clock.
  assert.deepEqual(await readPostgresSnapshot(pool, findLedgerFaults), [])
})

type Clients = readonly [LoadClient, ...LoadClient[]]

/**
 * Makes the first process stop something while the others handle proof requests and verifications; returns
 * the answers to requests that ended before the stop began, and to those that began after it was answered.
 */
async function stopUnderLoad(
  [first, ...others]: Clients,
  purchase: Purchase,
  path: string,
): Promise<{ readonly before: Set<string>; readonly after: Set<string> }> {
  const issued = await allAtOnce(200, (turn) => inTurn(others, turn).askForProof(purchase))
  let moment = 0
  const requests: { began: number; ended: number; answer: PlainAnswer }[] = []
  let stop: { began: number; ended: number } | undefined
  let stopping: Promise<void> | undefined

  async function makeStop(): Promise<void> {
    const began = ++moment
    const answer = await first.send('PATCH', path)
    assert.equal(answer.status, 200, answer.text)
    stop = { began, ended: ++moment }
  }
  async function timed(request: () => Promise<PlainAnswer>): Promise<void> {
    const began = ++moment
    const answer = await request()
    requests.push({ began, ended: ++moment, answer })
    if (requests.length === 100) stopping = makeStop()
  }
  await inParallel(
    32,
    issued.flatMap(({ body }, turn) => [
      () => timed(() => inTurn(others, turn).verify(body.proof)),
      () => timed(() => inTurn(others, turn + 1).askForProof(purchase)),
    ]),
  )
  await stopping

  const { began, ended } = stop ?? assert.fail('nothing was stopped')
  const before = requests.filter((request) => request.ended < began)
  const after = requests.filter((request) => request.began > ended)
  assert(before.length >= 100 && after.length >= 100, `${before.length} before, ${after.length} after`)
  const paid = requests.filter(({ answer }) => answer.body.verified === true).length
  assert.deepEqual(await readSums(first, purchase), [`${paid}.00`, '0.00'])
  return { before: labels(before), after: labels(after) }
}

/** A client for each of the processes, with the key of the owner of a new account. */
async function openClients(context: TestContext): Promise<Clients> {
  return (await openRacers(context)).owners
}

async function openRacers(context: TestContext) {
  const { urls, databaseUrl } = await (group ??= startGroup())
  const open = (ownKey: string): Clients => {
    const [first, ...others] = urls.map((url) => openLoadClient(url, ownKey, 64))
    assert(first)
    context.after(() => [first, ...others].forEach((client) => client.close()))
    return [first, ...others]
  }
  const body = { name: 'Racer', email: 'racer@example.com', idp_user_id: `idp_racer_${++accounts}` }
  const created = await open(operatorKey)[0].send('POST', '/accounts', { body })
  assert.equal(created.status, 201, created.text)
  const [sandbox] = created.body.api_keys as { key: string }[]
  assert(sandbox)
  return { owners: open(sandbox.key), open, databaseUrl }
}

/** Starts three services, each in its own process, on one new database. */
async function startGroup(): Promise<Group> {
  const context = { after: (stop: () => Promise<void>) => void stops.push(stop) }
  const database = await postgres18.createEmptyDatabase()
  context.after(database.drop)
  const settings = {
    PURSER_DATABASE: database.url,
    PURSER_WORKERS: '1',
    PURSER_BOOTSTRAP_SANDBOX_KEY: operatorKey,
    PURSER_LOG_LEVEL: 'silent',
  }
  const folder = makeFolder(context)
  const services = await allAtOnce(3, () => startProcess(context, { folder, settings }))
  return { urls: services.map(({ url }) => url), databaseUrl: database.url }
}

function inTurn(clients: readonly LoadClient[], turn: number): LoadClient {
  return clients[turn % clients.length] ?? assert.fail()
}

function labels(requests: readonly { readonly answer: PlainAnswer }[]): Set<string> {
  return new Set(requests.map(({ answer }) => labelOf(answer)))
}

async function readSums(client: LoadClient, { mandateId }: Purchase): Promise<unknown[]> {
  const { body } = await client.send('GET', `/mandates/${mandateId}`)
  return [body.spent_total, body.held_total]
}
