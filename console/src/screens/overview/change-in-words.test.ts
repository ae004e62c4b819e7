import assert from 'node:assert/strict'
import { test } from 'node:test'

import { changeInWords } from './change-in-words.ts'

test('Spending is compared with the previous period', () => {
  const rows: [spent: string, before: string, sentence: string][] = [
    ['15.00', '10.00', '50% more than before.'],
    ['5.00', '10.00', '50% less than before.'],
    ['10.00', '10.00', 'As much as before.'],
    ['10.01', '10.00', 'Less than 1% more than before.'],
    ['-5.00', '10.00', '150% less than before.'],
    ['200000.00', '10.00', '1,999,900% more than before.'],
    ['5.00', '0.00', ''],
    ['5.00', '-1.00', ''],
  ]
  for (const [spent, before, sentence] of rows) assert.equal(changeInWords(spent, before), sentence)
})
