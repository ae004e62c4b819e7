import assert from 'node:assert/strict'
import { test } from 'node:test'

import { harmless, harmlessJson, harmlessLines } from './harmless.ts'

const texts: readonly (readonly [what: string, text: string, shown: string])[] = [
  ['an escape sequence', '\u001b[2Jgone', '\\u001b[2Jgone'],
  ['a control sequence of eight bits', '\u009b31mred', '\\u009b31mred'],
  ['a bell and a backspace', 'a\u0007\bb', 'a\\u0007\\u0008b'],
  ['ends of lines and tabs', 'one\r\ntwo\tthree', 'one\\r\\ntwo\\tthree'],
  ['a mark that turns the direction', 'abc\u202egpj.exe', 'abc\\u202egpj.exe'],
  ['an isolate', '\u2066a\u2069', '\\u2066a\\u2069'],
  ['a zero-width space and a byte order mark', 'pay\u200bpal\ufeff', 'pay\\u200bpal\\ufeff'],
  ['a line separator', 'a\u2028b', 'a\\u2028b'],
  ['a tag that nobody sees', 'a\u{e0041}b', 'a\\u{e0041}b'],
  ['half a character', 'a\ud800b', 'a\\ud800b'],
  ['delete', 'a\u007fb', 'a\\u007fb'],
]
for (const [what, text, shown] of texts) {
  test(`${what} in a name is escaped`, () => {
    assert.equal(harmless(text), shown)
  })
}

test('Text in any language, and emoji, are shown unchanged', () => {
  for (const text of ['Ærøskøbing', '研究機器人', 'می‌خواهم', 'क्‍ष', '👩‍🔬', 'a b', 'naïve – “so”']) {
    assert.equal(harmless(text), text)
  }
})

test('Multi-line text keeps only line ends and tabs', () => {
  assert.equal(harmlessLines('a\n\tb\r\u001b[0m'), 'a\n\tb\\r\\u001b[0m')
})

test('Escaped JSON parses to the same document', () => {
  const value = {
    [`k\u001b\u{e0041}`]: texts.map(([, text]) => text),
    n: [1, null, true],
    nested: { a: '\u0085' },
  }
  for (const indent of [undefined, 2]) {
    const text = harmlessJson(value, indent)
    assert.deepEqual(JSON.parse(text), value)
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u)
  }
})
