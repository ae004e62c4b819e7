import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Mandate } from '@purser/client'

import {
  draftFaults,
  draftLike,
  emptyDraft,
  newMandateOf,
  sentenceOf,
  warningsOf,
  type MandateDraft,
} from './mandate-draft.ts'

const nowMs = Date.UTC(2026, 10, 20, 12)
const draft: MandateDraft = {
  ...emptyDraft(nowMs),
  agentId: 'agent_1',
  purpose: 'Papers',
  total: '1200.00',
  cap: '5.00',
  sellers: 'api.example.com, data.example.org',
}

test('The form says in one sentence what the mandate will allow', () => {
  const rows: [Partial<MandateDraft>, RegExp][] = [
    [
      {},
      /^ada may spend up to 1,200\.00 USDC in total, at most 5\.00 USDC per payment, at api\.example\.com or data\.example\.org, until /,
    ],
    [{ sellers: '*' }, /, at any seller, until /],
    [{ sellers: '' }, /^ada cannot buy anything: no seller is allowed\.$/],
    [{ categories: 'maps' }, /, in the maps category only, until /],
    [{ categories: '*' }, /data\.example\.org, until /],
    [{ total: 'much' }, /^ada may spend up to … USDC in total/],
    [{ expiresLocal: '' }, /until a time still to be chosen\.$/],
  ]
  for (const [changes, sentence] of rows) assert.match(sentenceOf({ ...draft, ...changes }, 'ada'), sentence)
})

test('The form warns only of terms that the owner may not have meant', () => {
  const rows: [Partial<MandateDraft>, RegExp[]][] = [
    [{}, []],
    [{ sellers: '*' }, [/every seller, including/]],
    [{ sellers: ' \n' }, [/every payment will be denied/]],
    [
      { sellers: 'https://api.example.com, b.example' },
      [/^https:\/\/api\.example\.com is a URL, .* no payment\. Did you mean api\.example\.com\?$/],
    ],
    [{ sellers: 'API.example.com:8443/data' }, [/Did you mean api\.example\.com\?$/]],
    [{ sellers: 'https://one.example/a\nhttps://two.example/b' }, [/one\.example\?$/, /two\.example\?$/]],
    [{ sellers: 'https://one.example, one.example' }, [/Did you mean one\.example\?$/]],
    [{ sellers: 'https://' }, [/^https:\/\/ is not a domain, /]],
    [{ sellers: '*.example.com' }, [/^\*\.example\.com is not a domain, /]],
    [{ sellers: 'API.Example.com., bücher.example, my_host.example, localhost, 127.0.0.1, [::1]' }, []],
    [{ categories: 'maps' }, [/Not checked at payment, unless the mandate enforces categories\./]],
    [{ categories: 'maps', isCategoryEnforced: true }, []],
    [{ categories: '*' }, []],
    [{ cap: '1200.01' }, [/above the total budget/]],
    [{ total: '0', cap: '0' }, [/zero allows no payment/]],
    [{ expiresLocal: '2026-01-01T00:00' }, [/This time is in the past/]],
    [{ expiresLocal: '2099-01-01T00:00' }, [/more than a year/]],
  ]
  for (const [changes, expected] of rows) {
    const warnings = warningsOf({ ...draft, ...changes }, nowMs)
    assert.equal(warnings.length, expected.length, warnings.join('; '))
    expected.forEach((words, index) => assert.match(warnings[index] ?? '', words))
  }
})

test('An incomplete form is not sent: each missing field is named', () => {
  assert.deepEqual(draftFaults(draft), {})
  assert.deepEqual(Object.keys(draftFaults({ ...emptyDraft(nowMs), expiresLocal: '' })).sort(), [
    'agent_id',
    'expires_at',
    'max_spend_per_transaction',
    'max_spend_total',
  ])
})

test('Sellers may be separated by lines or commas, and duplicates are dropped', () => {
  const { allowed_sellers } = newMandateOf({
    ...draft,
    sellers: 'a.example,b.example\n a.example  c.example',
  })
  assert.deepEqual(allowed_sellers, ['a.example', 'b.example', 'c.example'])
})

test('A duplicated mandate allows what the original does, including a category of two words', () => {
  const limit = {
    window: 'lifetime',
    max_amount: '50.00',
    max_count: null,
    per: 'seller',
    action: 'deny',
  } as const
  const model: Mandate = {
    id: 'mandate_1',
    agent_id: 'agent_1',
    purpose: 'Papers',
    max_spend_total: '1200.00',
    max_spend_per_transaction: '5.00',
    currency: 'USDC',
    allowed_sellers: ['a.example', 'b.example'],
    allowed_categories: ['office supplies', 'maps'],
    allowed_resources: ['https://a.example/papers/*'],
    category_check: 'enforced',
    metadata: { project: 'apollo', 'a:b': 'two\nlines, \\n and \\' },
    expires_at: '2099-01-01T00:00:00Z',
    approval: { above: '2.00', first_purchase_at_seller: true, required: 2 },
    status: 'active',
    version: 3,
    spent_total: '1.00',
    held_total: '0.00',
    authorized_total: '0.00',
    remaining_budget: '1199.00',
    max_capture_seconds: 900,
    limits: [{ id: 'limit_1', ...limit }],
    budget_id: 'budget_1',
    created_at: '2026-11-20T12:00:00Z',
    updated_at: '2026-11-20T12:00:00Z',
  }
  const { expires_at, ...copy } = newMandateOf(draftLike(model, nowMs))
  assert.equal(Date.parse(expires_at), Date.parse(model.expires_at))
  assert.deepEqual(copy, {
    agent_id: model.agent_id,
    purpose: model.purpose,
    max_spend_total: model.max_spend_total,
    max_spend_per_transaction: model.max_spend_per_transaction,
    allowed_sellers: model.allowed_sellers,
    allowed_categories: model.allowed_categories,
    allowed_resources: model.allowed_resources,
    category_check: model.category_check,
    metadata: model.metadata,
    approval: model.approval,
    max_capture_seconds: model.max_capture_seconds,
    limits: [limit],
    budget_id: model.budget_id,
  })
  assert.match(
    sentenceOf(draftLike(model, nowMs), 'ada', 'Team'),
    /\. It pays at most 50\.00 USDC in the lifetime for each seller\. Its payments count in the shared budget Team\. A person must approve payments above 2\.00 USDC, or for the first purchase from a seller, by 2 people\. Only these URLs: .*\. No payment without an allowed category\.$/,
  )
})
