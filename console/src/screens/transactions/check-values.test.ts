import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { PolicyCheck } from '@purser/client'

import { clockTime } from '../../text/times.ts'
import { comparisonInWords } from './check-values.ts'

const asked = '2026-11-20T12:00:00.000Z'
const expires = '2026-11-20T11:00:00Z'

test('What a check compared is shown without JSON notation, and with every digit of an amount', () => {
  const many = Array.from({ length: 40 }, (_, index) => `api-${index}.example`)
  const rows: [string, PolicyCheck['relation'], string[], words: string][] = [
    ['research-bot', null, [], 'research-bot'],
    [asked, 'not_before', [expires], `${clockTime(asked)} is not before ${clockTime(expires)}`],
    [expires, 'before', [asked], `${clockTime(expires)} is before ${clockTime(asked)}`],
    ['a.example', 'in', ['a.example', 'b.example'], 'a.example is one of: a.example, b.example'],
    ['a.example', 'in', ['*'], 'a.example; every one is allowed (*)'],
    ['games ∈ {games}', 'not_in', ['data, or', 'maps'], 'games ∈ {games} is none of: data, or, maps'],
    ['c.example', 'not_in', many, `c.example is none of: ${many.slice(0, 6).join(', ')}, and 34 more`],
    ['c.example', 'not_in', [], 'c.example is none of: '],
    ['every category is allowed', null, [], 'every category is allowed'],
    ['4.20 + 1.00 held + 6.00', 'above', ['10.00'], '4.20 + 1.00 held + 6.00 > 10.00'],
    ['', null, [], ''],
  ]
  for (const [value, relation, limits, words] of rows) {
    assert.equal(comparisonInWords({ value, relation, limits }), words)
  }
})
