import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'

import type { Proof } from '@purser/client'

import { issueKey } from '../../../../service/testing/service.ts'
import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { merchantDomain } from '../../../client/testing/merchant.ts'
import { startServer } from '../../../client/testing/scripted-server.ts'
import { openMarket } from '../../testing/market.ts'
import { passOn } from '../../testing/pass-on.ts'

const service = await shareTestService()

/** Delivers with a receipt that claims that nothing was charged. */
function claimNothing(request: IncomingMessage, response: ServerResponse): void {
  const { nonce } = proofOf(request)
  const receipt = { transaction_id: 'txn_claimed', amount: '0.00', merchant_domain: 'shop.example', nonce }
  const header = Buffer.from(JSON.stringify(receipt)).toString('base64url')
  response.writeHead(200, { 'x-payment-receipt': header }).end('goods')
}

function proofOf({ headers }: IncomingMessage): Proof {
  return JSON.parse(Buffer.from(String(headers['x-payment-proof']), 'base64url').toString()) as Proof
}

test('A receipt that claims nothing does not hide a charge', async (context) => {
  const { merchant, purser, sums } = await openMarket(context, service, { deliver: claimNothing })
  const shown = await purser('pay', merchant.url)
  assert.match(shown.errors, /\nPaid: {6}4\.00 USDC to shop\.example, transaction txn_(?!claimed)\w+$/)
  const { output } = await purser('pay', merchant.url, '--json', '--output', 'goods')
  const { payment, receipt } = JSON.parse(output)
  assert.deepEqual([payment.outcome, payment.charged_amount, receipt.amount], ['paid', '4.00', '4.00'])
  assert.equal(receipt.transaction_id, payment.transaction_id)
  assert.deepEqual(await sums(), { spent: '8.00', held: '0.00' })
})

test('Goods whose charge is still open are delivered with an unknown charge', async (context) => {
  const { merchant, purser, sums } = await openMarket(context, service, {
    beforeVerify: (request, response) => {
      claimNothing(request, response)
      return true
    },
  })
  const shown = await purser('pay', merchant.url)
  assert.deepEqual([shown.code, shown.output], [0, 'goods'])
  assert.match(
    shown.errors,
    /\nDelivered: up to 4\.00 USDC may have been charged by shop\.example, or may still be\. To find out: purser proofs show [\w-]+$/,
  )
  const { code, output } = await purser('pay', merchant.url, '--json', '--output', 'goods')
  const { payment, receipt } = JSON.parse(output)
  assert.deepEqual(
    [code, payment.outcome, payment.amount, payment.charged_amount, payment.transaction_id, receipt],
    [0, 'delivered_charge_unknown', '4.00', null, null, null],
  )
  assert.deepEqual(await sums(), { spent: '0.00', held: '8.00' })
})

test('A charge at the end of a stream is reported, because pay asks again after the body', async (context) => {
  const key = await issueKey(service, { role: 'merchant' })
  const asked = Promise.withResolvers<void>()
  const { merchant, purser, environment } = await openMarket(context, service, {
    beforeVerify: (request, response) => {
      void stream(proofOf(request), response)
      return true
    },
  })
  async function stream(proof: Proof, response: ServerResponse): Promise<void> {
    const body = { proof, merchant_domain: merchantDomain, expected_amount: proof.amount }
    await service.call('POST', '/v1/payments/authorize', { key, body })
    response.write('first, ')
    await asked.promise
    await service.call('POST', `/v1/payments/${proof.nonce}/capture`, { key, body: { amount: '1.25' } })
    response.end('last')
  }
  environment['PURSER_URL'] = await startServer(context, (request, response) => {
    const isAboutProof = request.url?.includes('/payments/proofs/')
    void passOn(service, request, response).then(() => isAboutProof && asked.resolve())
  })
  const { output, errors } = await purser('pay', merchant.url)
  assert.equal(output, 'first, last')
  assert.match(errors, /\nPaid: {6}1\.25 USDC to 127\.0\.0\.1, transaction txn_\w+$/)
})

test('A paid answer that the copy of the buyer is current is a success, and saves nothing', async (context) => {
  const { merchant, purser, sums, folder } = await openMarket(context, service, {
    deliver: ({ headers }, response) => {
      response.writeHead(headers['if-none-match'] === '"v1"' ? 304 : 200).end()
    },
  })
  const words = ['pay', merchant.url, '--header', 'If-None-Match: "v1"', '--output', 'goods.csv']
  const { code, errors } = await purser(...words)
  assert.equal(code, 0)
  assert.match(errors, /\nPaid: {6}4\.00 USDC to 127\.0\.0\.1, .*\nThe merchant answers 304 Not Modified$/)
  assert.deepEqual(readdirSync(folder), [])
  assert.deepEqual(await sums(), { spent: '4.00', held: '0.00' })
})
