import assert from 'node:assert/strict'
import { test } from 'node:test'

import { testCommand } from '../testing/command.ts'

const key = 'svc_sand_0123456789abcdefghij'
const nobody = { PURSER_URL: 'http://127.0.0.1:1', PURSER_API_KEY: key }

const advice: readonly (readonly [words: string, environment: Record<string, string>, said: RegExp])[] = [
  ['agents lst', {}, /^npx purser agents --help says more\.$/m],
  ['agents list', {}, /keep one with npx purser profile add\.$/],
  ['agents list', { PURSER_SANDBOX_KEY: key }, /keep it with npx purser profile add\.$/],
  ['agents list', nobody, /npx purser doctor looks what is wrong\.$/],
  ['agents list --api-key x', {}, /keep it with\nnpx purser profile add, which asks/],
  ['profile list', {}, /npx purser profile add keeps one\./],
  [
    'doctor',
    { PURSER_URL: nobody.PURSER_URL },
    /start the service with npx purser serve, .*holds no ledger yet; npx purser serve makes it/s,
  ],
  ['migrate status', {}, /or make a new, empty one with npx purser migrate up\.$/],
  ['init', {}, / 1\. npx purser serve +.* 4\. npx purser agents create --name research-bot$/s],
]
for (const [words, environment, said] of advice) {
  test(`What a command advises can be typed as the command was: ${words} [decision.77]`, async (context) => {
    const { purserWith } = testCommand(context, environment)
    const { output, errors } = await purserWith({ calledAs: 'npx purser' }, ...words.split(' '))
    assert.match(output + errors, said)
    // In front of an error stands its name, which nobody types.
    const advised = `${output}${errors}`.replace(/^purser [a-z ]+: |^purser has no command /gm, '')
    assert.doesNotMatch(advised, /(?<!npx )purser (?!is |has )[a-z]/)
  })
}
