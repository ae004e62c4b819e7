import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { cutLines, nameFaults, namesOfOthers, settingNames, strayLines } from './names.ts'

const projectFolder = join(import.meta.dirname, '../../..')

test(
  'Every variable name in this repository is a setting or a known variable of another part, and each of those is used',
  { skip: !existsSync(join(projectFolder, '.git')) && 'this is not a checkout' },
  () => {
    const found = execFileSync(
      'git',
      ['grep', '-Iohw', 'PURSER_[A-Z0-9_]*[A-Z0-9]', '--', '.', ':!service/src/settings/names.ts'],
      { cwd: projectFolder, encoding: 'utf8', maxBuffer: 2 ** 26 },
    )
    const names = new Set(found.trim().split('\n'))
    assert.ok(names.size > namesOfOthers.length)
    assert.deepEqual(nameFaults([...names]), [])
    assert.deepEqual(
      namesOfOthers.filter((name) => !names.has(name)),
      [],
    )
  },
)

test('Variables of other parts are not settings', () => {
  const settings = settingNames()
  assert.deepEqual(
    namesOfOthers.filter((name) => settings.includes(name)),
    [],
  )
})

// Without their prefix, so that the search above does not find them.
const misspelled: readonly (readonly [written: string, meant: string | undefined])[] = [
  ['DATABSE', 'DATABASE'],
  ['DATABASE_URL', 'DATABASE'],
  ['DATABASE_FILES', 'DATABASE_FILE'],
  ['PORTT', 'PORT'],
  ['PORT_FILE', 'PORT'],
  ['LOGLEVEL', 'LOG_LEVEL'],
  ['COLOUR', undefined],
  ['', undefined],
]
for (const [written, meant] of misspelled) {
  test(`The setting ${written || '(empty)'} is unknown, and ${meant ?? 'no other'} is suggested`, () => {
    const name = `PURSER_${written}`
    const remedy =
      meant === undefined ? 'remove it, or see --help for all settings' : `did you mean PURSER_${meant}?`
    assert.deepEqual(nameFaults([name]), [`${name} is not a setting; ${remedy}`])
  })
}

test('Variables of other programs are ignored', () => {
  assert.deepEqual(
    nameFaults(['PATH', 'DATABASE_URL', 'MY_PURSER_PORTT', 'purser_port', ...namesOfOthers]),
    [],
  )
})

const files: readonly (readonly [what: string, text: string, stray: readonly number[]])[] = [
  ['values, comments and empty lines', '# one\n\n A=1\nexport B = "2" # two\nC=\r\n\r\nd.e-f=`3`\n', []],
  ['a value of several lines', 'A="one\ntwo\nthree"\nB=\'x\ny\'\n', []],
  ['a word', 'A=1\nfoo\nB=2\n', [2]],
  ['a name with a colon', 'PURSER_PORT: 9000\n', [1]],
  ['a name with a word before it', 'set PURSER_PORT=9000\n', [1]],
  ['a quote that is never closed', 'A="one\nfoo\n', [2]],
]
for (const [what, text, stray] of files) {
  test(`Of an .env file with ${what}, the lines ${JSON.stringify(stray)} set nothing`, () => {
    assert.deepEqual(strayLines(text), stray)
  })
}

const values: readonly (readonly [value: string, isCut: boolean])[] = [
  ['abc#def', true],
  ['#abc', true],
  ['a"b#c"', true],
  ['abc # a comment', false],
  [' # only a comment', false],
  ['"abc#def" # quoted', false],
  ["'one\nPURSER_PORT=x#y'", false],
]
for (const [value, isCut] of values) {
  test(`An .env file with the value ${JSON.stringify(value)} ${isCut ? 'loses' : 'keeps'} what follows a #`, () => {
    assert.deepEqual(cutLines(`# A=b#c\n\nexport PURSER_HOST=${value}\nOTHER=x#y\n`), isCut ? [3] : [])
  })
}
