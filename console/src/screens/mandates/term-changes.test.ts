import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Mandate } from '@purser/client'

import { draftOf, type Terms } from './mandate-draft.ts'
import { amendmentOf, changesOf, changesTyped, type Direction } from './term-changes.ts'

const day = { calendar: 'day', time_zone: 'Europe/Berlin' } as const
const limit = { window: day, max_amount: '20.00', max_count: null, per: null, action: 'deny' } as const
const terms: Terms = {
  purpose: 'Papers',
  max_spend_total: '100.00',
  max_spend_per_transaction: '5.00',
  allowed_sellers: ['a.example', 'b.example'],
  allowed_categories: ['data'],
  allowed_resources: ['https://a.example/papers/*'],
  category_check: 'enforced',
  limits: [limit],
  budget_id: null,
  approval: { above: '2.00', first_purchase_at_seller: true, required: 1 },
  metadata: { project: 'apollo', team: 'a' },
  expires_at: '2026-12-01T00:00:30Z',
}

test('A change is shown as allowing more or less, as the service decides it', () => {
  const approval = { above: '2.00', first_purchase_at_seller: true, required: 1 }
  const rows: [Partial<Terms>, Direction][] = [
    [{ purpose: 'Maps' }, 'neither'],
    [{ max_spend_total: '100.01' }, 'more'],
    [{ max_spend_per_transaction: '4' }, 'less'],
    [{ allowed_sellers: ['a.example'] }, 'less'],
    [{ allowed_sellers: ['a.example', 'c.example'] }, 'both'],
    [{ allowed_sellers: ['*'] }, 'more'],
    [{ allowed_categories: [] }, 'more'],
    [{ allowed_resources: ['https://a.example/papers/2026/*'] }, 'less'],
    [{ allowed_resources: [] }, 'more'],
    [{ category_check: 'advisory' }, 'more'],
    [{ limits: [] }, 'more'],
    [{ limits: [limit, { ...limit, window: 'lifetime' }] }, 'less'],
    [{ limits: [{ ...limit, max_amount: '10.00' }] }, 'less'],
    [{ limits: [{ ...limit, action: 'notify' }] }, 'more'],
    [{ limits: [{ ...limit, window: 'lifetime' }] }, 'both'],
    [{ budget_id: 'budget_1' }, 'neither'],
    [{ approval: null }, 'more'],
    [{ approval: { ...approval, above: '1.00' } }, 'less'],
    [{ approval: { ...approval, above: '1.00', first_purchase_at_seller: false } }, 'both'],
    [{ expires_at: '2027-01-01T00:00:00Z' }, 'more'],
    [{ metadata: {} }, 'neither'],
  ]
  for (const [after, direction] of rows) {
    const changes = changesOf(terms, { ...terms, ...after })
    assert.deepEqual(
      changes.map((change) => [change.name, change.direction]),
      [[Object.keys(after)[0], direction]],
    )
    assert.deepEqual(amendmentOf(changes), after)
  }
})

test('A different spelling of the same value is not a change', () => {
  const same = {
    max_spend_total: '100',
    expires_at: '2026-12-01T00:00:00.000Z',
    metadata: { team: 'a', project: 'apollo' },
  }
  assert.deepEqual(changesOf(terms, { ...terms, ...same }), [])
})

test('A field that nobody touched changes nothing, even where the form cannot show its term', () => {
  const mandate = {
    ...terms,
    allowed_categories: ['books, rare', 'maps'],
    purpose: 'Papers ',
    limits: [],
  } as Partial<Mandate> as Mandate
  const draft = draftOf(mandate)
  assert.deepEqual(changesTyped(mandate, draft), [])
  assert.deepEqual(amendmentOf(changesTyped(mandate, { ...draft, total: '90.00' })), {
    max_spend_total: '90.00',
  })
})
