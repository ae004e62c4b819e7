import assert from 'node:assert/strict'
import { test } from 'node:test'

import { bytesInWords, counted, durationInWords } from './counts.ts'
import { isSameWord, isTypedEasily } from './names.ts'
import { denialWords, reasonInWords } from './reasons.ts'
import { clockMinute, clockTime, distance, timeZoneInWords } from './times.ts'

test('A count has its noun, singular or plural', () => {
  assert.deepEqual(
    [0, 1, 1200].map((count) => counted(count, 'payment')),
    ['0 payments', '1 payment', '1,200 payments'],
  )
})

test('A name has to be typed to confirm only if a keyboard can type it as shown', () => {
  const rows: [string, boolean][] = [
    ['research-bot', true],
    ['Größe und Maß 2', true],
    ['', false],
    [' outer ', false],
    ['two  spaces', false],
    ['two\nlines', false],
    ['x'.repeat(41), false],
  ]
  for (const [name, isEasy] of rows) assert.equal(isTypedEasily(name), isEasy, name)
})

test('Sizes and durations are shown in readable units', () => {
  assert.deepEqual([0, 1023, 1024, 12_990_000, 5e12].map(bytesInWords), [
    '0 B',
    '1023 B',
    '1.0 KiB',
    '12.4 MiB',
    '4.5 TiB',
  ])
  assert.deepEqual([0, 59, 61, 90_000].map(durationInWords), ['0 s', '59 s', '1 min 1 s', '1 d 1 h'])
})

test('A time is shown relative to now, and text that is not a time unchanged', () => {
  const nowMs = Date.UTC(2026, 10, 20, 12)
  const rows: [string, string][] = [
    ['2026-11-20T11:59:58Z', 'just now'],
    ['2026-11-20T12:00:30Z', 'in a moment'],
    ['2026-11-20T11:50:00Z', '10 minutes ago'],
    ['2026-11-20T15:00:00Z', 'in 3 hours'],
    ['2026-11-19T12:00:00Z', 'yesterday'],
    ['2099-01-01T00:00:00Z', 'in 72 years'],
    ['soon', 'soon'],
  ]
  for (const [at, words] of rows) assert.equal(distance(at, nowMs), words, at)
})

test('Months are shown by name, and times without their time zone, which is shown once', () => {
  assert.match(clockTime('2026-11-03T12:00:05Z'), /^[234] Nov 2026, [0-9]{2}:[0-9]{2}:05$/)
  assert.match(timeZoneInWords(Date.UTC(2026, 10, 3)), /^\S+( \([\w+:−-]+\))?$/)
  assert.match(clockMinute('2026-11-03T12:00:05Z'), /^[234] Nov 2026, [0-9]{2}:[0-9]{2}$/)
  assert.deepEqual([clockTime('soon'), clockMinute('soon')], ['soon', 'soon'])
})

test('Every denial code has a text, and an unknown code stays readable', () => {
  for (const [code, words] of Object.entries(denialWords)) assert.equal(reasonInWords(code), words)
  assert.equal(reasonInWords('new_reason'), 'new reason')
  assert.equal(reasonInWords(null), '')
})

test('A confirmation word is accepted as phones type it, and no other word is', () => {
  const rows: [string, string, boolean][] = [
    ['stop', 'stop', true],
    ['Stop', 'stop', true],
    ['STOP ', 'stop', true],
    ['Research-bot', 'research-bot', true],
    ['research\u2010bot', 'research-bot', true],
    ['ada\u2019s bot', "Ada's bot", true],
    ['stop it', 'stop', false],
    ['sto', 'stop', false],
    ['', 'stop', false],
  ]
  for (const [typed, word, isSame] of rows) assert.equal(isSameWord(typed, word), isSame, typed)
})
