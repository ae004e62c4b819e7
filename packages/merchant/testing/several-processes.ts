import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

import type { Challenge } from '@purser/merchant'

import {
  askForProof,
  issueKey,
  issueProof,
  preparePurchase,
  startTestService,
} from '../../../service/testing/service.ts'
import { encode } from './purchase.ts'

const service = await startTestService({ after })
const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
const processes: ChildProcess[] = []
after(() => {
  for (const one of processes) one.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** Two processes that share a store, at a URL or in a temporary folder. */
async function openShops(kind: string, address?: string) {
  const key = await issueKey(service, { role: 'merchant' })
  const place = address ?? join(folder, `${kind}-${processes.length}`)
  const script = join(import.meta.dirname, 'delivery-shop.ts')
  return Promise.all(
    ['one', 'other'].map(async (name) => {
      const shop = fork(script, [kind, place, service.url, key, name])
      processes.push(shop)
      const [port] = await once(shop, 'message')
      return { shop, url: `http://127.0.0.1:${port}` }
    }),
  )
}

async function buyProof(path: string): Promise<string> {
  return (await buy(path)).proof
}

/** A proof, and a function to read the state of its payment. */
async function buy(path: string) {
  const purchase = await preparePurchase(service, { max_spend_total: '4.00' })
  const resourceUrl = `https://api.example.com${path}`
  const proof = await issueProof(service, { ...purchase, resourceUrl }, '4.00')
  const { mandateId } = purchase
  return {
    purchase,
    nonce: proof.nonce,
    proof: encode(proof),
    fate: async () => {
      const { body } = await service.call('GET', `/v1/payments/proofs/${proof.nonce}`)
      const { body: mandate } = await service.call('GET', `/mandates/${mandateId}`)
      return [body.status, mandate.spent_total, mandate.authorized_total] as const
    },
  }
}

/** The response to a request: a status, and for a 402 the reason with the state of the goods. */
async function show(url: string, path: string, proof: string): Promise<string> {
  const answer = await fetch(url + path, { headers: { 'x-payment-proof': proof } })
  const text = await answer.text()
  if (answer.status !== 402) return `${answer.status} ${text}`
  const { reason, how_to_pay: howToPay } = JSON.parse(text) as Challenge
  return `${reason}: ${/bought its goods already|deliver its goods completely have failed|does not know/.exec(howToPay)?.[0]}`
}

/** Tests every store that two processes can share. */
export function sharedByProcesses(kind: string, address?: string): void {
  test(`Two processes with a ${kind} store answer retries of a proof like one process`, async () => {
    const [one, other] = await openShops(kind, address)
    assert(one && other)
    const paths = Array.from({ length: 10 }, (_, number) => number)
    await Promise.all(
      paths.map(async (number) => {
        const broken = await buyProof(`/broken?${number}`)
        const answers = []
        for (const { url } of [one, other, one, other, one, other]) {
          answers.push(await show(url, `/broken?${number}`, broken))
        }
        const gaveUp = 'nonce_reused: deliver its goods completely have failed'
        assert.deepEqual(answers, ['500 broken', '500 broken', '500 broken', gaveUp, gaveUp, gaveUp])

        const once = await buyProof(`/once?${number}`)
        const retried = []
        for (const { url } of [one, one, other, one]) retried.push(await show(url, `/once?${number}`, once))
        const bought = 'nonce_reused: bought its goods already'
        assert.deepEqual(retried, ['500 broken', '200 goods', bought, bought])

        const good = await buyProof(`/good?${number}`)
        const together = await Promise.all(
          [one, other, one, other].map(({ url }) => show(url, `/good?${number}`, good)),
        )
        assert.deepEqual(together.toSorted(), ['200 goods', bought, bought, bought])
      }),
    )
  })

  test(`A payment charged by a killed process is delivered by another one from a ${kind} store`, async () => {
    const [one, other] = await openShops(kind, address)
    assert(one && other)
    const proof = await buyProof('/killed')
    const entered = once(one.shop, 'message')
    const cut = show(one.url, '/killed', proof)
    await entered
    assert.equal(await show(other.url, '/killed', proof), '503 {"error":"delivery_in_progress"}')
    one.shop.kill('SIGKILL')
    await assert.rejects(cut)
    // It waits until the first claim has expired.
    const resumed = once(other.shop, 'message')
    const delivery = show(other.url, '/killed', proof)
    assert.deepEqual((await resumed)[0], 'entered', 'the handler runs again for the same payment')
    other.shop.kill('SIGKILL')
    await assert.rejects(delivery)
  })

  test(`A process killed between authorizing and capturing charges nothing, with a ${kind} store`, async () => {
    const [one, other] = await openShops(kind, address)
    assert(one && other)
    const served = await buy('/after/killed?served')
    const late = await buy('/after/killed?late')
    for (const [path, { proof, fate }] of [
      ['/after/killed?served', served],
      ['/after/killed?late', late],
    ] as const) {
      const entered = once(one.shop, 'message')
      const cut = assert.rejects(show(one.url, path, proof))
      await Promise.race([entered, cut])
      assert.deepEqual(await fate(), ['authorized', '0.00', '4.00'])
    }
    one.shop.kill('SIGKILL')
    await once(one.shop, 'exit')

    // In time, another process runs the handler again for the same authorization, and charges it once.
    const { proof } = served
    const answers = await Promise.all([1, 2, 3].map(() => show(other.url, '/after/killed?served', proof)))
    const bought = 'nonce_reused: bought its goods already'
    assert.deepEqual(answers.toSorted(), ['200 goods', bought, bought])
    assert.deepEqual(await served.fate(), ['captured', '4.00', '0.00'])

    // After the deadline nothing is charged, and nothing can be.
    const body = { seconds: 601 }
    assert.equal((await service.call('POST', '/v1/test-clock/advance', { body })).status, 200)
    const capture = await service.call('POST', `/v1/payments/${late.nonce}/capture`, { body: {} })
    assert.deepEqual([capture.status, capture.body], [409, { detail: 'authorization_expired' }])
    const refused = await show(other.url, '/after/killed?late', late.proof)
    assert.match(refused, /^authorization_expired: /)
    assert.deepEqual((await late.fate()).slice(0, 2), ['expired', '0.00'])
    const next = await askForProof(service, late.purchase, '4.00')
    assert.equal(next.status, 201, 'its budget is free again')
    assert.deepEqual(await late.fate(), ['expired', '0.00', '0.00'])
  })
}
