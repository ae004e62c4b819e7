import assert from 'node:assert/strict'
import { test } from 'node:test'

import { addressFaults } from './database-address.ts'

const known =
  'host, port, user, password, sslmode, sslnegotiation, uselibpqcompat, sslcert, sslkey, sslrootcert, options, statement_timeout, lock_timeout, idle_in_transaction_session_timeout'
const faults: readonly (readonly [address: string, faults: readonly string[]])[] = [
  [
    'postgresql://host/purser?foo=bar',
    [`PURSER_DATABASE has the parameter foo, which is not known; those that are: ${known}`],
  ],
  [
    'postgresql://host/purser?application_name=billing',
    [`PURSER_DATABASE has the parameter application_name, which is not known; those that are: ${known}`],
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
  ['postgresql://purser:hush@db.example.com:5433/purser', []],
  ['postgresql://purser:hush@/purser?host=/run/pg', []],
  ['postgresql:///purser?host=/run/pg&user=purser', []],
]
for (const [address, expected] of faults) {
  test(`Errors in the address ${address} list the known parameters`, () => {
    assert.deepEqual(addressFaults(address), expected)
  })
}
