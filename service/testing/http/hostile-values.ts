import type { SeededRandom } from '../seeded-random.ts'

type List<Item> = readonly [Item, ...Item[]]

const spelled = (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON

/** Texts that have broken services. */
export const hostileTexts: List<string> = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udfff',
  '\u202egnp.exe',
  '\ufeff',
  '\u{1f4b8}'.repeat(500),
  'e\u0301',
  'x'.repeat(300),
  'x'.repeat(3_000),
  "' or 1=1 --",
  '"; drop table agents; --',
  '%00',
  '%',
  '${7*7}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'true',
  'undefined',
  'NaN',
  '*',
  '-1',
  '-0',
  '0',
  '00',
  '0.0000001',
  '0.000001',
  '1e3',
  '1_000',
  '+1',
  '1.',
  '.1',
  '1,0',
  '٣',
  '１.００',
  '999999999999.999999',
  '1000000000000',
  '9'.repeat(5_000),
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00+23:59',
  '9999-12-31T23:59:59.999999999-23:59',
  '2099-02-29T00:00:00Z',
  '2099-01-01T24:00:00Z',
  '2016-12-31T23:59:60Z',
  '+10000-01-01T00:00:00Z',
  '253402300799',
  '253402300800',
  '-62135596800.5',
  '1e20',
  'http://[::1',
  'http://a:99999/',
  'https://xn--/',
  'https://xn--a.example',
  'http://1.2.3.4.5/',
  'https://user:pw@example.com:443/a b?c#d',
  `https://${'a.'.repeat(500)}example`,
  `https://example.com/${'é'.repeat(1_031)}`,
  'javascript:alert(1)',
  'file:///etc/passwd',
  '7F8D1C1E6A1F4D579C1E2F4F1B3A9C55',
  '{7f8d1c1e-6a1f-4d57-9c1e-2f4f1b3a9c55}',
  '"a b"@example.com',
  'a@[127.0.0.1]',
  `a@${'b'.repeat(300)}.com`,
  'USDC ',
  'usdc',
]

/** Unexpected field names, including those with a meaning in JavaScript. */
export const hostileNames: List<string> = [
  '__proto__',
  'constructor',
  'prototype',
  'hasOwnProperty',
  'toString',
  'toJSON',
  'then',
  'length',
  '',
  '0',
  '\0',
  '\ud800',
  'x'.repeat(1_000),
  'id',
  'status',
  'account_id',
  'environment',
  'spent_total',
]

/** An unexpected JSON value. */
export function hostileValue(random: SeededRandom, depth = 0): unknown {
  switch (random.below(depth > 2 ? 4 : 7)) {
    case 0:
    case 1:
      return random.pick(hostileTexts)
    case 2:
      return random.pick(hostileNumbers)
    case 3:
      return random.pick<unknown>([null, true, false, [], {}])
    case 4:
      return Array.from({ length: random.below(6) }, () => hostileValue(random, depth + 1))
    case 5:
      return own({}, random.pick(hostileNames), hostileValue(random, depth + 1))
    default:
      return nested(random.pick([3, 31, 32, 33, 150, 198]))
  }
}

/** Numbers as JSON can spell them, even if a double cannot represent them. */
const hostileNumbers: List<unknown> = [
  0,
  -1,
  0.1,
  2 ** 53,
  ...[
    '-0',
    '1e999',
    '-1e999',
    '1e-999',
    '1e308',
    '12345678901234567890',
    '0.1234567890123456789012345',
    '1E+2',
    '9'.repeat(400),
  ].map(spelled),
]

/** An object with an own field, whatever the name means in JavaScript. */
export function own(target: object, name: string, value: unknown): object {
  return Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}

function nested(depth: number): unknown {
  let value: unknown = 'deep'
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { deep: value }
  return value
}

/** Bodies that are not JSON, or JSON that is expensive to parse. */
export const hostileBodies: List<string | Buffer> = [
  '',
  ' ',
  '{',
  '}',
  '[',
  '"',
  'null',
  'true',
  '0',
  '""',
  '[]',
  '{}',
  '[[]]',
  "{'a':1}",
  '{"a":1,}',
  '{"a":01}',
  '{"a":NaN}',
  '{"a":1}{"b":2}',
  '\ufeff{}',
  '{"a":"\t"}',
  '{"a":"\\x"}',
  '{"a":"\\ud800"}',
  '{"\\ud800":1}',
  '/* */{}',
  'a=1&b=2',
  '<?xml version="1.0"?><a/>',
  '\0',
  '['.repeat(199) + ']'.repeat(199),
  '['.repeat(201) + ']'.repeat(201),
  '['.repeat(30_000),
  '{"a":'.repeat(10_000),
  `{"a":${'9'.repeat(4_300)}}`,
  `{"a":${'9'.repeat(4_301)}}`,
  `{"a":${'9'.repeat(60_000)}}`,
  `"${'x'.repeat(65_534)}"`,
  `"${'x'.repeat(65_535)}"`,
  `{${Array.from({ length: 4_000 }, (_, index) => `"k${index}":${index}`).join(',')}}`,
  '{"__proto__":{"role":"operator"},"constructor":{"prototype":{}}}',
  Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]),
  Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.from([0x1f, 0x8b, 0x08, 0x00]),
  Buffer.from([0x22, 0xc0, 0x80, 0x22]),
]

export const contentTypes: List<string | undefined> = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json; charset=utf-16',
  'APPLICATION/JSON',
  'application/problem+json',
  'application/json;;;=',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain',
  'application/octet-stream',
  'a'.repeat(1_000),
  '/',
  ';',
  '',
  undefined,
]

/** Headers that request something unsupported, or are unusual. */
export const strangeHeaders: List<Readonly<Record<string, string | string[]>>> = [
  { 'idempotency-key': '' },
  { 'idempotency-key': 'again' },
  { 'idempotency-key': 'x'.repeat(255) },
  { 'idempotency-key': 'x'.repeat(256) },
  { 'idempotency-key': '\xff' },
  { 'idempotency-key': ['one', 'two'] },
  { 'x-http-method-override': 'DELETE' },
  { 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.1', 'x-real-ip': '::1' },
  { 'x-forwarded-host': 'evil.example.com', host: 'evil.example.com' },
  { host: '' },
  { accept: 'text/html;q=0, image/*' },
  { 'accept-encoding': 'br, gzip;q=1, *;q=0' },
  { 'content-encoding': 'gzip' },
  { range: 'bytes=0-0', 'if-none-match': '*', 'if-modified-since': 'yesterday' },
  { expect: '100-continue' },
  { te: 'trailers' },
  // Node does not answer a broken request that follows on the same connection, so it is not kept open.
  { upgrade: 'h2c', connection: 'upgrade, close' },
  { connection: 'close' },
  { connection: 'authorization, keep-alive' },
  { cookie: `session=${'x'.repeat(2_000)}` },
  { origin: 'null', referer: 'javascript:alert(1)', 'sec-fetch-mode': 'cors' },
  { __proto__x: 'y', constructor: 'z', 'content-length-x': '-1' },
  { 'x-\x21#$%&': '\t\xe9\xff' },
  { 'x-request-id': '${jndi:ldap://127.0.0.1/a}' },
  Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`x-many-${index}`, 'y'])),
]
