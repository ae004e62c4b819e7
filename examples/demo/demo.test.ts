import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { BrokenExpectation, createNarrator } from './narrator.ts'

const demoFile = fileURLToPath(new URL('main.ts', import.meta.url))

/** Every chapter, and text that its checks must contain. */
const chapters: readonly (readonly [title: string, ...checks: string[]])[] = [
  ['Purser starts, and its operator creates accounts', 'Each account has its own key.'],
  ['The owner gives the agent a budget', 'The whole budget is there.'],
  ['Two merchants open', '402'],
  ['The agent buys a forecast', 'The agent has its forecast.', 'Exactly 1.50 was charged.'],
  ['The same proof again', '402 nonce_reused', 'Nothing was charged.'],
  ['A proof for too little', '402 amount_mismatch', 'Nothing was charged;'],
  ['A forged proof', '402 invalid_signature', '402 proof_for_something_else', 'Nothing was charged.'],
  [
    'Too much for one payment',
    '403 amount_exceeds_per_transaction_limit',
    '402 amount_exceeds_per_transaction_limit',
    'Nothing was charged.',
  ],
  ['A seller that is not allowed', '402 merchant_not_allowed', 'Nothing was charged;'],
  [
    'Purser is down for a moment',
    '503 payment_could_not_be_verified',
    'Nothing was charged;',
    'Exactly 1.50 was charged, once.',
  ],
  ['The budget runs out', '403 total_budget_exceeded', '402 total_budget_exceeded', 'Nothing was charged.'],
  ['The owner stops the agent', '402 proof_expired', '403 agent_revoked', 'Nothing was charged;'],
  ['The bottom line', 'add up', 'audit log', '14 refusals, and none of them cost anything.'],
]

test('An agent asks for a signed proof; a merchant has it verified; the charge is recorded [what.3]: the demo shows it, chapter by chapter', async (context) => {
  const demo = startDemo(context)
  assert.deepEqual(await demo.ended, { code: 0, errors: '' }, demo.output())
  const told = demo
    .output()
    .split(/\n(?= ?\d+\. )/)
    .slice(1)
  assert.deepEqual(
    told.map((chapter) => chapter.split('\n', 1)[0]),
    chapters.map(([title], index) => `${String(index + 1).padStart(2)}. ${title}`),
  )
  for (const [index, [title, ...checks]] of chapters.entries()) {
    const kept = told[index]?.split('\n').filter((line) => line.startsWith('  ✓  ')) ?? []
    for (const check of checks) {
      assert.ok(
        kept.some((line) => line.includes(check)),
        `"${title}" has no ✓ with "${check}":\n${kept.join('\n')}`,
      )
    }
  }
  assert.doesNotMatch(demo.output(), /✗/)
  assert.ok(!demo.output().includes('\u001b'), 'no colors without a terminal')
  await assertNothingIsLeft(demo)
})

test('The demo fails with a clear sentence when the service cannot start', async (context) => {
  const demo = startDemo(context, { settings: { PURSER_LOG_LEVEL: 'loud' } })
  const { code, errors } = await demo.ended
  assert.equal(code, 1)
  assert.match(errors, /^\nThe demo failed in chapter 1, "Purser starts, .*": The service ended before/)
  assert.match(errors, /PURSER_LOG_LEVEL must be one of/)
  assert.doesNotMatch(demo.output(), /✓ {2}Each/)
  await assertNothingIsLeft(demo)
})

test('With --stay the service runs until Ctrl-C, and its owner can query it', async (context) => {
  const demo = startDemo(context, { flags: ['--stay'] })
  await demo.printed(/v1\/audit-log\n/)
  const [, key = '', url = ''] = /Bearer (\S+)' (\S+)\/v1\/transactions/.exec(demo.output()) ?? []
  const answer = await fetch(`${url}/v1/transactions?status=paid`, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(5_000),
  })
  const payments = (await answer.json()) as { amount: string }[]
  assert.deepEqual(
    payments.map(({ amount }) => amount),
    ['1.50', '1.50', '1.50'],
  )
  demo.interrupt()
  assert.deepEqual(await demo.ended, { code: 0, errors: '' })
  await assertNothingIsLeft(demo)
})

