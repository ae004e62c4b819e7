import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { after, describe, test, type TestContext } from 'node:test'

import { codeOf } from '../../service/src/store/error-code.ts'
import {
  makeFolder,
  runProcess,
  spawnProcess,
  startProcess,
  type ReadyProcess,
  type ServiceProcess,
} from '../../service/test/process.ts'
import { labelOf, makePurchase, openLoadClient } from '../../service/testing/load.ts'
import { postgres18 } from '../../service/testing/postgres.ts'
import { projectFolder } from '../source-files.ts'
import { packOnce } from './packed.ts'
import { installInto, ownPackagesIn } from './project.ts'
import { startRegistry } from './registry.ts'
import { olderNode, run } from './run.ts'

const packed = await packOnce()
const service = packed.find(({ name }) => name === '@purser/service') ?? assert.fail()
const needed = ['@purser/client', '@purser/cli', '@purser/service']
const project = await installInto(
  { after },
  packed.filter(({ name }) => needed.includes(name)),
  await startRegistry({ after }),
)

type Context = { readonly after: (stop: () => Promise<void>) => void }

/** A command of the project, as linked by npm. */
function command(name: 'purser' | 'purser-service'): string {
  return join(project, 'node_modules/.bin', name)
}

function start(
  context: Context,
  options: Partial<Parameters<typeof startProcess>[1]> = {},
): Promise<ReadyProcess> {
  const settings = { PURSER_LOG_LEVEL: 'silent', ...options.settings }
  const script = options.script ?? command('purser-service')
  return startProcess(context, { folder: makeFolder(context), ...options, script, settings })
}

/** The key that a start printed. */
async function printedKey({ sees }: Pick<ServiceProcess, 'sees'>): Promise<string> {
  const [, key = ''] = await sees(/export PURSER_SANDBOX_KEY=(svc_sand_\w+)\n/)
  return key
}

/** Makes an agent buy something; resolves to its mandate. */
async function buy({ url }: Pick<ReadyProcess, 'url'>, key: string): Promise<unknown> {
  const client = openLoadClient(url, key, 8)
  try {
    const purchase = await makePurchase(client)
    const { body } = await client.askForProof(purchase, '4.00')
    assert.equal(labelOf(await client.verify(body.proof)), '200 ok')
    const { body: mandate } = await client.send('GET', `/mandates/${purchase.mandateId}`)
    return mandate.spent_total
  } finally {
    client.close()
  }
}

/** For the tests that only read. */
const shared = await start({ after })

async function stop({ kill }: ReadyProcess): Promise<void> {
  const { code, stdout, stderr } = await kill('SIGTERM')
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /Purser is stopping: it finishes accepted requests\.\n$/)
}

