import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Limit } from './limits.ts'
import { changesOfTerms, widensTerms } from './mandate-terms.ts'
import { parseAmount } from './money.ts'
import { noOptionalTerms, type MandateTerms } from './records.ts'

function dailyLimit(max: string): Limit {
  const window = { calendar: 'day', timeZone: 'UTC' } as const
  const amount = { maxAmountText: max, maxAmountMicro: String(parseAmount(max)) }
  return { id: 'limit_1', window, ...amount, maxCount: null, per: null, action: 'deny' }
}

const terms: MandateTerms = {
  purpose: 'Buy research data',
  maxTotalText: '100.00',
  maxTotalMicro: parseAmount('100.00'),
  maxPerTransactionText: '10.00',
  maxPerTransactionMicro: parseAmount('10.00'),
  allowedSellers: ['api.example.com', 'data.example.com'],
  allowedCategories: ['data', 'maps'],
  ...noOptionalTerms,
  limits: [dailyLimit('5.00')],
  budgetPath: null,
  expiresAtText: '2099-01-01T00:00:00Z',
  expiresAtMs: Date.UTC(2099, 0, 1),
  approval: { above: '5.00', firstPurchaseAtSeller: true, required: 2 },
}

const resources = (...patterns: string[]) => ({ allowedResources: patterns })

const total = (text: string) => ({ maxTotalText: text, maxTotalMicro: parseAmount(text) })
const each = (text: string) => ({
  maxPerTransactionText: text,
  maxPerTransactionMicro: parseAmount(text),
})

/** Terms like those above with changes, and whether they are wider. */
const amendments: readonly (readonly [string, Partial<MandateTerms>, Partial<MandateTerms>, boolean])[] = [
  ['the same', {}, {}, false],
  ['a lower limit', {}, { limits: [dailyLimit('4.00')] }, false],
  ['a higher limit', {}, { limits: [dailyLimit('6.00')] }, true],
  ['no limit', {}, { limits: null }, true],
  ['a limit that only notifies', {}, { limits: [{ ...dailyLimit('5.00'), action: 'notify' }] }, true],
  [
    'another limit',
    {},
    { limits: [dailyLimit('5.00'), { ...dailyLimit('9.00'), window: 'lifetime' }] },
    false,
  ],
  ['a first limit', { limits: null }, {}, false],
  ['a shared budget', {}, { budgetPath: ['budget_1'] }, true],
  ['less in total', {}, total('99.99'), false],
  ['more in total', {}, total('100.000001'), true],
  ['the same total in another notation', {}, total('100'), false],
  ['less per payment', {}, each('1'), false],
  ['more per payment', {}, each('10.01'), true],
  ['an earlier expiry', {}, { expiresAtMs: 0 }, false],
  ['a later expiry', {}, { expiresAtMs: terms.expiresAtMs + 1 }, true],
  ['another purpose', {}, { purpose: 'Rent' }, true],
  ['fewer sellers', {}, { allowedSellers: ['DATA.example.com.'] }, false],
  ['no sellers', {}, { allowedSellers: [] }, false],
  ['another seller', {}, { allowedSellers: ['api.example.com', 'shop.example.com'] }, true],
  ['every seller', {}, { allowedSellers: ['*'] }, true],
  ['one of all sellers', { allowedSellers: ['*'] }, { allowedSellers: ['shop.example.com'] }, false],
  [
    'a seller instead of `*.`, which is no seller',
    { allowedSellers: ['*.'] },
    { allowedSellers: ['shop.example.com'] },
    true,
  ],
  ['every seller instead of a wide asterisk', { allowedSellers: ['＊'] }, { allowedSellers: ['*'] }, true],
  ['a seller instead of none', { allowedSellers: [] }, { allowedSellers: ['shop.example.com'] }, true],
  ['fewer categories', {}, { allowedCategories: ['maps'] }, false],
  ['another category', {}, { allowedCategories: ['data', 'books'] }, true],
  ['every category, by an empty list', {}, { allowedCategories: [] }, true],
  ['every category, by *', {}, { allowedCategories: ['*'] }, true],
  ['one of all categories', { allowedCategories: [] }, { allowedCategories: ['data'] }, false],
  ['* instead of an empty list', { allowedCategories: [] }, { allowedCategories: ['*'] }, false],
  ['resources instead of every URL', {}, resources('https://a.example/*'), false],
  ['every URL', resources('https://a.example/*'), { allowedResources: null }, true],
  [
    'some of the resources',
    resources('https://a.example/r*'),
    resources('https://A.example/reports/*'),
    false,
  ],
  [
    'one resource below a prefix',
    resources('https://a.example/r/*'),
    resources('https://a.example/r/1'),
    false,
  ],
  [
    'a prefix instead of one resource',
    resources('https://a.example/r'),
    resources('https://a.example/r*'),
    true,
  ],
  ['a shorter prefix', resources('https://a.example/r/*'), resources('https://a.example/r*'), true],
  ['another host', resources('https://a.example/*'), resources('https://b.example/r'), true],
  ['another scheme', resources('https://a.example/*'), resources('http://a.example/r'), true],
  ['enforced categories', {}, { categoryCheck: 'enforced' }, false],
  ['advisory categories', { categoryCheck: 'enforced' }, { categoryCheck: null }, true],
  ['other metadata', {}, { metadata: { a: '1' } }, true],
  [
    'the same metadata in another order',
    { metadata: { a: '', b: '' } },
    { metadata: { b: '', a: '' } },
    false,
  ],
  ['no approval', {}, { approval: null }, true],
  ['approval instead of none', { approval: null }, {}, false],
  ['approval above less', {}, { approval: { above: '4', firstPurchaseAtSeller: true, required: 2 } }, false],
  [
    'approval above more',
    {},
    { approval: { above: '5.01', firstPurchaseAtSeller: true, required: 2 } },
    true,
  ],
  [
    'approval from an amount of zero',
    {},
    { approval: { above: null, firstPurchaseAtSeller: true, required: 2 } },
    true,
  ],
  [
    'no more approval of first purchases',
    {},
    { approval: { above: '5.00', firstPurchaseAtSeller: false, required: 2 } },
    true,
  ],
  ['approval by one', {}, { approval: { above: '5.00', firstPurchaseAtSeller: true, required: 1 } }, true],
  ['narrower in one term and wider in another', {}, { ...total('1'), ...each('11') }, true],
]

for (const [title, from, changes, isWider] of amendments) {
  test(`An amendment to ${title} ${isWider ? 'widens' : 'does not widen'} a mandate`, () => {
    const before = { ...terms, ...from }
    assert.equal(widensTerms(before, { ...before, ...changes }), isWider)
  })
}

test('The changes of an amendment are the terms that differ, before and after', () => {
  assert.equal(changesOfTerms(terms, { ...terms }), undefined)
  assert.deepEqual(changesOfTerms(terms, { ...terms, ...total('5.00'), allowedSellers: [] }), {
    before: { max_spend_total: '100.00', allowed_sellers: ['api.example.com', 'data.example.com'] },
    after: { max_spend_total: '5.00', allowed_sellers: [] },
  })
})
