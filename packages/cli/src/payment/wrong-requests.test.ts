import assert from 'node:assert/strict'
import { test } from 'node:test'

import { shareTestService } from '../../../../service/testing/shared-service.ts'
import { openMarket } from '../../testing/market.ts'

const service = await shareTestService()

test('A request that no fetch can send is wrong usage, and nothing is sent', async (context) => {
  const { merchant, purser } = await openMarket(context, service)
  const wrong: [RegExp, ...string[]][] = [
    [/cannot have body/, '--data', 'rain', '--method', 'GET'],
    [/'GE T' is not a valid HTTP method/, '--method', 'GE T'],
    [/'TRACE' HTTP method is unsupported/, '--method', 'TRACE'],
    [/value of 9731/, '--header', 'X-Weather: ☃'],
  ]
  for (const [message, ...words] of wrong) {
    const { code, errors } = await purser('pay', merchant.url, ...words)
    assert.equal(code, 2)
    assert.match(errors, message)
    assert.match(errors, /^--method, --header and --data make no request: .*\.\n\npurser pay --help/)
  }
  assert.deepEqual(merchant.visits, [])
})
