import assert from 'node:assert/strict'
import { test } from 'node:test'

import { agentStatuses } from '@purser/wire/agents'
import { roles } from '@purser/wire/roles'
import { currencies, environments } from '@purser/wire/fields'
import { mandateStatuses } from '@purser/wire/mandates'
import { proofStatuses } from '@purser/wire/payments'

import { canHold, indexOf, sqlName, type Column, type Table } from './table.ts'
import * as declarations from './tables.ts'

const { allTables: tables } = declarations

/** Tables that map a name to the account it belongs to. */
const directories: readonly Table[] = [
  declarations.identities,
  declarations.keyHashes,
  declarations.agentAccounts,
  declarations.mandateAccounts,
  declarations.sellerDomains,
]

test('The account leads every key and index of a table, except in tables that map to an account', () => {
  // The list of all tables includes every declared one.
  assert.equal(tables.length, Object.keys(declarations).length - 1)
  assert.ok(tables.length > 10)
  for (const table of tables) {
    if (directories.includes(table) || table === declarations.accounts) continue
    for (const columns of [table.key, ...table.indexes]) assert.equal(columns[0], 'accountId', table.name)
  }
})

test('Columns with a vocabulary use that of the API', () => {
  const { apiKeys, agents, mandates, payments } = declarations
  const vocabularies: readonly (readonly [Column, readonly string[]])[] = [
    [agents.columns.status, agentStatuses],
    [mandates.columns.status, mandateStatuses],
    [payments.columns.status, proofStatuses],
    [apiKeys.columns.role, roles],
    [payments.columns.currency, currencies],
    [payments.columns.environment, environments],
  ]
  for (const [{ vocabulary }, expected] of vocabularies) {
    assert.deepEqual([...(vocabulary ?? [])].sort(), [...expected].sort())
  }
})

test('A range without an index is refused', () => {
  const { mandates } = declarations
  assert.deepEqual(indexOf(mandates, ['agentId', 'accountId'], 'id'), ['accountId', 'agentId', 'id'])
  assert.deepEqual(indexOf(mandates, ['accountId'], 'id'), ['accountId', 'id'])
  assert.throws(
    () => indexOf(mandates, ['accountId', 'status'], 'id'),
    /mandates has no index of accountId, status, id/,
  )
})

test('A column of ids accepts only ids of its kind', () => {
  const { mandates, evaluations } = declarations
  const suffix = '01h455vb4pex5vsknk084sn02q'
  assert.equal(canHold(mandates.columns.id, `mandate_${suffix}`), true)
  assert.equal(canHold(mandates.columns.id, `agent_${suffix}`), false)
  assert.equal(canHold(mandates.columns.id, 'made up'), false)
  assert.equal(canHold(evaluations.columns.mandateId, 'made up'), true)
})

test('Checks and indexes name only columns that the table has', () => {
  for (const { name, columns, checks, key, indexes } of tables) {
    const known = Object.keys(columns)
    const words = checks.flatMap((check) => check.replace(/'[^']*'/g, '').match(/[a-z_]+/g) ?? [])
    const sqlWords = ['is', 'not', 'null', ...known.map(sqlName)]
    assert.deepEqual(
      words.filter((word) => !sqlWords.includes(word)),
      [],
      name,
    )
    for (const column of [key, ...indexes].flat()) assert.ok(known.includes(column), `${name}.${column}`)
  }
})
