import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Mandate } from '@purser/client'

import { sellerFor } from './sellers.ts'

function seller(allowed: string[], host: string): string | undefined {
  return sellerFor({ allowed_sellers: allowed } as Mandate, host)
}

test('Only hosts of allowed sellers and their subdomains are contacted', () => {
  assert.equal(seller(['example.com'], 'example.com'), 'example.com')
  assert.equal(seller(['example.com'], 'api.example.com'), 'example.com')
  assert.equal(seller(['example.com', 'api.example.com'], 'api.example.com'), 'api.example.com')
  assert.equal(seller(['Bücher.example'], 'shop.xn--bcher-kva.example'), 'xn--bcher-kva.example')
  assert.equal(seller(['API.Example.com.'], 'api.example.com'), 'api.example.com')
  assert.equal(seller(['example.com'], 'api.example.com.'), 'example.com')
  assert.equal(seller(['*'], 'anything.example.'), 'anything.example')
  assert.equal(seller(['*'], 'anything.example'), 'anything.example')
  assert.equal(seller(['localhost'], 'localhost'), 'localhost')
  for (const [domain, host] of [
    ['example.com', 'example.com.evil.example'],
    ['example.com', 'notexample.com'],
    ['api.example.com', 'example.com'],
    ['com', 'example.com'],
    ['0.0.1', '127.0.0.1'],
    ['', 'example.com'],
    ['example.com..', 'example.com'],
    ['shop.example@example.com', 'example.com'],
    ['example.com/path', 'example.com'],
    ['example.com:443', 'example.com'],
  ] as const) {
    assert.equal(seller([domain], host), undefined, `${domain} ${host}`)
  }
  assert.equal(seller([], 'example.com'), undefined)
})
