import assert from 'node:assert/strict'
import { test } from 'node:test'

import { look } from '../operation.ts'
import type { Row, Table } from '../table.ts'
import { accounts, agents, apiKeys, mandates, payments } from '../tables.ts'
import { checkRows, writeStatements } from './statements.ts'

// Each connection keeps a plan of each prepared statement, a hundred kilobytes in the server's memory.

const texts = ['orderId', 'category', 'idempotencyKey', 'authorizationKey', 'merchantDomain', 'amountText']

test('However many columns calls combine, few statements are prepared to add and change rows', () => {
  const names = new Set<string | undefined>()
  for (let mask = 1; mask < 2 ** texts.length; mask++) {
    const [before, now] = [rowOf(payments, 0), rowOf(payments, mask)]
    const inserts = writeStatements([{ table: payments, before: undefined, now }])
    const updates = writeStatements([{ table: payments, before, now }])
    for (const { name } of [...inserts, ...updates]) names.add(name)
  }
  assert.ok(names.size <= 2 * 33, `${names.size} statements`)
})

test('Rows that were read in another order are checked by the same statement', () => {
  const checks = [
    [mandates, accounts, payments, apiKeys, agents],
    [agents, mandates, payments, accounts, apiKeys],
  ].map((tables) => {
    const reads = tables.map((table) => ({ read: look(table as Table, rowOf(table, 0)), version: '1' }))
    return checkRows(reads, []).map(({ name, text }) => ({ name, text }))
  })
  assert.deepEqual(checks[0], checks[1])
})

/** A row with the texts in a bit mask; everything else is null. */
function rowOf({ columns }: Table, mask: number): Row {
  const filled = texts.filter((_, index) => Math.floor(mask / 2 ** index) % 2 === 1)
  return Object.fromEntries(Object.keys(columns).map((name) => [name, filled.includes(name) ? 'x' : null]))
}
