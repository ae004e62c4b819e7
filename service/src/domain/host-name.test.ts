import assert from 'node:assert/strict'
import { test } from 'node:test'

import { isWithinDomain, normalizeHostName } from './host-name.ts'

const oneName: readonly (readonly [name: string, ...others: string[]])[] = [
  [
    'api.example.com',
    'API.Example.COM',
    'api.example.com.',
    'API.EXAMPLE.COM.',
    'ａｐｉ．ｅｘａｍｐｌｅ．ｃｏｍ',
  ],
  ['example.com', 'example.com。', 'ex­ample.com', 'EXAMPLE。com.'],
  ['xn--bcher-kva.example', 'bücher.example', 'BÜCHER.Example', 'bücher.example.', 'XN--BCHER-KVA.example'],
  ['xn--fa-hia.de', 'faß.de'],
  ['xn--n3h.example', '☃.example'],
  ['localhost', 'LOCALHOST', 'localhost.'],
  ['my_host.example', 'My_Host.example'],
  ['127.0.0.1', '127.0.0.1.'],
  ['[::1]', '[::1]'],
]
for (const [name, ...others] of oneName) {
  const spellings = [name, ...others].join(' = ')
  test(`${spellings}: host names are compared as lower-case ASCII without a trailing dot`, () => {
    for (const text of [name, ...others]) assert.equal(normalizeHostName(text), name)
  })
}

const differentNames: readonly (readonly [string, string])[] = [
  ['example.com', 'api.example.com'],
  ['example.com', 'examp1e.com'],
  ['example.com', 'ехample.com'],
  ['fass.de', 'faß.de'],
  ['example.com', 'example.com..'],
  ['example.com', '.example.com'],
]
for (const [left, right] of differentNames) {
  test(`${left} and ${right} are different sellers`, () => {
    assert.notEqual(normalizeHostName(left), normalizeHostName(right))
  })
}

const noNames = [
  '',
  '.',
  '..',
  'a b',
  'example.com:443',
  'example.com/path',
  'example.com?query',
  'example.com#part',
  'example.com\\path',
  'user@example.com',
  'https://example.com',
  'exa%6dple.com',
  'exam\tple.com',
  'example.com\n',
  ' example.com',
  '*.example.com',
  'xn--a',
  'xn--\u{1f600}',
  'a'.repeat(300),
  // IDNA takes quadratic time in the length of a label
  `${'ä'.repeat(64)}.example`,
  `${'ä'.repeat(64)}。example`,
  `xn--${'a'.repeat(60)}.example`,
  `${'ä.'.repeat(126)}de`,
  '\ud800',
]
for (const text of noNames) {
  test(`${JSON.stringify(text.slice(0, 40))} is not a host name and equals only itself`, () => {
    assert.equal(normalizeHostName(text), text)
    assert.equal(normalizeHostName(text.toUpperCase()), text.toLowerCase())
  })
}

test('A label may have 63 characters', () => {
  assert.match(normalizeHostName(`Ä${'a'.repeat(62)}.example`), /^xn--a{62}-[a-z0-9]+\.example$/)
})

test('Normalizing a name twice changes nothing', () => {
  for (const text of [...oneName.flat(), ...noNames]) {
    const once = normalizeHostName(text)
    assert.equal(normalizeHostName(once), once)
  }
})

const addresses: readonly (readonly [url: string, domain: string, isWithin: boolean])[] = [
  ['https://example.com/data', 'example.com', true],
  ['https://api.example.com/data', 'example.com', true],
  ['https://a.b.example.com/data', 'example.com', true],
  ['https://EXAMPLE.com:8443/data', 'example.com', true],
  ['https://example.com./data', 'example.com', true],
  ['https://bücher.example/', 'xn--bcher-kva.example', true],
  ['http://user:secret@example.com/', 'example.com', true],
  ['https://example.com/data', 'api.example.com', false],
  ['https://evil-example.com/data', 'example.com', false],
  ['https://example.com.evil.org/', 'example.com', false],
  ['https://evil.org/example.com', 'example.com', false],
  ['https://evil.org/?example.com', 'example.com', false],
  ['https://evil.org#.example.com', 'example.com', false],
  ['https://example.com@evil.org/', 'example.com', false],
  ['https://evil.org\\.example.com/', 'example.com', false],
  ['https://example.com/', 'com', false],
  ['https://com/', 'com', true],
  ['https://api.localhost/', 'localhost', false],
  ['http://10.0.0.1/', '10.0.0.1', true],
  ['http://10.0.0.1/', '0.0.1', false],
  ['http://10.0.0.1/', '0.1', false],
  ['http://[::1]/', '[::1]', true],
  ['https://shop.xn--p1ai/', 'xn--p1ai', false],
  ['https://api.shop.xn--p1ai/', 'shop.xn--p1ai', true],
  ['https://shop.co.uk/', 'co.uk', false],
  ['https://api.shop.co.uk/', 'shop.co.uk', true],
  ['https://co.uk/', 'co.uk', true],
  ['https://shop.github.io/', 'github.io', false],
  ['https://api.shop.github.io/', 'shop.github.io', true],
  ['https://shop.xn--55qx5d.cn/', 'xn--55qx5d.cn', false],
  ['https://a.b.kawasaki.jp/', 'b.kawasaki.jp', false],
  ['https://api.shop.internal/', 'shop.internal', true],
  ['https://example.com/', '', false],
  ['https://example.com/', '.', false],
  ['example.com/data', 'example.com', false],
  ['', 'example.com', false],
]
for (const [url, domain, isWithin] of addresses) {
  test(`${url} is ${isWithin ? '' : 'not '}served by ${domain || 'an empty domain'}`, () => {
    assert.equal(isWithinDomain(url, domain), isWithin)
  })
}
