import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { createTestPurser, proofHeader } from '@purser/merchant/testing'

import { createTranslations } from './translation-shop.js'

const purser = createTestPurser()
let translate = async () => ['guten', 'Tag']
const { server, refund } = createTranslations(purser.client, 'http://localhost:3000', () => translate())
const shop = server.listen(0, 'localhost')
await new Promise((resolve) => shop.once('listening', resolve))
after(() => shop.close())

const url = `http://localhost:${shop.address().port}/good-day`
const ask = (headers) => fetch(url, { headers: { connection: 'close', ...headers } })
const challenge = await (await ask()).json()
const pay = (proof) => ask({ 'x-payment-proof': proofHeader(proof) })

test('Only the words are charged, and can be refunded', async () => {
  const bought = await pay(await purser.issueProof(challenge))
  assert.equal(await bought.text(), 'guten Tag')
  assert.deepEqual([challenge.amount, purser.charges[0].amount], ['2.00', '0.02'])
  await refund(purser.charges[0].transactionId, '0.01', {
    reason: 'one word is wrong',
    idempotencyKey: 'case-1',
  })
  assert.deepEqual([purser.refunds.length, purser.refunds[0].amount], [1, '0.01'])
})

test('A failed translation is not charged', async () => {
  translate = async () => Promise.reject(new Error('out of words'))
  const proof = await purser.issueProof(challenge)
  const failed = await pay(proof)
  assert.deepEqual([failed.status, failed.headers.get('x-payment-voided')], [500, proof.nonce])
  assert.equal(purser.authorizations.at(-1).status, 'voided')
  assert.equal(purser.charges.length, 1)
})
