import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'

import { approvalStatuses } from '@purser/wire/approvals'
import { auditEventTypes } from '@purser/wire/audit-log'
import { roles } from '@purser/wire/roles'
import { environments } from '@purser/wire/fields'
import { transactionStatuses } from '@purser/wire/transactions'

import { testCommand } from '../testing/command.ts'
import { pathOf, withAllBelow } from './command-tree.ts'
import { createProgram } from './program.ts'
import type { Io } from './io.ts'
import * as vocabularies from './vocabularies.ts'

const program = await createProgram(['--help'], { columns: 80 } as Io)
const leaves = withAllBelow(program).filter(({ commands }) => commands.length === 0)

test('purser --help lists every command by its full name, and the exit codes', async (context) => {
  const { purser } = testCommand(context)
  const listed = await purser('--help')
  assert.deepEqual([listed.code, listed.errors], [0, ''])
  assert.ok(leaves.length > 25)
  for (const leaf of leaves) {
    assert.match(listed.output, new RegExp(`^  ${pathOf(leaf).join(' ')} +\\w`, 'm'))
  }
  assert.match(listed.output, /^Exit codes:\n {2}0 +success$/m)
  assert.deepEqual(await purser('-h'), listed)
  const called = await purser()
  assert.deepEqual([called.code, called.output, called.errors], [2, '', listed.output])
})

for (const leaf of leaves) {
  const words = pathOf(leaf)
  test(`Every command has a summary and --json: purser ${words.join(' ')}`, async (context) => {
    const { code, output, errors } = await testCommand(context).purser(...words, '--help')
    assert.deepEqual([code, errors], [0, ''])
    assert.match(output, new RegExp(`^Usage: purser ${words.join(' ')}`))
    assert.match(leaf.summary(), /^[a-z].*[^.]$/, 'a line of the list')
    const hasJson = leaf.options.some(({ long }) => long === '--json')
    // The service and shell scripts have no single answer.
    assert.equal(hasJson, !['serve', 'completion'].includes(leaf.name()))
  })
}

for (const leaf of leaves) {
  if (leaf.registeredArguments.some(({ variadic }) => variadic)) continue
  const words = [...pathOf(leaf), ...leaf.registeredArguments.map(() => 'word')]
  test(`An extra arg is reported, with a correct call: purser ${words.join(' ')} too-many`, async (context) => {
    const { code, output, errors } = await testCommand(context).purser(...words, 'too-many')
    assert.deepEqual([code, output], [2, ''])
    const said = `Unexpected argument "too-many". Use: purser ${words.join(' ')}`
    const [first = ''] = errors.split('\n')
    assert.equal(first.slice(0, said.length), said)
    for (const { mandatory, long } of leaf.options)
      if (mandatory) assert.ok(first.includes(` ${long} `), first)
  })
}

const wrongCalls: readonly (readonly [words: string, error: RegExp])[] = [
  ['fly', /^purser has no command "fly"\.\n/],
  ['stop', /^purser has no command "stop"\.\n\npurser --help/],
  ['agent', /^purser has no command "agent"\.\n\(Did you mean agents\?\)/],
  ['refund', /^purser has no command "refund"\.\n\(Did you mean transactions refund\?\)/],
  ['agents', /^Usage: purser agents <command> \[options\]\n/],
  [
    'agents lst',
    /^purser has no command "agents lst"\.\n\(Did you mean list\?\)\n\npurser agents --help shows its usage\.$/,
  ],
  ['agents list --jsno', /^Unknown option '--jsno'\n\(Did you mean --json\?\)/],
  ['agents show', /^<agent-id> is missing\n\npurser agents show --help shows its usage\.$/],
  ['agents create', /^--name is missing\n/],
  ['agents create --nmae bot', /^Unknown option '--nmae', and --name is missing\n/],
  [
    'agents create research-bot',
    /^Unexpected argument "research-bot"\. Use: purser agents create --name research-bot\n\npurser agents create --help/,
  ],
  [
    'agents create --name research bot 2 --json',
    /^Unexpected arguments "bot" "2"\. Use: purser agents create --name <name>; quote values with spaces\n/,
  ],
  [
    'mandates create 100.00 --agent a --purpose p --per-payment 1.00 --expires 30d',
    /^Unexpected argument "100\.00"\. Use: purser mandates create --agent <agent-id> --purpose <text> --total 100\.00 --per-payment <amount> --expires <when>\n/,
  ],
  ['agents list --limit 5 x', /^Unexpected argument "x"\. Use: purser agents list; quote/],
  ['agents list -- -x', /^Too many arguments for 'list'\. Expected 0 arguments but got 1: -x\.\n/],
  ['serve 9000', /^Unexpected argument "9000"\. Use: purser serve\n/],
  [
    'agents list --limit 0',
    /^Option '--limit <count>' argument '0' is invalid\. It must be a whole number from 1/,
  ],
  [
    'transactions list --status lost',
    /^Option '--status .* Allowed choices are pending, approved, denied, paid, refunded\./,
  ],
  ['keys create --role agent', /^--role agent needs --agent, the agent of the key\n/],
  [
    'mandates create --expires tomorrow',
    /^Option '--expires <when>' argument 'tomorrow' is invalid\. It must be a time/,
  ],
  [
    'evaluate --amount 1,50',
    /^Option '--amount <amount>' argument '1,50' is invalid\. It must be an amount in USDC with at most 6 decimals, such as 5\.00\.\n/,
  ],
  ['mandates create --total $100', /It must be an amount in USDC/],
  ['mandates create --expires 2099-01-01T00:00:00', /It must be a time with a time zone/],
  ['sellers create --prices [1]', /It must be a JSON object, such as/],
  ['transactions list --interval 0', /It must be a number of seconds from 0\.2 to 3600/],
  ['completion csh', /Allowed choices are bash, zsh, fish/],
]
for (const [words, error] of wrongCalls) {
  test(`Wrong usage is reported on standard error, with exit code 2: purser ${words}`, async (context) => {
    const { code, output, errors } = await testCommand(context).purser(...words.split(' '))
    assert.deepEqual([code, output], [2, ''])
    assert.match(errors, error)
  })
}

test('Control characters in a wrong arg are escaped', async (context) => {
  const { errors } = await testCommand(context).purser('agents', '\u001b[2J')
  assert.match(errors, /^purser has no command "agents \\u001b\[2J"\./)
  assert.match((await testCommand(context).purser('agents', 'list', '--\u001b[2J')).errors, /'--\\u001b\[2J'/)
})

test('A file that the operating system refuses is named, without a stack trace', async (context) => {
  const { folder, purser } = testCommand(context)
  const database = `sqlite:${join(folder, 'purser.db')}`
  const { code, output, errors } = await purser('backup', `${'x'.repeat(300)}.db`, '--database', database)
  assert.deepEqual([code, output], [1, ''])
  assert.match(errors, /^purser backup: the operating system refused it \(ENAMETOOLONG: .*x\.db'\)\.$/)
})

test('purser --version prints the release and the commit', async (context) => {
  const { code, output } = await testCommand(context).purser('--version')
  assert.equal(code, 0)
  assert.match(output, /^\d+\.\d+\.\d+ \([0-9a-f]{12}\)$/)
})

test('The choices of options are the vocabularies of the interface', () => {
  assert.deepEqual(
    { ...vocabularies },
    { approvalStatuses, auditEventTypes, environments, roles, transactionStatuses },
  )
})
