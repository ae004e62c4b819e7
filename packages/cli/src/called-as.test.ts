import assert from 'node:assert/strict'
import { test } from 'node:test'

import { testCommand } from '../testing/command.ts'

const key = 'svc_sand_0123456789abcdefghij'
const nobody = { PURSER_URL: 'http://127.0.0.1:1', PURSER_API_KEY: key }

const advice: readonly (readonly [words: string, environment: Record<string, string>, said: RegExp])[] = [
  ['agents lst', {}, /^npx purser agents --help shows its usage\.$/m],
  ['agents list', {}, /save one with npx purser profile add\.$/],
  ['agents list', { PURSER_SANDBOX_KEY: key }, /save it with npx purser profile add\.$/],
  ['agents list', nobody, /npx purser doctor finds out why\.$/],
  ['agents list --api-key x', {}, /save it with\nnpx purser profile add, which prompts/],
  ['profile list', {}, /npx purser profile add saves one\./],
  [
    'doctor',
    { PURSER_URL: nobody.PURSER_URL },
    /start the service with npx purser serve, .*holds no ledger yet; npx purser serve makes it/s,
  ],
  ['migrate status', {}, /or create an empty one with npx purser migrate up\.$/],
  ['init', {}, / 1\. npx purser serve +.* 4\. npx purser agents create --name research-bot$/s],
]
for (const [words, environment, said] of advice) {
  test(`Suggested commands use the same invocation: ${words}`, async (context) => {
    const { purserWith } = testCommand(context, environment)
    const { output, errors } = await purserWith({ calledAs: 'npx purser' }, ...words.split(' '))
    assert.match(output + errors, said)
    // The prefix of an error is a name, not something to type.
    const advised = `${output}${errors}`.replace(/^purser [a-z ]+: |^purser has no command /gm, '')
    assert.doesNotMatch(advised, /(?<!npx )purser (?!is |has )[a-z]/)
  })
}
