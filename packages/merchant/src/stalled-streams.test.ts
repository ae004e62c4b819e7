import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { startTestService } from '../../../service/testing/service.ts'
import { adapters } from '../testing/adapters.ts'
import { encode, openShop } from '../testing/purchase.ts'
import { until } from '../testing/scenarios.ts'

const service = await startTestService({ after })

for (const adapter of adapters) {
  test(`A customer who stalls a metered stream until its deadline pays for what was sent (${adapter.name})`, async (context) => {
    const options = { capture: 'metered', captureSeconds: 60 } as const
    const purchase = await openShop(context, service, adapter, options)
    const { proofFor, urlOf, shop, spent } = purchase
    // The deadline is in a second by the merchant's clock.
    service.clock.nowMs = Date.now() - 59_000
    const proof = await proofFor('/pages')
    const answer = await fetch(urlOf('/pages'), { headers: { 'x-payment-proof': encode(proof) } })
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
    assert.equal((await reader.read()).value, 'first page,')
    const fate = async () => (await service.call('GET', `/v1/payments/proofs/${proof.nonce}`)).body
    await until(async () => (await fate()).status === 'captured')
    service.clock.nowMs += 60_000
    await assert.rejects(async () => {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read());
    })
    shop.open.resolve()
    assert.deepEqual([(await fate()).captured_amount, await spent()], ['0.75', '0.75'])
    assert.equal((await purchase.pay('/pages', proof)).challenge.reason, 'nonce_reused')
  })
}
