import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'

import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { openMarket } from '../../testing/market.ts'
import { paymentResultOf, type Proof } from '../client.ts'

const service = await shareTestService()

/** Delivers with a receipt that claims an amount. */
function claiming(amount: string) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const { nonce } = proofOf(request)
    const receipt = { transaction_id: 'txn_claimed', amount, merchant_domain: '127.0.0.1', nonce }
    const header = Buffer.from(JSON.stringify(receipt)).toString('base64url')
    response.writeHead(200, { 'x-payment-receipt': header }).end('goods')
  }
}

function proofOf({ headers }: IncomingMessage): Proof {
  return JSON.parse(Buffer.from(String(headers['x-payment-proof']), 'base64url').toString()) as Proof
}

for (const claimed of ['0.00', '3.999999', '', '-4.00', 'nothing']) {
  test(`A receipt that claims ${JSON.stringify(claimed)} of a charge of 4.00 does not hide the charge`, async (context) => {
    const { merchant, pay, budget } = await openMarket(context, service, { deliver: claiming(claimed) })
    const result = paymentResultOf(await pay()(merchant.url)) ?? assert.fail()
    assert.deepEqual([result.charged_amount, result.status, result.delivered], ['4.00', 'captured', true])
    assert.match(result.transaction_id ?? '', /^txn_(?!claimed)/)
    assert.equal(result.receipt?.amount, claimed, 'the claim is kept')
    assert.deepEqual(await budget(), { spent: '4.00', held: '0.00' })
  })
}

for (const claimed of ['4.00', '4.0', '400.00']) {
  test(`A receipt that claims ${claimed} of a proof of 4.00 is reported as 4.00, the most that can be charged`, async (context) => {
    const { merchant, pay } = await openMarket(context, service, { deliver: claiming(claimed) })
    const result = paymentResultOf(await pay()(merchant.url)) ?? assert.fail()
    assert.deepEqual(
      [result.charged_amount, result.status, result.transaction_id],
      ['4.00', 'captured', 'txn_claimed'],
    )
  })
}

test('A receipt that claims nothing before the charge leaves the charge unknown', async (context) => {
  const deliver = claiming('0.00')
  const { merchant, pay, budget } = await openMarket(context, service, {
    beforeVerify: (request, response) => {
      deliver(request, response)
      return true
    },
  })
  const result = paymentResultOf(await pay()(merchant.url)) ?? assert.fail()
  assert.deepEqual(
    [result.charged_amount, result.status, result.transaction_id, result.delivered],
    [null, 'open', null, true],
  )
  assert.deepEqual(await budget(), { spent: '0.00', held: '4.00' })
})
