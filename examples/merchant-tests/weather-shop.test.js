import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { createTestPurser, proofHeader } from '@purser/merchant/testing'

import { createShop } from './weather-shop.js'

let nowMs = Date.now()
const purser = createTestPurser({ now: () => nowMs })
const shop = createShop(purser.client, 'http://localhost:3000').listen(0, 'localhost')
await new Promise((resolve) => shop.once('listening', resolve))
after(() => shop.close())

const url = `http://localhost:${shop.address().port}/weather`
const ask = (headers) => fetch(url, { headers: { connection: 'close', ...headers } })
const challenge = await (await ask()).json()
const pay = (proof) => ask({ 'x-payment-proof': proofHeader(proof) })
const reasonOf = async (answer) => (await answer.json()).reason

test('Without a payment there is no weather', async () => {
  assert.equal((await ask()).status, 402)
  assert.equal(challenge.amount, '0.05')
})

test('A payment gets the weather once', async () => {
  const proof = await purser.issueProof(challenge)
  const bought = await pay(proof)
  assert.deepEqual([bought.status, await bought.text()], [200, 'sunny'])
  assert.equal(purser.charges.at(-1).nonce, proof.nonce)
  assert.equal(await reasonOf(await pay(proof)), 'nonce_reused')
  assert.equal(purser.charges.length, 1)
})

test('A wrong amount, a forged proof and an old one buy nothing', async () => {
  assert.equal(
    await reasonOf(await pay(await purser.issueProof(challenge, { amount: '0.01' }))),
    'amount_mismatch',
  )
  const forged = { ...(await purser.issueProof(challenge)), agentId: 'somebody-else' }
  assert.equal(await reasonOf(await pay(forged)), 'invalid_signature')
  const old = await purser.issueProof(challenge)
  nowMs += 5 * 60_000 + 1
  assert.equal(await reasonOf(await pay(old)), 'proof_expired')
})

test('While the service is down nothing is delivered, and the proof works afterwards', async () => {
  const proof = await purser.issueProof(challenge)
  purser.failVerifications()
  assert.equal((await pay(proof)).status, 503)
  purser.answerAgain()
  assert.equal((await pay(proof)).status, 200)
})
