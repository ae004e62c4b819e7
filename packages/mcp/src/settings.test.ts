import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { command } from '../testing/connections.ts'
import { readSettings } from './settings.ts'
import { version } from './version.ts'

const key = { PURSER_AGENT_KEY: 'svc_sand_key' }

function faultsOf(argv: string[], environment: Record<string, string>): readonly string[] {
  const reading = readSettings(argv, environment)
  assert.ok('errors' in reading, JSON.stringify(reading))
  return reading.errors
}

test('Only the key is required', () => {
  const reading = readSettings([], { ...key, XDG_STATE_HOME: '/state' })
  assert.deepEqual(reading, {
    settings: {
      url: 'http://127.0.0.1:8080',
      agentKey: 'svc_sand_key',
      agentId: undefined,
      mandateId: undefined,
      stateFolder: '/state/purser-mcp',
      privateHosts: [],
      askAbove: undefined,
      http: undefined,
    },
  })
})

test('An empty or relative XDG_STATE_HOME does not put purchase records into the current folder', () => {
  for (const folder of ['', 'state']) {
    const reading = readSettings([], { ...key, XDG_STATE_HOME: folder })
    assert.ok('settings' in reading)
    assert.equal(reading.settings.stateFolder, join(homedir(), '.local', 'state', 'purser-mcp'), folder)
  }
})

test('Every setting is read', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-mcp-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'key'), 'svc_sand_file\n')
  const reading = readSettings(['--http', '9000'], {
    PURSER_AGENT_KEY_FILE: join(folder, 'key'),
    PURSER_URL: 'https://purser.example.com/base',
    PURSER_AGENT_ID: 'agent_1',
    PURSER_MANDATE_ID: 'mandate_1',
    PURSER_MCP_STATE: 'memory',
    PURSER_MCP_PRIVATE_HOSTS: 'localhost, 10.0.0.5:8443',
    PURSER_MCP_ASK_ABOVE: '10.00',
    PURSER_MCP_TOKEN: 'a token of twenty-four and more',
  })
  assert.deepEqual(reading, {
    settings: {
      url: 'https://purser.example.com/base',
      agentKey: 'svc_sand_file',
      agentId: 'agent_1',
      mandateId: 'mandate_1',
      stateFolder: undefined,
      privateHosts: ['localhost', '10.0.0.5:8443'],
      askAbove: '10.00',
      http: { port: 9000, token: 'a token of twenty-four and more' },
    },
  })
})

test('Errors come with a remedy and without secrets', () => {
  assert.match(faultsOf([], {}).join(), /PURSER_AGENT_KEY.*role agent/)
  assert.match(faultsOf([], { ...key, PURSER_URL: 'ftp://x' }).join(), /http or https address/)
  assert.match(faultsOf([], { ...key, PURSER_AGENT_KEY_FILE: '/no/such' }).join(), /both set/)
  assert.match(faultsOf(['--http', 'x'], key).join(), /0 to 65535/)
  assert.match(faultsOf(['--what'], key).join(), /--help/)
  const mistyped = ['PURSER', 'MCP_ASKABOVE'].join('_')
  assert.deepEqual(faultsOf([], { ...key, [mistyped]: '1' }), [`${mistyped} is not a setting; see --help`])
  for (const hosts of ['http://localhost:3000', 'localhost,10.0.0.0/8', '*.local']) {
    const faults = faultsOf([], { ...key, PURSER_MCP_PRIVATE_HOSTS: hosts })
    assert.match(faults.join(), /PURSER_MCP_PRIVATE_HOSTS must .+ such as localhost:3000/, hosts)
  }
  const short = faultsOf(['--http'], { ...key, PURSER_MCP_TOKEN: 'short-token' }).join()
  assert.match(short, /24 characters/)
  assert.ok(!short.includes('short-token') && !short.includes('svc_sand_key'))
})

function portOf(argv: string[]): unknown {
  const reading = readSettings(argv, key)
  return 'settings' in reading ? reading.settings.http?.port : reading
}

test('--http takes an optional port', () => {
  assert.equal(portOf(['--http']), 8181)
  assert.equal(portOf(['--http', '0']), 0)
  assert.equal(portOf(['--http=9000']), 9000)
  assert.equal(portOf([]), undefined)
})

test('The command prints its version, its settings and what is missing', async () => {
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, [command, '--version'])
  assert.equal(stdout, `${version}\n`)
  const { version: packed } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  ) as { version: string }
  assert.equal(version, packed)
  assert.match((await run(process.execPath, [command, '--help'])).stdout, /PURSER_MCP_PRIVATE_HOSTS/)
  await assert.rejects(run(process.execPath, [command], { env: {} }), {
    code: 2,
    stdout: '',
    stderr: /PURSER_AGENT_KEY/,
  })
  const unusable = { ...key, PURSER_MCP_STATE: '/dev/null/x' }
  await assert.rejects(run(process.execPath, [command], { env: unusable }), {
    code: 1,
    stderr: /PURSER_MCP_STATE/,
  })
})

test('A port of --http that is in use is named, with a remedy', async (context) => {
  const other = createServer().listen(0, '127.0.0.1')
  context.after(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const environment = { ...key, PURSER_MCP_STATE: 'memory' }
  await assert.rejects(
    promisify(execFile)(process.execPath, [command, '--http', `${port}`], { env: environment }),
    {
      code: 1,
      stderr: /^purser-mcp: cannot listen on port \d+: .*EADDRINUSE.*; choose another with --http <port>\n$/,
    },
  )
})

test('A malformed key is refused in one line', async () => {
  const environment = { PURSER_AGENT_KEY: 'my key\nsvc_sand_key', PURSER_MCP_STATE: 'memory' }
  await assert.rejects(promisify(execFile)(process.execPath, [command], { env: environment }), {
    code: 2,
    stderr: /^purser-mcp: PURSER_AGENT_KEY or PURSER_URL is wrong: .*pass the whole key\n$/,
  })
})
