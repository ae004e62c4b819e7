import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Mandate } from '@purser/wire/mandates'
import type { Proof, ProofRecord } from '@purser/wire/payments'
import type { Transaction } from '@purser/wire/transactions'

import { readPaidFromFile } from '../testing/ledgers/closed-ledger.ts'
import { allAtOnce, labelOf, makePurchase, openLoadClient, type LoadClient } from '../testing/load.ts'
import type { Purchase } from '../testing/service.ts'
import { makeFolder, startProcess } from './process.ts'

/** How often the service is killed. */
const kills = Number(process.env['PURSER_TEST_KILLS'] ?? 5)
/** Determines the times of the kills; printed by each run. */
const seed = Number(process.env['PURSER_TEST_SEED'] ?? randomInt(2 ** 31))

const key = 'svc_sand_kill_test_key'
const buyers = 16

test('A service that is killed under load, again and again, loses no acknowledged charge and makes none twice [verify.step.4] [verify.step.5] [verify.step.6] [limits.nonce] [limits.total]', async (context) => {
  context.diagnostic(`PURSER_TEST_SEED=${seed} PURSER_TEST_KILLS=${kills}`)
  const random = seededRandom(seed)
  const folder = makeFolder(context)
  const settings = {
    PURSER_BOOTSTRAP_SANDBOX_KEY: key,
    PURSER_LOG_LEVEL: 'warn',
  }
  async function start() {
    const service = await startProcess(context, { folder, settings })
    return { service, client: openLoadClient(service.url, key, buyers) }
  }

  const first = await start()
  const purchases = [
    await makePurchase(first.client),
    await makePurchase(first.client),
    // A budget that runs out during the run and must never be exceeded.
    await makePurchase(first.client, { max_spend_total: tightBudget }),
  ]
  first.client.close()
  assert.equal((await first.service.kill('SIGTERM')).code, 0)

  const journal = openJournal(purchases)
  let startMs = 0
  for (let round = 0; round < kills; round++) {
    const { service, client } = await start()
    startMs += service.startMs
    await settle(client, journal)
    const moment = { answers: 1 + Math.floor(random() * 150), delayMs: random() * 8 }
    await buyUntilKilled(client, journal, moment, () => service.kill('SIGKILL'))
    assert.equal(service.stderr(), '', `round ${round}`)
    client.close()
  }
  const last = await start()
  await settle(last.client, journal)
  last.client.close()
  assert.equal((await last.service.kill('SIGTERM')).code, 0)

  for (const { mandateId } of purchases) {
    const paid = await readPaidFromFile(join(folder, 'data/purser.db'), { key, mandateId })
    assert.deepEqual(paid.sort(), [...journal.paidOf(mandateId)].sort())
  }
  const { answers, unknown, unknownButPaid } = journal.counts
  context.diagnostic(`${answers} answers; ready again after ${Math.round(startMs / kills)} ms on average`)
  context.diagnostic(`${unknown} verifications without an answer, ${unknownButPaid} of them paid`)
  assert.ok(unknown > 0 || kills < 5, 'the kills interrupt verifications')
})

const tightBudget = '150.00'

/** A granted proof that is not known to be paid. */
interface Sale {
  readonly purchase: Purchase
  readonly proof: Proof
  /** Whether its verification was sent and got no answer. */
  isUnknown: boolean
}

/** What is known from the service's answers, and what was requested without an answer. */
interface Journal {
  readonly purchases: readonly Purchase[]
  /** All transactions of a mandate that are known to be paid. */
  readonly paidOf: (mandateId: string) => Set<string>
  readonly unpaid: Set<Sale>
  /** What was acknowledged since the last start. */
  payments: { readonly transactionId: string; readonly nonce: string }[]
  evaluations: { readonly transactionId: string; readonly status: string }[]
  /** How many proofs were requested under a mandate without an answer: each may hold its amount. */
  readonly unknownHolds: Map<string, number>
  readonly counts: { answers: number; unknown: number; unknownButPaid: number }
}

function openJournal(purchases: readonly Purchase[]): Journal {
  const paid = new Map(purchases.map(({ mandateId }) => [mandateId, new Set<string>()]))
  return {
    purchases,
    paidOf: (mandateId) => paid.get(mandateId) ?? assert.fail(`no mandate ${mandateId}`),
    unpaid: new Set(),
    payments: [],
    evaluations: [],
    unknownHolds: new Map(),
    counts: { answers: 0, unknown: 0, unknownButPaid: 0 },
  }
}

