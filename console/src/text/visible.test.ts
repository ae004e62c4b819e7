import assert from 'node:assert/strict'
import { test } from 'node:test'

import { visibleAnswer } from './visible.ts'

test('Only texts that cannot be seen, or could be misread, change in an answer', async () => {
  for (const [text, shown] of [
    ['', ''],
    ['a b', 'a b'],
    [' a ', ' a '],
    ['say "  ", twice:"  "', 'say "  ", twice:"  "'],
    ['\\', '\\'],
    ['👩\u200D🚀', '👩\u200D🚀'],
    ['نمی\u200Cخواهم', 'نمی\u200Cخواهم'],
    ['bob \u202Eevil', 'bob [U+202E]evil'],
    ['\u200B', '[U+200B]'],
    [' \n\t', '[U+0020][U+000A][U+0009]'],
    ['\u{E0041}\u3164', '[U+E0041][U+3164]'],
  ] as const) {
    const answer = await visibleAnswer(
      Response.json({ name: text, ' ': 1, list: ['x', text], ends: `${text},` }),
    )
    assert.deepEqual(await answer.json(), {
      name: shown,
      ' ': 1,
      list: ['x', shown],
      ends: `${textIn(text)},`,
    })
  }
})

/** Texts that can be seen keep what is invisible in them, except what reorders. */
function textIn(text: string): string {
  return text.replace('\u202E', '[U+202E]')
}
