import assert from 'node:assert/strict'
import { test } from 'node:test'

import { keepIds, widensLimits } from './limit-terms.ts'
import type { Limit } from './limits.ts'

function daily(id: string, maxText: string, fields: Partial<Limit> & { readonly zone?: string } = {}): Limit {
  const { zone = 'UTC', ...others } = fields
  const window = { calendar: 'day', timeZone: zone } as const
  const maxAmountMicro = String(Math.round(Number(maxText) * 1_000_000))
  const terms = {
    window,
    maxAmountText: maxText,
    maxAmountMicro,
    maxCount: null,
    per: null,
    action: 'deny',
  } as const
  return { id, ...terms, ...others }
}

function idsOf(limits: readonly Limit[]) {
  return limits.map(({ id, maxAmountText }) => `${id} ${maxAmountText}`)
}

test('Limits in another order keep their ids, and a changed one takes that of its window', () => {
  const before = [daily('a', '10.00'), daily('b', '5.00', { action: 'notify' })]
  const reversed = [daily('x', '5.00', { action: 'notify' }), daily('y', '10.00')]
  assert.deepEqual(idsOf(keepIds(reversed, before)), ['b 5.00', 'a 10.00'])
  const changed = [daily('x', '8.00'), daily('y', '10.00'), daily('z', '7.00')]
  assert.deepEqual(idsOf(keepIds(changed, before)), ['b 8.00', 'a 10.00', 'z 7.00'])
})

test('A time zone is the same however it is spelled', () => {
  const before = [daily('a', '10.00', { zone: 'Europe/Berlin' }), daily('b', '20.00')]
  const wanted = [daily('x', '20.00', { zone: 'Etc/UTC' }), daily('y', '5.00', { zone: 'europe/berlin' })]
  assert.deepEqual(idsOf(keepIds(wanted, before)), ['b 20.00', 'a 5.00'])
  assert.equal(widensLimits(before, wanted), false)
  assert.equal(
    widensLimits(before, [daily('x', '20.00'), daily('y', '5.00', { zone: 'Europe/Paris' })]),
    true,
  )
})
