import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

import type { Challenge } from '@purser/merchant'

import { issueKey, issueProof, preparePurchase, startTestService } from '../../../service/testing/service.ts'
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
    ['one', 'other'].map(async () => {
      const shop = fork(script, [kind, place, service.url, key])
      processes.push(shop)
      const [port] = await once(shop, 'message')
      return { shop, url: `http://127.0.0.1:${port}` }
    }),
  )
}

async function buyProof(path: string): Promise<string> {
  const purchase = await preparePurchase(service)
  return encode(
    await issueProof(service, { ...purchase, resourceUrl: `https://api.example.com${path}` }, '4.00'),
  )
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
}