describe('The package of the service', () => {
  test('is at most 1 MB, and has only compiled code, the console and the interface', async (context) => {
    context.diagnostic(`${service.tarballBytes} bytes`)
    assert.ok(service.tarballBytes <= 1_000_000, `${service.tarballBytes} bytes`)
    const listed = await run('tar', ['-tzf', service.tarball], { cwd: project })
    const files = listed.split('\n').map((path) => path.replace(/^package\//, ''))
    const kinds: readonly RegExp[] = [
      /^(package\.json|README\.md|LICENSE|)$/,
      /^dist\/.+\.js$/,
      /^node_modules\/@purser\/wire\/(package\.json|dist\/([a-z]+\/)?[a-z-]+\.js)$/,
      /^console\/(index\.html|theme\.js|icon\.svg|assets\/.+\.(js|css|woff2)|licences\/.+)$/,
    ]
    assert.deepEqual(
      files.filter((path) => !kinds.some((kind) => kind.test(path))),
      [],
    )
    assert.deepEqual(
      files.filter((path) => /^dist\/(.*\/)?(testing|test)\/|\.(test|vectors)\.js$/.test(path)),
      [],
    )
    for (const kind of kinds) assert.ok(files.some((path) => kind.test(path)))
  })

  test('npm finds all its dependencies outside the project', () => {
    assert.deepEqual(ownPackagesIn(project), [...needed, ...service.carried].sort())
  })

  test('has one command, which npx finds, and the purser next to it detects npx', async () => {
    const environment = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
    const npx = (...words: string[]) => run('npx', words, { cwd: project, environment })
    assert.match(await npx('purser-service', '--help'), /--database/)
    writeFileSync(join(project, 'empty.db'), '')
    const status = await npx('purser', 'migrate', 'status', '--database', 'sqlite:empty.db')
    assert.match(status, /npx purser migrate up, or the next start/)
  })

  test('has the console: each of its files is served with its type and the policy', async () => {
    const { url } = shared
    assert.equal((await fetch(`${url}/readyz`)).status, 200)
    const files = join(service.folder, 'console')
    const paths = readdirSync(files, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(files.length + 1))
    const page = await (await fetch(`${url}/console`)).text()
    const named = [...page.matchAll(/(?:src|href)="\/console\/([^"]+)"/g)].map(([, path = '']) => path)
    assert.ok(named.length >= 4 && named.every((path) => paths.includes(path)), named.join())
    for (const path of paths) {
      const answer = await fetch(`${url}/console/${path}`)
      const type = answer.headers.get('content-type')?.split(';')[0] ?? ''
      assert.deepEqual([answer.status, type], [200, consoleTypes[extname(path)]], path)
      assert.match(
        answer.headers.get('content-security-policy') ?? '',
        /^default-src 'none'; script-src 'self'/,
      )
      assert.ok(Buffer.from(await answer.arrayBuffer()).equals(readFileSync(join(files, path))), path)
    }
  })

  test('has the interactive reference, with everything that its page loads', async () => {
    const { url } = shared
    const answer = await fetch(`${url}/docs/`)
    assert.match(
      answer.headers.get('content-security-policy') ?? '',
      /^default-src 'none'; script-src 'self'/,
    )
    const page = await answer.text()
    const named = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(
      ([, path = '']) => new URL(path, answer.url),
    )
    assert.ok(named.length >= 4, page)
    for (const address of named) {
      const { status, headers } = await fetch(address)
      assert.equal(status, 200, address.href)
      assert.doesNotMatch(headers.get('content-type') ?? '', /html/, address.href)
    }
    assert.equal(
      ((await (await fetch(`${url}/openapi.json`)).json()) as { openapi: string }).openapi,
      '3.1.0',
    )
  })

  test('serves: an agent buys, the printed key signs in to the console, and SIGTERM shuts it down', async (context) => {
    const serving = await start(context)
    const key = await printedKey(serving)
    assert.equal(await buy(serving, key), '4.00')
    const signedIn = await fetch(`${serving.url}/v1/console/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ api_key: key }),
    })
    assert.equal(signedIn.status, 201)
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const overview = await fetch(`${serving.url}/v1/console/overview`, { headers: { cookie } })
    const { spent_today: spentToday } = (await overview.json()) as { spent_today: string }
    assert.deepEqual([overview.status, spentToday], [200, '4.00'])
    await stop(serving)
  })

  test('runs in several processes on PostgreSQL, like purser serve', async (context) => {
    const database = await postgres18.createEmptyDatabase()
    context.after(database.drop)
    const serving = await start(context, {
      script: command('purser'),
      flags: ['serve', '--workers', '2'],
      settings: { PURSER_DATABASE: database.url },
    })
    await serving.sees(/Processes {3}2\n/)
    assert.equal(await buy(serving, await printedKey(serving)), '4.00')
    await stop(serving)
  })

  test('gives the installed purser its commands: migrate, doctor, ledger check, backup', async (context) => {
    const own = makeFolder(context)
    const serving = await start(context, { folder: own, script: command('purser'), flags: ['serve'] })
    const key = await printedKey(serving)
    await buy(serving, key)
    const environment = { PURSER_URL: serving.url, PURSER_API_KEY: key }
    const purser = (...words: string[]) =>
      run(process.execPath, [command('purser'), ...words], { cwd: own, environment })
    const [schema, doctor, ledger, backup] = await Promise.all([
      purser('migrate', 'status', '--json'),
      purser('doctor', '--json'),
      purser('ledger', 'check', '--json'),
      purser('backup', 'copy.db', '--json'),
    ])
    assert.equal(JSON.parse(schema).to_do, 'nothing')
    assert.equal(JSON.parse(doctor).is_well, true)
    assert.deepEqual(JSON.parse(ledger).faults, [])
    assert.equal(JSON.parse(backup).agrees, true)
    await stop(serving)
  })

  test('runs by npx from its tarball in an empty folder, and explains a port in use', async (context) => {
    const npx = await npxInEmptyFolders(context)
    const serving = npx()
    const [, url = ''] = await serving.sees(/Purser is ready at (http\S+)\n/)
    assert.equal(await buy({ url }, await printedKey(serving)), '4.00')

    const { code, stdout: printed, stderr: complaint } = await npx(['--port', new URL(url).port]).ended
    assert.deepEqual([code, printed], [1, ''])
    assert.match(
      complaint,
      /^Purser cannot start: Port \d+ on 127\.0\.0\.1 is taken; choose another with PURSER_PORT, or 0 for any free one\.\n$/,
    )

    // Ctrl-C, which a terminal sends to npx and its child.
    process.kill(-serving.pid, 'SIGINT')
    const { stdout, stderr } = await serving.ended
    assert.match(stdout, /Purser is stopping: it finishes accepted requests\.\n$/)
    assert.equal(stderr, '')
  })

  test("reports the commit that it was packed from: purser --version, and the console's system page", async () => {
    const commit = (await run('git', ['rev-parse', 'HEAD'], { cwd: projectFolder })).trim().slice(0, 12)
    const version = await run(process.execPath, [command('purser'), '--version'], { cwd: project })
    assert.equal(version, `0.1.0 (${commit})\n`)
    const serving = shared
    const headers = { authorization: `Bearer ${await printedKey(serving)}` }
    const system = await fetch(`${serving.url}/v1/console/system`, { headers })
    const { version: shown } = (await system.json()) as { version: string }
    assert.equal(shown, `0.1.0 (${commit})`)
  })

  for (const [name, words] of [
    ['purser-service', ['--port', '0']],
    ['purser', ['serve', '--port', '0']],
  ] as const) {
    test(`explains which Node it needs when run with an older one: ${name}`, async (context) => {
      const ended = await runProcess(context, {
        folder: makeFolder(context),
        script: command(name),
        flags: words,
        node: olderNode,
      })
      assert.deepEqual([ended.code, ended.stdout], [1, ''])
      assert.match(
        ended.stderr,
        /^[^\n]+: the service needs Node 24 or newer, and this is Node 22\.[\d.]+; run npm install node@24 in [^\n]+\.\n$/,
      )
    })
  }
})

/** Runs the tarball like a new user: npx installs it, and starts it in a new folder. */
async function npxInEmptyFolders(context: TestContext) {
  const registry = await startRegistry(context)
  const cache = makeFolder(context)
  const npx = ['npx', '--yes', '--loglevel=error', `--registry=${registry}`, `--cache=${cache}`]
  return (flags: readonly string[] = []) => {
    const own = makeFolder(context)
    // With its own session, npx leads a process group, as in a terminal.
    const [script = '', ...others] = [...npx, `file:${service.tarball}`, ...flags]
    const settings = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
    const running = spawnProcess(context, { folder: own, node: 'setsid', script, flags: others, settings })
    context.after(() => endGroup(running.pid))
    return running
  }
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

const consoleTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.md': 'text/markdown',
  '.txt': 'text/plain',
}
