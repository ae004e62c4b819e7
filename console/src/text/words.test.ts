import assert from 'node:assert/strict'
import { test } from 'node:test'

import { bytesInWords, counted, durationInWords } from './counts.ts'
import { isSameWord, isTypedEasily } from './names.ts'
import { denialWords, reasonInWords } from './reasons.ts'
import { clockMinute, clockTime, distance, timeZoneInWords } from './times.ts'

test('A count has its noun, in the right number', () => {
  assert.deepEqual(
    [0, 1, 1200].map((count) => counted(count, 'payment')),
    ['0 payments', '1 payment', '1,200 payments'],
  )
})

test('A name is asked for only where it can be typed as it reads', () => {
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

test('Sizes and durations have the units of a person', () => {
  assert.deepEqual([0, 1023, 1024, 12_990_000, 5e12].map(bytesInWords), [
    '0 B',
    '1023 B',
    '1.0 KiB',
    '12.4 MiB',
    '4.5 TiB',
  ])
  assert.deepEqual([0, 59, 61, 90_000].map(durationInWords), ['0 s', '59 s', '1 min 1 s', '1 d 1 h'])
})

test('A moment is told by its distance, and what is no moment as it is', () => {
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

test('The month of a moment has its name; its zone is named once for all', () => {
  assert.match(clockTime('2026-11-03T12:00:05Z'), /^[234] Nov 2026, [0-9]{2}:[0-9]{2}:05$/)
  assert.match(timeZoneInWords(Date.UTC(2026, 10, 3)), /^\S+( \([\w+:−-]+\))?$/)
  assert.match(clockMinute('2026-11-03T12:00:05Z'), /^[234] Nov 2026, [0-9]{2}:[0-9]{2}$/)
  assert.deepEqual([clockTime('soon'), clockMinute('soon')], ['soon', 'soon'])
})

test('Every denial code has its words, and one that is not known stays readable', () => {
  for (const [code, words] of Object.entries(denialWords)) assert.equal(reasonInWords(code), words)
  assert.equal(reasonInWords('new_reason'), 'new reason')
  assert.equal(reasonInWords(null), '')
})

test('A word that confirms is recognised as a phone types it, and no other word is', () => {
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
