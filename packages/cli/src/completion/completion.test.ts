import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'

import { auditEventTypes } from '@purser/wire/audit-log'
import { transactionStatuses } from '@purser/wire/transactions'

import { compileCache } from '../../../../service/testing/compile-cache.ts'
import { testCommand } from '../../testing/command.ts'

const run = promisify(execFile)
const { folder, purser } = testCommand({ after })
writeFileSync(join(folder, 'goods of today.json'), '')

/** Asks a shell for completions of the words; the last one is incomplete. */
interface Shell {
  readonly name: 'bash' | 'zsh' | 'fish'
  readonly program: (script: string) => string
}

const shells: readonly Shell[] = [
  {
    name: 'bash',
    program: (script) => `
source ${script}
[[ $(complete -p purser) == 'complete -F _purser purser' ]] || exit 9
COMP_WORDS=(purser "$@"); COMP_CWORD=$#
_purser
printf '%s\\n' "\${COMPREPLY[@]}"`,
  },
  {
    name: 'zsh',
    // zsh's own completion functions are replaced by ones that print their candidates, filtered by the last
    // word.
    program: (script) => `
begun=$argv[-1]
tell() { print -l -- \${(M)@:#\${begun}*} }
compdef() { }
_describe() { local list=$@[-1]; tell \${\${(P)list}%%:*} }
compadd() { shift; tell $@ }
_files() { tell *(N) }
source ${script}
words=(purser "$@"); CURRENT=$#words
_purser`,
  },
  {
    name: 'fish',
    program: (script) => `
source ${script}
complete --do-complete="purser $(string join ' ' -- $argv)" | string replace --regex '\\t.*' ''
true`,
  },
]

const everyStatus = transactionStatuses.join(' ')
const cases: readonly (readonly [words: string, offered: string | readonly string[]])[] = [
  ['agen', 'agents'],
  ['agents ', 'budget create list revoke show'],
  ['agents cr', 'create'],
  ['migrate ', 'copy status up'],
  ['mandates create --per', '--per-payment'],
  ['transactions list --status ', everyStatus],
  ['transactions list --limit 5 --status pa', 'paid'],
  ['audit --type mandate.', auditEventTypes.filter((type) => type.startsWith('mandate.')).join(' ')],
  ['agents list --limit ', ''],
  ['completion ', 'bash fish zsh'],
  ['pay http://a --output goo', ['goods of today.json']],
  ['profile remove --', '--help --json'],
]

for (const { name, program } of shells) {
  const isThere = hasProgram(name)
  for (const [words, offered] of cases) {
    const title = `${name} completes: purser ${words}`
    test(title, { skip: !isThere && `${name} is not installed` }, async () => {
      assert.deepEqual(await complete(name, program, words), wordsOf(offered))
    })
  }

  test(`The script for ${name} says where to put it, and knows every command`, async () => {
    const { code, output } = await purser('completion', name)
    assert.equal(code, 0)
    assert.match(output, new RegExp(`^(#compdef purser\n)?# purser completion ${name}: save it`))
    for (const command of ['serve', 'ledger check', 'doctor', 'pay', 'profile use']) {
      assert.ok(output.includes(`' ${command}'`), command)
    }
  })
}

function wordsOf(offered: string | readonly string[]): readonly string[] {
  return typeof offered === 'string' ? offered.split(' ').filter(Boolean).sort() : offered
}

async function complete(
  name: Shell['name'],
  program: Shell['program'],
  words: string,
): Promise<readonly string[]> {
  const script = join(folder, `purser.${name}`)
  writeFileSync(script, `${(await purser('completion', name)).output}\n`)
  const flags = name === 'bash' ? ['--norc', '-c'] : name === 'zsh' ? ['-f', '-c'] : ['--no-config', '-c']
  const self = name === 'fish' ? [] : [name]
  const { stdout } = await run(name, [...flags, program(script), ...self, ...words.split(' ')], {
    cwd: folder,
    timeout: 20_000,
    env: { PATH: process.env['PATH'], ...compileCache, HOME: folder, LANG: 'C.UTF-8' },
  })
  // Options are offered in addition to words if nothing was typed yet.
  const offered = stdout.split('\n').filter((word) => word !== '')
  return offered
    .filter((word) => words.endsWith('--') || !word.startsWith('-') || words.includes('--p'))
    .sort()
}

function hasProgram(name: string): boolean {
  try {
    execFileSync(name, ['--version'], { stdio: 'ignore', timeout: 20_000 })
    return true
  } catch {
    return false
  }
}
