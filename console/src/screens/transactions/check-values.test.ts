import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { PolicyCheck } from '@purser/client'

import { clockTime } from '../../text/times.ts'
import { valuesInWords } from './check-values.ts'

const asked = '2026-11-20T12:00:00.000Z'
const expires = '2026-11-20T11:00:00Z'

test('The values of a check are told without notation, and amounts to the last digit', () => {
  const many = Array.from({ length: 40 }, (_, index) => `api-${index}.example`)
  const rows: [PolicyCheck['name'], string, string][] = [
    ['agent_exists', 'research-bot', 'research-bot'],
    [
      'mandate_not_expired',
      `${asked} ≥ ${expires}`,
      `${clockTime(asked)} is not before ${clockTime(expires)}`,
    ],
    ['mandate_not_expired', `${expires} < ${asked}`, `${clockTime(expires)} is before ${clockTime(asked)}`],
    ['seller_allowed', 'a.example ∈ {a.example, b.example}', 'a.example is one of: a.example, b.example'],
    ['seller_allowed', 'a.example ∈ {*}', 'a.example; every one is allowed (*)'],
    ['seller_allowed', 'c.example ∉ {a.example}', 'c.example is none of: a.example'],
    [
      'seller_allowed',
      `c.example ∉ {${many.join(', ')}}`,
      `c.example is none of: ${many.slice(0, 6).join(', ')}, and 34 more`,
    ],
    ['category_allowed', 'every category is allowed', 'every category is allowed'],
    ['within_total_budget', '4.20 + 1.00 held + 6.00 > 10.00', '4.20 + 1.00 held + 6.00 > 10.00'],
    ['within_total_budget', '', ''],
  ]
  for (const [name, values, words] of rows) assert.equal(valuesInWords({ name, values }), words)
})
