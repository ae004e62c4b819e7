import assert from 'node:assert/strict'
import { test } from 'node:test'

import { checkCollection, type CollectionFacts, type CollectionRefusal } from './collection.ts'
import { parseAmount } from './money.ts'
import { mandateDefaults } from './new-records.ts'
import type { Caller, Mandate, Seller } from './records.ts'

const payer: Caller = {
  accountId: 'acct_payer',
  environment: 'sandbox',
  keyId: 'key_payer',
  role: 'owner',
  agentId: null,
}
const shop: Caller = { ...payer, accountId: 'acct_shop', keyId: 'key_shop', role: 'merchant' }

const mandate: Mandate = {
  accountId: 'acct_payer',
  environment: 'sandbox',
  id: 'mandate_1',
  agentId: 'agent_1',
  purpose: 'Buy research data',
  maxTotalText: '100.00',
  maxTotalMicro: parseAmount('100.00'),
  maxPerTransactionText: '10.00',
  maxPerTransactionMicro: parseAmount('10.00'),
  currency: 'USDC',
  allowedSellers: ['example.com'],
  allowedCategories: [],
  limits: null,
  budgetPath: null,
  expiresAtText: '2099-01-01T00:00:00Z',
  expiresAtMs: Date.UTC(2099, 0, 1),
  ...mandateDefaults,
  spentMicro: parseAmount('0'),
  heldMicro: parseAmount('1.00'),
  createdAtMs: 0,
  updatedAtMs: 0,
}

const shopSeller: Seller = {
  accountId: 'acct_shop',
  environment: 'sandbox',
  id: 'seller_1',
  name: 'Data shop',
  domain: 'example.com',
  priceConfig: '{}',
  createdAtMs: 0,
}

const facts: CollectionFacts = {
  caller: shop,
  mandate,
  seller: shopSeller,
  merchantDomain: 'example.com',
  resourceUrl: 'https://example.com/data',
  category: null,
  collectedCategory: null,
}

interface Row {
  readonly name: string
  readonly facts: Partial<CollectionFacts>
  readonly refusal: CollectionRefusal | undefined
}

const everySeller = { ...mandate, allowedSellers: ['*'] }
const otherSeller = { ...shopSeller, accountId: 'acct_third' }

const rows: readonly Row[] = [
  { name: 'The seller of the domain that serves the resource collects', facts: {}, refusal: undefined },
  {
    name: 'A seller collects for a resource below its domain',
    facts: { resourceUrl: 'https://api.example.com/data' },
    refusal: undefined,
  },
  {
    name: "The mandate's own account collects for an unregistered seller",
    facts: { caller: payer, seller: undefined },
    refusal: undefined,
  },
  {
    name: "The mandate's own account collects for another account's seller",
    facts: { caller: payer, seller: otherSeller },
    refusal: undefined,
  },
  {
    name: "The mandate's own account collects whatever the host of the resource",
    facts: { caller: payer, seller: undefined, resourceUrl: 'https://elsewhere.example/data' },
    refusal: undefined,
  },
  {
    name: "The mandate's own account is also limited to the allowed sellers",
    facts: { caller: payer, seller: undefined, mandate: { ...mandate, allowedSellers: [] } },
    refusal: 'merchant_not_allowed',
  },
  {
    name: 'Another account without a registered seller may not collect',
    facts: { seller: undefined },
    refusal: 'seller_not_yours',
  },
  {
    name: 'Another account may not collect for a third one',
    facts: { seller: otherSeller },
    refusal: 'seller_not_yours',
  },
  {
    name: 'An unrelated account gains nothing if the seller belongs to the payer',
    facts: { seller: { ...shopSeller, accountId: 'acct_payer' } },
    refusal: 'seller_not_yours',
  },
  {
    name: 'A seller that the mandate does not allow may not collect',
    facts: { mandate: { ...mandate, allowedSellers: ['other.example'] } },
    refusal: 'merchant_not_allowed',
  },
  {
    name: 'An empty list allows no seller',
    facts: { mandate: { ...mandate, allowedSellers: [] } },
    refusal: 'merchant_not_allowed',
  },
  {
    name: 'A mandate for every seller pays only the one that serves the resource',
    facts: { mandate: everySeller, resourceUrl: 'https://elsewhere.example/data' },
    refusal: 'merchant_not_payee',
  },
  {
    name: 'A mandate for every seller pays the one that serves the resource',
    facts: { mandate: everySeller },
    refusal: undefined,
  },
  {
    name: 'A mandate that now allows other resources does not pay an earlier proof for this one',
    facts: { mandate: { ...mandate, allowedResources: ['https://example.com/reports/*'] } },
    refusal: 'resource_not_allowed',
  },
  {
    name: 'A mandate whose resources include that of the proof pays it',
    facts: { mandate: { ...mandate, allowedResources: ['https://example.com/*'] } },
    refusal: undefined,
  },
  {
    name: 'A mandate that now enforces categories does not pay an earlier proof without one',
    facts: { mandate: { ...mandate, categoryCheck: 'enforced' } },
    refusal: 'merchant_not_allowed',
  },
  {
    name: 'A category that the collector names must be that of the proof',
    facts: { category: 'data', collectedCategory: 'games' },
    refusal: 'category_mismatch',
  },
  {
    name: 'A collector may not name a category for a proof without one',
    facts: { collectedCategory: 'data' },
    refusal: 'category_mismatch',
  },
  {
    name: 'A collector that names the category of the proof collects',
    facts: { category: 'data', collectedCategory: 'data' },
    refusal: undefined,
  },
  {
    name: 'A collector that names no category collects for any',
    facts: { category: 'data' },
    refusal: undefined,
  },
  {
    name: 'A domain that only ends with the same text is a different one',
    facts: { resourceUrl: 'https://notexample.com/data' },
    refusal: 'merchant_not_payee',
  },
  {
    name: 'A subdomain does not collect for its parent domain',
    facts: {
      mandate: everySeller,
      merchantDomain: 'api.example.com',
      seller: shopSeller,
    },
    refusal: 'merchant_not_payee',
  },
  {
    name: 'A resource without a host has no payee',
    facts: { resourceUrl: 'not an address' },
    refusal: 'merchant_not_payee',
  },
  {
    name: 'The domain may be uppercase and end with a dot',
    facts: { merchantDomain: 'EXAMPLE.com.' },
    refusal: undefined,
  },
  {
    name: 'seller_not_yours comes before merchant_not_allowed and merchant_not_payee',
    facts: {
      seller: undefined,
      mandate: { ...mandate, allowedSellers: [] },
      resourceUrl: 'https://elsewhere.example/data',
    },
    refusal: 'seller_not_yours',
  },
  {
    name: 'merchant_not_allowed comes before merchant_not_payee',
    facts: { mandate: { ...mandate, allowedSellers: [] }, resourceUrl: 'https://elsewhere.example/data' },
    refusal: 'merchant_not_allowed',
  },
]
for (const row of rows) {
  test(`${row.name}: ${row.refusal ?? 'may collect'}`, () => {
    assert.equal(checkCollection({ ...facts, ...row.facts }), row.refusal)
  })
}
