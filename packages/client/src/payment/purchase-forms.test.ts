import assert from 'node:assert/strict'
import { test } from 'node:test'

import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { openMarket } from '../../testing/market.ts'
import { createPurchaseMemory, paymentResultOf, PurchaseConflictError } from '../client.ts'

const service = await shareTestService()

function orderOf(text: string) {
  const body = new FormData()
  body.set('query', text)
  body.set('map', new Blob([text]), 'map.png')
  return { method: 'POST', body }
}

test('A form is the same request each time it is written, also in a Request', async (context) => {
  const { merchant, pay, budget } = await openMarket(context, service)
  const buy = pay({ purchases: createPurchaseMemory() })
  const requestOf = (text: string) => new Request(merchant.url, orderOf(text))
  for (const isReplayed of [false, true]) {
    const inRequest = await buy(requestOf('rain'), { purchaseId: 'order-1' })
    const inInit = await buy(merchant.url, { ...orderOf('rain'), purchaseId: 'order-2' })
    const seen = [inRequest, inInit].map((answer) => paymentResultOf(answer)?.replayed)
    assert.deepEqual(seen, [isReplayed, isReplayed])
  }
  await assert.rejects(buy(requestOf('snow'), { purchaseId: 'order-1' }), PurchaseConflictError)
  const other = { ...orderOf('snow'), purchaseId: 'order-2' }
  await assert.rejects(buy(merchant.url, other), PurchaseConflictError)
  assert.deepEqual(await budget(), { spent: '8.00', held: '0.00' })
})
