import assert from 'node:assert/strict'
import { test } from 'node:test'

import { describeUrl } from './address.ts'

const described: readonly (readonly [address: string, shown: string])[] = [
  ['postgresql://purser:hush@db.example.com:5433/purser', 'postgresql://purser@db.example.com:5433/purser'],
  ['postgres://db.example.com/purser?sslmode=verify-full', 'postgresql://db.example.com/purser'],
  ['postgresql://[::1]:5433/purser', 'postgresql://[::1]:5433/purser'],
  ['postgresql://db/purser?user=me&password=hush&port=5433', 'postgresql://me@db:5433/purser'],
  [
    'postgresql://purser@/purser?host=/run/pg&port=7710',
    'postgresql://purser@/purser?host=/run/pg&port=7710',
  ],
  ['postgresql://purser:hush@/purser?host=/run/pg', 'postgresql://purser@/purser?host=/run/pg'],
  ['postgresql:///purser?host=/run/pg&user=purser', 'postgresql://purser@/purser?host=/run/pg'],
  ['postgresql://purser:hush@localhost/purser?host=/run/pg', 'postgresql://purser@/purser?host=/run/pg'],
  ['postgresql://me:hu/sh@host/name', 'the database'],
]
for (const [address, shown] of described) {
  test(`${address} is shown as ${shown}, which is also a valid address`, () => {
    assert.equal(describeUrl(address), shown)
    if (shown === 'the database') return
    assert.equal(describeUrl(shown), shown)
  })
}

test('A socket is shown with the default user if the address names none', (context) => {
  const before = process.env['PGUSER']
  process.env['PGUSER'] = 'somebody'
  context.after(() => {
    if (before === undefined) delete process.env['PGUSER']
    else process.env['PGUSER'] = before
  })
  assert.equal(describeUrl('postgresql:///purser?host=/run/pg'), 'postgresql://somebody@/purser?host=/run/pg')
})
