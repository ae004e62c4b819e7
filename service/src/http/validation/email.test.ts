import assert from 'node:assert/strict'
import { test } from 'node:test'

import { emailReader, errorInEmail } from './email.ts'
import { Refusal } from './refusal.ts'

test('an address that can receive mail from the internet is passed on unchanged', () => {
  const addresses = [
    'ada@example.com',
    ' Ada@Example.COM ',
    "a.b+c_d!#$%&'*/=?^`{|}~-@d-e.example.org",
    'Ada <ada@example.com>',
    'Ada Lovelace <ada@example.com> ',
    '"Lovelace, Ada" <ada@example.com>',
    '<ada@example.com>',
    'ádá@example.com',
    '例@例え.jp',
    'ada@exämple.com',
    'ada@faß.de',
    'ada@xn--exmple-cua.com',
    'ada@example。com',
    'ada@EXAMPLE．com',
    `${'a'.repeat(242)}@example.com`,
  ]
  for (const address of addresses) assert.equal(emailReader(address), address)
})

test('any other address is refused with a reason', () => {
  const bracketed = 'A bracketed IP address after the @-sign is not allowed here.'
  const quoted = 'Quoting the part before the @-sign is not allowed here.'
  const hyphens = 'An email address cannot have a period and a hyphen next to each other.'
  const special =
    'The part after the @-sign is a special-use or reserved name that cannot be used with email.'
  const errors: [address: string, reason: string][] = [
    ['', 'An email address must have an @-sign.'],
    [
      'ada＠example.com',
      'The email address has the "full-width" at-sign (@) character instead of a regular at-sign.',
    ],
    [
      'ada﹫example.com',
      'The email address has the "small commercial at" character instead of a regular at-sign.',
    ],
    ['@example.com', 'There must be something before the @-sign.'],
    ['.ada@example.com', 'An email address cannot start with a period.'],
    ['a b@example.com', 'The email address contains invalid characters before the @-sign: SPACE.'],
    ['a\u200db@example.com', 'The email address contains unsafe characters: U+200D.'],
    ['\u0301a@example.com', 'The email address contains unsafe characters: U+0301.'],
    [
      'a\u037eb@example.com',
      "After Unicode normalization: The email address contains invalid characters before the @-sign: ';'.",
    ],
    ['"ada"@example.com', quoted],
    ['"a@b"@example.com', quoted],
    ['"a\\"@b"@example.com', quoted],
    ['ada@[127.0.0.1]', bracketed],
    ['ada@[IPv6:::1]', bracketed],
    ['ada@exa_mple.com', "The part after the @-sign contains invalid characters: '_'."],
    ['ada@exa\u00admple.com', 'The email address contains unsafe characters: U+00AD.'],
    ['ada@℀.com', "The part after the @-sign contains invalid characters after Unicode normalization: '/'."],
    ['ada@.example.com', 'An email address cannot have a period immediately after the @-sign.'],
    ['ada@-example.com', 'An email address cannot have a hyphen immediately after the @-sign.'],
    ['ada@example.com-', 'An email address cannot end with a hyphen.'],
    ['ada@example-.com', hyphens],
    ['ada@example.-com', hyphens],
    [
      'ada@ab--cd.com',
      'An email address cannot have two letters followed by two dashes immediately after the @-sign or after a period, except Punycode.',
    ],
    ['ada@☃.com', notLabel('☃')],
    ['ada@xn--n3h.com', notIdna('xn--n3h')],
    ['ada@xn--zz.com', notIdna('xn--zz')],
    ['ada@a·b.com', notLabel('a·b')],
    [
      'ada@example.c0m1',
      'The part after the @-sign is not valid. It is not within a valid top-level domain.',
    ],
    ['ada@127.0.0.1', 'The part after the @-sign is not valid. It is not within a valid top-level domain.'],
    ['ada@mail.localhost', special],
    ['ada@Example.LOCAL', special],
    ['ada@1.in-addr.arpa', special],
    [
      `ada@${'a'.repeat(64)}.com`,
      'After the @-sign, periods cannot be separated by so many characters (1 character too many).',
    ],
    [`ada@${'a.'.repeat(126)}com`, 'The email address is too long after the @-sign (2 characters too many).'],
    [`${'a'.repeat(243)}@example.com`, 'The email address is too long (1 character too many).'],
    [`${'é'.repeat(122)}@example.com`, 'The email address is too long (2 characters too many).'],
    ['a'.repeat(2049), 'Length must not exceed 2048 characters'],
    [
      'Ada <b <ada@example.com>>',
      'A display name and angle brackets around the email address are not permitted here.',
    ],
  ]
  for (const [address, reason] of errors) assert.equal(errorInEmail(address), reason, address)
})

const notIdna = (label: string) => `The part after the @-sign is not valid IDNA ('${label}').`
const notLabel = (label: string) => `The part after the @-sign is invalid ('${label}').`

test('a refused address is a value error with its reason', () => {
  const refusal = emailReader('ada')
  assert.ok(refusal instanceof Refusal)
  const reason = 'An email address must have an @-sign.'
  const msg = `value is not a valid email address: ${reason}`
  assert.deepEqual(refusal.items, [{ type: 'value_error', loc: [], msg, input: 'ada', ctx: { reason } }])
})

test('refusing a text never takes long', () => {
  const texts = [
    '"'.repeat(2048),
    '"<'.repeat(1024),
    'a '.repeat(1024),
    '<'.repeat(2048),
    '·'.repeat(2040) + '@é.com',
  ]
  const startMs = performance.now()
  for (const text of texts) assert.notEqual(errorInEmail(text), undefined)
  assert.ok(performance.now() - startMs < 1000)
})
