import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { compileCache } from '../../../service/testing/compile-cache.ts'
import { issueProof, preparePurchase } from '../../../service/testing/service.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'
import { testCommand } from '../testing/command.ts'
import { openMarket } from '../testing/market.ts'

// Tests that need a real process: signals, pipes, terminals, and installed packages.

const program = fileURLToPath(new URL('purser.ts', import.meta.url))
const service = await shareTestService()
await service.call('POST', '/agents', { body: { name: 'research-bot' } })

/** Longer than a process takes on a busy machine, so that a bug fails the test instead of hanging it. */
const patienceMs = 30_000

test('Ctrl-C ends a command that follows with 130, within a second', async (context) => {
  const purser = start(context, ['node', program, 'audit', '--follow', '--interval', '3600'])
  await purser.says(/agent\.created/)
  const pressedMs = performance.now()
  purser.child.kill('SIGINT')
  const { code, errors } = await purser.ended
  assert.equal(code, 130)
  assert.ok(performance.now() - pressedMs < 1_000)
  assert.equal(errors, '')
})

test('purser serve runs the service until a signal, and shuts down gracefully', async (context) => {
  const purser = start(context, ['node', program, 'serve', '--port', '0', '--log-level', 'silent'])
  await purser.says(/Purser is ready at http:[^]*export PURSER_SANDBOX_KEY=svc_sand_/)
  purser.child.kill('SIGTERM')
  const { code, output, errors } = await purser.ended
  assert.deepEqual([code, errors], [0, ''])
  assert.match(output, /Purser is stopping: it finishes accepted requests\.\n$/)
})

test('A closed output pipe ends a command quietly', async (context) => {
  const words = `node ${program} audit --limit 200 | true; exit \${PIPESTATUS[0]}`
  assert.deepEqual(await start(context, ['bash', '-c', words]).ended, { code: 0, output: '', errors: '' })
})

test('A closed output pipe hides no payment, and a full disk is reported', async (context) => {
  const big = 'x'.repeat(1_000_000)
  const { merchant, environment } = await openMarket(context, service, {
    deliver: (_, response) => void response.end(big),
  })
  const run = (line: string) => start(context, ['bash', '-c', line], environment).ended
  const closed = await run(`node ${program} pay ${merchant.url} | true; exit \${PIPESTATUS[0]}`)
  assert.equal(closed.code, 0, closed.errors)
  assert.match(closed.errors, /\nPaid: +4\.00 USDC to 127\.0\.0\.1, transaction txn_\w+\n$/)
  const full = await run(`node ${program} mandates list > /dev/full`)
  const message = /^purser: standard output could not be written \(ENOSPC: .*\)\.\n$/
  assert.deepEqual([full.code, message.test(full.errors)], [1, true], full.errors)
  const unsaved = await run(`node ${program} pay ${merchant.url} > /dev/full`)
  assert.deepEqual([unsaved.code, /charged \(transaction/.test(unsaved.errors)], [7, true], unsaved.errors)
})

test('All of standard input is read, not just its first line', async (context) => {
  const purchase = await preparePurchase(service)
  const proof = JSON.stringify(await issueProof(service, purchase, '4.00'), null, 2)
  const line = `echo '${proof}' | node ${program} payments authorize --merchant ${purchase.merchantDomain} --amount 4.00`
  const { code, output, errors } = await start(context, ['bash', '-c', line]).ended
  assert.deepEqual([code, errors], [0, ''])
  assert.match(output, /^nonce +[\w-]+\nstatus +authorized\n/)
})

test('A closed pipe for errors ends no command: pay pays, delivers, and keeps its exit code', async (context) => {
  const { merchant, environment, sums } = await openMarket(context, service)
  const pay = (...words: readonly string[]) => {
    const purser = start(context, ['node', program, 'pay', merchant.url, ...words], environment)
    purser.child.stderr?.destroy()
    return purser
  }
  const { folder, ended } = pay('--output', 'goods')
  assert.deepEqual(await ended, { code: 0, output: '', errors: '' })
  assert.equal(readFileSync(join(folder, 'goods'), 'utf8'), '{"data":[1,2,3]}')
  assert.deepEqual(await sums(), { spent: '4.00', held: '0.00' })
  assert.equal((await pay('--max-amount', '3.99').ended).code, 3)
})

test('A checkout under a Node without TypeScript support says what to run instead', async (context) => {
  const entry = fileURLToPath(new URL('../bin/purser.js', import.meta.url))
  const { code, output, errors } = await start(context, ['node', '--no-strip-types', entry, '--help']).ended
  assert.deepEqual([code, output], [1, ''])
  assert.match(errors, /^purser needs a newer Node in a checkout, .* Run npx purser, [^\n]*\n$/)
  assert.match(
    (await start(context, ['node', entry, '--version']).ended).output,
    /^\d+\.\d+\.\d+( \([0-9a-f]{12}\))?\n$/,
  )
})

test('The exit code is that of the process', async (context) => {
  const ends = await Promise.all([
    start(context, ['node', program, 'fly']).ended,
    start(context, ['node', program, 'agents', 'show', 'agent_none']).ended,
  ])
  assert.deepEqual(
    ends.map(({ code }) => code),
    [2, 5],
  )
})

test('A key is typed at a terminal without echo', async (context) => {
  const { folder, ...purser } = startOnTerminal(context, 'profile add local --url http://127.0.0.1:1')
  await purser.says(/API key for http:\/\/127\.0\.0\.1:1: $/)
  const key = 'svc_sand_typed_by_hand_0123456789'
  // Includes a typo that is deleted.
  purser.child.stdin?.write(`${key}x\u007f\r`)
  const { code, output } = await purser.ended
  assert.equal(code, 0, output)
  assert.doesNotMatch(output, /typed_by_hand/)
  const kept = JSON.parse(readFileSync(join(folder, '.config/purser/profiles.json'), 'utf8'))
  assert.equal(kept.profiles.local.key, key)
})

test('Ctrl-C at the key prompt exits with 130', async (context) => {
  const purser = startOnTerminal(context, 'profile add local')
  await purser.says(/API key for .*: $/)
  purser.child.stdin?.write('\u0003')
  assert.equal((await purser.ended).code, 130)
})

test('A terminal gets colours, unless NO_COLOR says otherwise', async (context) => {
  const bright = await startOnTerminal(context, 'agents list').ended
  assert.ok(bright.output.includes('\u001b[32mactive\u001b[39m'), bright.output)
  const plain = await startOnTerminal(context, 'agents list', { NO_COLOR: '1' }).ended
  assert.match(plain.output, / active /)
  assert.ok(!plain.output.includes('\u001b'))
})

test('A key is read from a pipe, and appears in no process list', async (context) => {
  const purser = start(context, ['node', program, 'profile', 'add', 'local'])
  purser.child.stdin?.end('svc_sand_from_a_pipe\nand more\n')
  const { code, output } = await purser.ended
  assert.equal(code, 0)
  assert.match(output, /^Saved local for http:\/\/\S+ in /)
  assert.match(
    readFileSync(join(purser.folder, '.config/purser/profiles.json'), 'utf8'),
    /"svc_sand_from_a_pipe"/,
  )
})

test('Without the service package the command calls a service, and says which commands need the package', async (context) => {
  const { folder } = testCommand(context)
  const alone = installAlone(folder)
  const ended = (...words: readonly string[]) => start(context, ['node', alone, ...words]).ended
  // The first one compiles what the others then find in the cache.
  const listed = await ended('agents', 'list')
  const [help, doctor, ...missing] = await Promise.all([
    ended('--help'),
    ended('doctor'),
    ended('serve', '--port', '0'),
    ended('ledger', 'check'),
  ])
  assert.match(listed.output, /research-bot/)
  assert.match(help.output, /^ {2}serve +\(needs the service, which is not installed here\)$/m)
  assert.equal(doctor.code, 0, doctor.output)
  assert.doesNotMatch(doctor.output, /ledger/)
  for (const { code, errors } of missing) {
    assert.equal(code, 1)
    assert.match(
      errors,
      /this needs the service, which is not installed here; install its package next to this one, or run npx purser in a checkout of Purser/,
    )
  }
})

/** Installs the command without the service: only with its dependencies. */
function installAlone(folder: string): string {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const own = join(folder, 'command')
  cpSync(join(root, 'packages/cli/src'), join(own, 'src'), { recursive: true })
  cpSync(join(root, 'packages/cli/package.json'), join(own, 'package.json'))
  const { dependencies } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) {
    const place = join(own, 'node_modules', name)
    mkdirSync(join(place, '..'), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), place)
  }
  return join(own, 'src/purser.ts')
}

