import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Refusal } from './refusal.ts'
import { urlReader } from './url.ts'

const read = urlReader(2083)

test('an http or https URL is passed on unchanged', () => {
  const addresses = [
    'https://api.example.com/data',
    'HTTP://EXAMPLE.COM',
    'http:example.com',
    'https:/example.com',
    'https:\\\\example.com',
    '\t https://example.com \n',
    'ht\ntps://example.com',
    'https://user:secret@example.com:8443/?q=1#part',
    'http://localhost:3000',
    'http://127.0.0.1',
    'http://[::1]:8080/',
    'https://☃.com/',
    'https://xn--n3h.com/',
    'https://example.com/a b',
  ]
  for (const address of addresses) assert.equal(read(address), address)
})

test('any other text is refused with a reason', () => {
  const errors: [address: unknown, type: string, error?: string][] = [
    [1, 'url_type'],
    ['', 'url_parsing', 'input is empty'],
    ['example.com', 'url_parsing', 'relative URL without a base'],
    ['1http://example.com', 'url_parsing', 'relative URL without a base'],
    ['http://', 'url_parsing', 'empty host'],
    ['http://user@/x', 'url_parsing', 'empty host'],
    ['http://:80/', 'url_parsing', 'empty host'],
    ['http://example.com:65536', 'url_parsing', 'invalid port number'],
    ['http://example.com:http', 'url_parsing', 'invalid port number'],
    ['http://[::1', 'url_parsing', 'invalid IPv6 address'],
    ['http://[::g]/', 'url_parsing', 'invalid IPv6 address'],
    ['http://1.2.3.256', 'url_parsing', 'invalid IPv4 address'],
    ['http://exa mple.com', 'url_parsing', 'invalid international domain name'],
    ['http://xn--a/', 'url_parsing', 'invalid international domain name'],
    ['foo://exa mple', 'url_parsing', 'invalid domain character'],
    ['ftp://example.com', 'url_scheme'],
    ['httpx://example.com', 'url_scheme'],
    ['javascript:alert(1)', 'url_scheme'],
    ['foo://xn--a/', 'url_scheme'],
  ]
  for (const [address, type, error] of errors) {
    const refusal = read(address)
    assert.ok(refusal instanceof Refusal, String(address))
    const [item] = refusal.items
    assert.equal(item?.type, type, String(address))
    if (error !== undefined) assert.deepEqual(item?.ctx, { error }, String(address))
  }
})

test('the length of a URL counts the bytes of the original text', () => {
  const start = 'https://example.com/'
  assert.equal(typeof read(start.padEnd(2083, 'a')), 'string')
  assert.equal(typeof read(`${start}${'é'.repeat((2083 - 21) / 2)}`), 'string')
  for (const long of [start.padEnd(2084, 'a'), start.padEnd(2084), `${start}${'é'.repeat(1032)}`]) {
    const refusal = read(long)
    assert.ok(refusal instanceof Refusal)
    assert.equal(refusal.items[0]?.type, 'url_too_long')
    assert.equal(refusal.items[0]?.msg, 'URL should have at most 2083 characters')
  }
})