/** Proofs, verifications and evaluations from all buyers at once, until the service is killed. */
async function buyUntilKilled(
  client: LoadClient,
  journal: Journal,
  moment: { readonly answers: number; readonly delayMs: number },
  kill: () => Promise<unknown>,
): Promise<void> {
  let answers = 0
  let killed: Promise<unknown> | undefined
  /** The answer, or undefined if the service was killed before it came. */
  async function answerTo<Answer>(request: Promise<Answer>): Promise<Answer | undefined> {
    const answer = await request.catch(() => undefined)
    if (answer && ++answers === moment.answers) killed = sleep(moment.delayMs).then(kill)
    return answer
  }

  async function buy(buyer: number): Promise<void> {
    for (let turn = buyer; ; turn++) {
      const purchase = journal.purchases[turn % journal.purchases.length] as Purchase
      const { mandateId } = purchase
      const asked = await answerTo(client.askForProof(purchase))
      if (!asked) {
        journal.unknownHolds.set(mandateId, (journal.unknownHolds.get(mandateId) ?? 0) + 1)
        return
      }
      if (labelOf(asked) !== '402 total_budget_exceeded') {
        assert.equal(labelOf(asked), '201 ok')
        const sale = { purchase, proof: asked.body.proof as Proof, isUnknown: false }
        journal.unpaid.add(sale)
        const verified = await answerTo(client.verify(sale.proof, retryable(sale)))
        if (!verified) return void (sale.isUnknown = true)
        assert.equal(labelOf(verified), '200 ok')
        assert.equal(verified.headers['idempotent-replayed'], undefined)
        recordPayment(journal, sale, verified.body.transaction_id as string)
      } else {
        assert.equal(purchase, journal.purchases.at(-1), 'only the tight budget runs out')
      }
      const evaluated = await answerTo(client.evaluate(purchase))
      if (!evaluated) return
      const { transaction_id: transactionId, decision: status } = evaluated.body
      journal.evaluations.push({ transactionId, status })
    }
  }

  await allAtOnce(buyers, buy)
  await killed
  journal.counts.answers += answers
}

function retryable({ proof }: Sale): { idempotencyKey: string } {
  return { idempotencyKey: `sale ${proof.nonce}` }
}

function recordPayment(journal: Journal, sale: Sale, transactionId: string): void {
  journal.unpaid.delete(sale)
  journal.paidOf(sale.purchase.mandateId).add(transactionId)
  journal.payments.push({ transactionId, nonce: sale.proof.nonce })
}

/**
 * Compares the journal with the service after a start: acknowledged calls are there, and unknown outcomes
 * become known.
 */
async function settle(client: LoadClient, journal: Journal): Promise<void> {
  async function read<Body>(path: string): Promise<Body> {
    const answer = await client.send('GET', path)
    assert.equal(answer.status, 200, `${path} ${answer.text}`)
    return answer.body as Body
  }
  const readProof = (nonce: string) => read<ProofRecord>(`/v1/payments/proofs/${nonce}`)
  const readTransaction = (id: string) => read<Transaction>(`/v1/transactions/${id}`)

  async function retry(sale: Sale): Promise<void> {
    const before = await readProof(sale.proof.nonce)
    const isPaid = before.status === 'captured'
    assert.ok(before.status === 'open' || (isPaid && sale.isUnknown), `${before.status}: ${before.nonce}`)
    const retried = await client.verify(sale.proof, retryable(sale))
    assert.equal(labelOf(retried), '200 ok')
    assert.equal(retried.headers['idempotent-replayed'], isPaid ? 'true' : undefined)
    const transactionId = retried.body.transaction_id as string
    assert.equal(transactionId, before.transaction_id ?? transactionId)
    const again = await client.verify(sale.proof, retryable(sale))
    assert.deepEqual([again.text, again.headers['idempotent-replayed']], [retried.text, 'true'])
    assert.equal(labelOf(await client.verify(sale.proof)), '402 nonce_reused')
    if (sale.isUnknown) journal.counts.unknown++
    if (isPaid) journal.counts.unknownButPaid++
    recordPayment(journal, sale, transactionId)
  }
  await Promise.all([...journal.unpaid].map(retry))

  await Promise.all([
    ...journal.payments.map(async ({ transactionId, nonce }) => {
      assert.equal((await readTransaction(transactionId)).status, 'paid')
      const { status, transaction_id } = await readProof(nonce)
      assert.deepEqual([status, transaction_id], ['captured', transactionId])
    }),
    ...journal.evaluations.map(async ({ transactionId, status }) => {
      assert.equal((await readTransaction(transactionId)).status, status)
    }),
  ])
  journal.payments = []
  journal.evaluations = []

  for (const { mandateId } of journal.purchases) {
    const mandate = await read<Mandate>(`/mandates/${mandateId}`)
    assert.equal(mandate.spent_total, `${journal.paidOf(mandateId).size}.00`)
    const held = Number(mandate.held_total)
    assert.ok(held <= (journal.unknownHolds.get(mandateId) ?? 0), `${held} is held`)
    assert.ok(Number(mandate.spent_total) + held <= Number(mandate.max_spend_total))
  }
}

/** Numbers from 0 to 1, determined by the seed (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
