import assert from 'node:assert/strict'
import { test } from 'node:test'

import { addressFaults, describeUrl } from './address.ts'

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
  test(`${address} is shown as ${shown}, which is an address, too`, () => {
    assert.equal(describeUrl(address), shown)
    if (shown === 'the database') return
    assert.deepEqual(addressFaults(address), [])
    assert.equal(describeUrl(shown), shown)
  })
}

test('A socket is shown with the default user if the address has none', (context) => {
  const before = process.env['PGUSER']
  process.env['PGUSER'] = 'somebody'
  context.after(() => {
    if (before === undefined) delete process.env['PGUSER']
    else process.env['PGUSER'] = before
  })
  assert.equal(describeUrl('postgresql:///purser?host=/run/pg'), 'postgresql://somebody@/purser?host=/run/pg')
})

const known =
  'host, port, user, password, sslmode, sslnegotiation, uselibpqcompat, sslcert, sslkey, sslrootcert, application_name, options, statement_timeout, lock_timeout, idle_in_transaction_session_timeout'
const faults: readonly (readonly [address: string, faults: readonly string[]])[] = [
  [
    'postgresql://host/purser?foo=bar',
    [`PURSER_DATABASE has the parameter foo, which is not known; those that are: ${known}`],
  ],
  [
    'postgresql://host/purser?hush-hush@host/purser',
    [`PURSER_DATABASE has a parameter, which is not known; those that are: ${known}`],
  ],
  [
    'postgresql://host/purser?sslmode=banana&port=http',
    [
      'PURSER_DATABASE: sslmode must be one of disable, prefer, require, verify-ca, verify-full, no-verify, not "banana"',
      'PURSER_DATABASE: port must be a whole number, not "http"',
    ],
  ],
  ['postgresql://host/purser?sslmode=verify-full&sslrootcert=/ca.pem&options=-c%20x%3Dy', []],
]
for (const [address, expected] of faults) {
  test(`Errors in the parameters of ${address} list the known ones`, () => {
    assert.deepEqual(addressFaults(address), expected)
  })
}
