import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Environment } from '@purser/wire/fields'

import { seededRandom } from '../../../testing/seeded-random.ts'
import {
  mergeParts,
  quarterMs,
  sellersPaidIn,
  sumsOfParts,
  type ActivityPart,
  type EntryKind,
  type MandatePart,
} from './activity.ts'

test('Merged parts have the same sums and paid sellers, and each mandate once', () => {
  const random = seededRandom(1)
  const parts = Array.from({ length: 200 }, (): ActivityPart => {
    const kind = random.pick<EntryKind>(['paid', 'refunded', 'received', 'approved', 'denied', 'more_denied'])
    const isOwn = kind === 'paid' || kind === 'refunded'
    const reason = kind === 'denied' ? random.pick(['mandate_expired', 'agent_revoked']) : null
    const domain = random.pick([null, 'shop.example', 'api.example.com'])
    const mandates = Array.from({ length: 1 + random.below(4) }, (): MandatePart => {
      const number = random.below(4)
      const sum = [`mandate_${number}`, 1 + random.below(3), String(random.below(1e9))] as const
      return isOwn ? [...sum, `agent_${number % 2}`] : sum
    })
    const environment = random.pick<Environment>(['sandbox', 'production'])
    const startsAtMs = quarterMs * random.below(200)
    const part = [environment, startsAtMs, kind, reason, domain, random.below(2) === 0, mandates] as const
    return isOwn && random.below(2) === 0 ? [...part, random.pick(['data', 'compute'])] : part
  })
  const merged = mergeParts(parts)
  assert.deepEqual(sumsOfParts(merged), sumsOfParts(parts))
  assert.deepEqual(namesOf(merged), namesOf(parts))
  for (const [, , , , , , mandates] of merged) {
    assert.equal(new Set(mandates.map(([id]) => id)).size, mandates.length)
  }
  assert.deepEqual(mergeParts(merged), merged)
})

/** The sellers that were paid under each mandate. */
function namesOf(parts: readonly ActivityPart[]): Set<string> {
  return new Set(
    sellersPaidIn(parts).map(({ mandateId, merchantDomain }) => `${mandateId} ${merchantDomain}`),
  )
}
