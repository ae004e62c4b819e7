import assert from 'node:assert/strict'
import { test } from 'node:test'

import { seededRandom } from '../../../testing/seeded-random.ts'
import { mergeParts, quarterMs, sellersPaidIn, sumsOfParts, type ActivityPart } from './activity.ts'

test('Merged parts have the same sums and paid sellers, and each mandate once', () => {
  const random = seededRandom(1)
  const parts = Array.from({ length: 200 }, (): ActivityPart => {
    const kind = random.pick(['paid', 'refunded', 'received', 'approved', 'denied', 'more_denied'])
    const isOwn = kind === 'paid' || kind === 'refunded'
    const part = [
      random.pick(['sandbox', 'production']),
      quarterMs * random.below(200),
      kind,
      kind === 'denied' ? random.pick(['mandate_expired', 'agent_revoked']) : null,
      random.pick([null, 'shop.example', 'api.example.com']),
      random.below(2) === 0,
      Array.from({ length: 1 + random.below(4) }, () => {
        const number = random.below(4)
        const sum = [`mandate_${number}`, 1 + random.below(3), String(random.below(1e9))] as const
        return isOwn ? ([...sum, `agent_${number % 2}`] as const) : sum
      }),
    ] as const
    return isOwn && random.below(2) === 0 ? [...part, random.pick(['data', 'compute'])] : part
  })
  const merged = mergeParts(parts)
  assert.deepEqual(sumsOfParts(merged), sumsOfParts(parts))
  const names = (of: readonly ActivityPart[]) =>
    new Set(sellersPaidIn(of).map(({ mandateId, merchantDomain }) => `${mandateId} ${merchantDomain}`))
  assert.deepEqual(names(merged), names(parts))
  for (const [, , , , , , mandates] of merged) {
    assert.equal(new Set(mandates.map(([id]) => id)).size, mandates.length)
  }
  assert.deepEqual(mergeParts(merged), merged)
})
