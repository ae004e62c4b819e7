import assert from 'node:assert/strict'
import { test } from 'node:test'

import { seededRandom } from '../../testing/seeded-random.ts'
import { canonicalJson } from './canonical-json.ts'

test("RFC 8785's sample object becomes the text in the RFC", () => {
  const sample = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`
  assert.equal(
    canonicalJson(JSON.parse(sample)),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )
})

test('Keys are ordered by UTF-16 code units, not by code points', () => {
  const sample = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }
  const order = [...(canonicalJson(sample) ?? '').matchAll(/:"([^"]+)"/g)].map(([, name]) => name)
  assert.deepEqual(order, [
    'Carriage Return',
    'One',
    'Control',
    'Latin Small Letter O With Diaeresis',
    'Euro Sign',
    'Emoji: Grinning Face',
    'Hebrew Letter Dalet With Dagesh',
  ])
})

test('Keys that look like numbers are sorted as text, at every depth', () => {
  assert.equal(
    canonicalJson({ 10: 0, 9: 0, a: { b: 1, 2: 0, 10: 0 } }),
    '{"10":0,"9":0,"a":{"10":0,"2":0,"b":1}}',
  )
})

/** Appendix B of RFC 8785: the bits of a double, and how it is printed. */
const numbers: readonly (readonly [bits: string, text: string | undefined])[] = [
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['7fffffffffffffff', undefined],
  ['7ff0000000000000', undefined],
  ['fff0000000000000', undefined],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555554', '333333333.33333325'],
  ['41b3de4355555555', '333333333.3333333'],
  ['41b3de4355555556', '333333333.3333334'],
  ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
]
for (const [bits, text] of numbers) {
  const outcome = text === undefined ? 'not representable in JSON' : 'printed as ' + text
  test(`The number ${bits} is ${outcome}`, () => {
    const value = Buffer.from(bits, 'hex').readDoubleBE()
    assert.equal(canonicalJson(value), text)
    assert.equal(canonicalJson({ a: [value] }), text === undefined ? undefined : `{"a":[${text}]}`)
  })
}

const strings: readonly (readonly [value: string, text: string])[] = [
  ['', '""'],
  ['\b\t\n\f\r', '"\\b\\t\\n\\f\\r"'],
  ['\u0000\u001f', '"\\u0000\\u001f"'],
  ['\u007f\u0080\u2028\u2029', '"\u007f\u0080\u2028\u2029"'],
  ['"\\/', '"\\"\\\\/"'],
  ['é', '"é"'],
  ['e\u0301', '"e\u0301"'],
  ['\ud83d\ude00', '"\ud83d\ude00"'],
  ['\ud800', '"\\ud800"'],
  ['\\ud800', '"\\\\ud800"'],
]
for (const [value, text] of strings) {
  test(`The string ${JSON.stringify(value)} is escaped only where necessary, and never normalized`, () => {
    assert.equal(canonicalJson(value), text)
    assert.equal(canonicalJson({ [value]: value }), `{${text}:${text}}`)
  })
}

test('A value may be nested 33 levels deep, and no deeper: recursion and cycles are refused', () => {
  assert.equal(canonicalJson(nested(33)), '['.repeat(33) + ']'.repeat(33))
  assert.equal(canonicalJson(nested(34)), undefined)
  assert.equal(canonicalJson(nested(20_000)), undefined)
  assert.equal(canonicalJson({ fine: 1, deep: nested(40) }), undefined)
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  assert.equal(canonicalJson(cycle), undefined)
})

function nested(depth: number): unknown {
  return JSON.parse('['.repeat(depth) + ']'.repeat(depth))
}

test('Values that JSON cannot represent have no canonical text', () => {
  for (const value of [undefined, Number.NaN, 1n, Symbol('a'), () => 0]) {
    assert.equal(canonicalJson(value), undefined)
    assert.equal(canonicalJson([value]), undefined)
    assert.equal(canonicalJson({ a: value }), undefined)
  }
})

test('An own property __proto__ is an ordinary key', () => {
  assert.equal(canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":2}}')), '{"__proto__":{"a":2},"b":1}')
})

test('The text does not depend on the order of keys, and parses back to the value', () => {
  const random = seededRandom(14)
  for (let round = 0; round < 500; round++) {
    const entries = Array.from({ length: random.below(8) }, () => [randomText(), randomValue(0)] as const)
    const value = Object.fromEntries(entries)
    const shuffled = Object.fromEntries(Object.entries(value).toReversed())
    const text = canonicalJson(value)
    assert.equal(canonicalJson(shuffled), text)
    assert.deepEqual(JSON.parse(text ?? ''), value)
  }

  function randomText(): string {
    return String.fromCodePoint(...Array.from({ length: random.below(4) }, () => random.below(0xd800)))
  }

  function randomValue(depth: number): unknown {
    switch (random.below(depth > 3 ? 4 : 6)) {
      case 0:
        return null
      case 1:
        return random.below(2) === 1
      case 2:
        return random.below(1_000_000) / 10 ** random.below(9)
      case 3:
        return randomText()
      case 4:
        return Array.from({ length: random.below(4) }, () => randomValue(depth + 1))
      default:
        return { [randomText()]: randomValue(depth + 1), [randomText()]: randomValue(depth + 1) }
    }
  }
})