for (const moment of ['Purser starts', 'Purser runs at', 'Two merchants open', 'Purser has stopped']) {
  test(`Interrupted at "${moment}", the demo leaves nothing behind`, async (context) => {
    const demo = startDemo(context)
    await demo.printed(new RegExp(moment))
    demo.interrupt()
    demo.interrupt() // Press Ctrl-C twice.
    assert.deepEqual(await demo.ended, { code: 130, errors: '' })
    assert.doesNotMatch(demo.output(), /The bottom line/)
    await assertNothingIsLeft(demo)
  })
}

test('If its output is closed, the demo exits and leaves nothing behind', async (context) => {
  const demo = startDemo(context)
  await demo.printed(/Two merchants open/)
  demo.stopReading()
  assert.deepEqual(await demo.ended, { code: 130, errors: '' })
  await assertNothingIsLeft(demo)
})

test('A failed expectation ends the demo, and reports what was expected and found', () => {
  const { narrator, output } = narrate(false)
  narrator.chapter('A chapter')
  const broken = () => narrator.expect('Nothing was charged.', '1.50 spent', '0.00 spent')
  assert.throws(broken, BrokenExpectation)
  assert.match(output(), /✗ {2}Nothing was charged\.\n +expected "0\.00 spent", found "1\.50 spent"\n$/)
  assert.equal(
    narrator.failure(new Error('fetch failed', { cause: new Error('connection refused') })),
    'The demo failed in chapter 1, "A chapter": fetch failed (connection refused)',
  )
})

for (const [isTTY, environment, hasColours] of [
  [true, {}, true],
  [true, { NO_COLOR: '' }, true],
  [true, { NO_COLOR: '1' }, false],
  [false, {}, false],
  [false, { FORCE_COLOR: '1' }, false],
] as const) {
  const where = isTTY ? 'a terminal' : 'a pipe'
  test(`Colors on ${where} with ${JSON.stringify(environment)}: ${hasColours ? 'yes' : 'no'}`, () => {
    const { narrator, output } = narrate(isTTY, environment)
    narrator.expect('It is so.', 1, 1)
    assert.equal(output().includes('\u001b['), hasColours)
    assert.ok(output().includes('✓'))
  })
}

function narrate(isTTY: boolean, environment: NodeJS.ProcessEnv = {}) {
  let text = ''
  const narrator = createNarrator({ isTTY, write: (line) => (text += line) }, environment)
  return { narrator, output: () => text }
}

interface DemoOptions {
  readonly settings?: Record<string, string>
  readonly flags?: readonly string[]
}

/** The demo in a process, with its own temporary folder. */
function startDemo(context: TestContext, { settings = {}, flags = [] }: DemoOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'purser-demo-test-'))
  const child = spawn(process.execPath, [demoFile, ...flags], {
    env: { ...process.env, TMPDIR: folder, TEMP: folder, TMP: folder, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  })
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const ended = new Promise<{ code: number | null; errors: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, errors }))
  })
  context.after(async () => {
    child.kill()
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    folder,
    ended,
    output: () => output,
    interrupt: () => child.kill('SIGINT'),
    stopReading: () => child.stdout.destroy(),
    printed: (pattern: RegExp) =>
      new Promise<void>((resolve, reject) => {
        const look = () => pattern.test(output) && resolve()
        child.stdout.on('data', look)
        void ended.then(() => reject(new Error(`The demo never printed ${pattern}:\n${output}${errors}`)))
        look()
      }),
  }
}

/** No temporary file and no service is left. */
async function assertNothingIsLeft({ folder, output }: ReturnType<typeof startDemo>): Promise<void> {
  assert.deepEqual(readdirSync(folder), [])
  const url = /Purser runs at (\S+)/.exec(output())?.[1]
  if (url === undefined) return
  await assert.rejects(fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5_000) }), /fetch failed/)
}