/** Runs a program in its own folder and home, with the service in its environment; returns its output. */
function start(
  context: TestContext,
  [name = '', ...words]: readonly string[],
  environment: Record<string, string> = {},
) {
  const { folder } = testCommand(context)
  const child: ChildProcess = spawn(name === 'node' ? process.execPath : name, words, {
    cwd: folder,
    env: {
      PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`,
      ...compileCache,
      HOME: folder,
      TERM: 'xterm-256color',
      PURSER_URL: service.url,
      PURSER_API_KEY: service.sandboxKey,
      ...environment,
    },
  })
  const bound = setTimeout(() => child.kill('SIGKILL'), patienceMs)
  context.after(() => child.kill('SIGKILL'))
  const said = { output: '', errors: '' }
  let look: (() => void) | undefined
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said.output += text
    look?.()
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => void (said.errors += text))
  const ended = new Promise<typeof said & { code: number | null }>((resolve) => {
    child.on('close', (code) => {
      clearTimeout(bound)
      resolve({ code, ...said })
    })
  })
  return {
    folder,
    child,
    ended,
    says: (expected: RegExp) =>
      new Promise<void>((resolve, reject) => {
        look = () => {
          if (expected.test(said.output)) resolve()
        }
        void ended.then(() => reject(new Error(`it ended before: ${said.output}${said.errors}`)))
        look()
      }),
  }
}

/** Runs the command on a pseudo-terminal of 100 columns; returns what it shows. */
function startOnTerminal(context: TestContext, words: string, environment: Record<string, string> = {}) {
  const command = `stty cols 100; exec ${process.execPath} ${program} ${words}`
  return start(context, ['script', '--quiet', '--return', '--command', command, '/dev/null'], {
    ...environment,
    // Prompts appear because there is no other source.
    ...(words.startsWith('profile') && { PURSER_API_KEY: '', PURSER_URL: '' }),
  })
}
