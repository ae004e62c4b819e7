import assert from 'node:assert/strict'
import { test } from 'node:test'

import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { finalizeGarbage } from '../../testing/collect-garbage.ts'
import { openMarket } from '../../testing/market.ts'

const service = await shareTestService()

const inits: Readonly<Record<string, RequestInit>> = {
  'without a signal': {},
  'with a signal': { signal: new AbortController().signal },
}
for (const [how, init] of Object.entries(inits)) {
  test(`A paid response that nobody reads closes its connection when it is garbage, like one of a plain fetch (${how})`, async (context) => {
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    const { merchant, pay } = await openMarket(context, service, {
      deliver: (_request, response) => {
        response.on('close', resolve)
        response.write('x'.repeat(1_000_000))
      },
    })
    const statusOfPaid = async () => (await pay()(merchant.url, init)).status
    assert.equal(await statusOfPaid(), 200)
    await finalizeGarbage()
    await closed
  })
}

test('A paid response that is read late is whole, also if garbage is collected first', async (context) => {
  const goods = 'row\n'.repeat(50_000)
  const { merchant, pay } = await openMarket(context, service, {
    deliver: (_request, response) => void response.end(goods),
  })
  const answer = await pay()(merchant.url)
  await finalizeGarbage()
  assert.equal((await answer.text()).length, goods.length)
})
