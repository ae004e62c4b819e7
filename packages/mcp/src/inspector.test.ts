import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { command, startHttp } from '../testing/connections.ts'
import { openShop, type Shop } from '../testing/shop.ts'

const inspector = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json')),
  'clients/launcher/build/index.js',
)

/** The inspector's output as JSON. The server is configured as in any MCP client. */
async function inspect(
  context: TestContext,
  server: object,
  method: readonly string[],
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read answers of every shape
): Promise<any> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-mcp-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const config = join(folder, 'mcp.json')
  writeFileSync(config, JSON.stringify({ mcpServers: { purser: server } }))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [inspector, '--cli', '--config', config, '--server', 'purser', '--method', ...method],
    { timeout: 30_000 },
  )
  return JSON.parse(stdout)
}

function overStdio(shop: Shop) {
  return { command: process.execPath, args: [command], env: shop.environment }
}

const service = await shareTestService()

test('The MCP inspector lists the tools and accepts their schemas', async (context) => {
  const shop = await openShop(context, {}, service)
  const { tools } = await inspect(context, overStdio(shop), ['tools/list', '--strict'])
  assert.deepEqual(
    tools.map(({ name }: { name: string }) => name),
    ['get_budget', 'check_payment', 'pay', 'fetch_paid_resource', 'list_payments', 'request_increase'],
  )
})

test('The MCP inspector buys over stdio', async (context) => {
  const shop = await openShop(context, {}, service)
  const result = await inspect(context, overStdio(shop), [
    'tools/call',
    '--tool-name',
    'pay',
    '--tool-arg',
    'purchase_id=inspected',
    'amount="4.00"',
    `resource_url=${shop.merchant.url}/report`,
  ])
  assert.equal(result.structuredContent.outcome, 'paid', JSON.stringify(result))
  assert.deepEqual(await shop.spent(), { spent: '4.00', held: '0.00' })
})

test('The MCP inspector shows why a tool failed and accepts the shape of the result', async (context) => {
  const shop = await openShop(context, {}, service)
  const server = {
    ...overStdio(shop),
    env: { ...shop.environment, PURSER_AGENT_KEY: service.sandboxKey },
  }
  // It prints the result, and exits with an error because the tool failed.
  const called = inspect(context, server, ['tools/call', '--tool-name', 'get_budget'])
  await assert.rejects(called, ({ stdout, stderr }: { stdout: string; stderr: string }) => {
    const { content, structuredContent } = JSON.parse(stdout)
    assert.match(content[0].text, /\(not_an_agent_key\)\nWhat to do: /)
    assert.equal(structuredContent, undefined)
    assert.match(stderr, /"code":"tool_is_error"/)
    return true
  })
})

test('The MCP inspector gets a denial over HTTP, with its reason', async (context) => {
  const shop = await openShop(context, {}, service)
  const { url, token } = await startHttp(context, shop.environment)
  const result = await inspect(
    context,
    { type: 'streamable-http', url, headers: { Authorization: `Bearer ${token}` } },
    [
      'tools/call',
      '--tool-name',
      'fetch_paid_resource',
      '--tool-arg',
      'purchase_id=inspected',
      'max_amount="9.00"',
      `url=${shop.merchant.url}/dear`,
    ],
  )
  assert.equal(result.structuredContent.reason_code, 'amount_exceeds_per_transaction_limit')
  assert.match(result.content[0].text, /What to do: /)
  assert.deepEqual(await shop.spent(), { spent: '0.00', held: '0.00' })
})

const root = join(import.meta.dirname, '../../..')

test("The guide's inspector command buys, with the key in a file and a port in the host", async (context) => {
  const shop = await openShop(context, {}, service)
  const home = mkdtempSync(join(tmpdir(), 'purser-mcp-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  const guide = readFileSync(join(root, 'docs/guides/mcp.md'), 'utf8')
  const block = /```sh\n((?:(?!```).*\n)*?.*npx mcp-inspector [^`]*)```/.exec(guide)?.[1] ?? ''
  assert.doesNotMatch(block, /-e PURSER_AGENT_KEY=/, 'arguments can be read by every user of the machine')
  assert.match(block, /PURSER_MCP_PRIVATE_HOSTS=localhost:3000 /)
  const commands = block
    .replace('npx mcp-inspector', `'${process.execPath}' '${inspector}'`)
    .replace('http://localhost:3000/weather', `${shop.merchant.url}/tagged`)
    .replace('localhost:3000', new URL(shop.merchant.url).host)
  const { stdout } = await promisify(execFile)('sh', ['-euc', commands], {
    cwd: root,
    env: { ...process.env, HOME: home, PURSER_URL: service.url, PURSER_AGENT_KEY: shop.agentKey },
    timeout: 30_000,
  })
  assert.match(stdout, /Paid 1\.00 USDC to localhost for purchase first/)
  assert.deepEqual(await shop.spent(), { spent: '1.00', held: '0.00' })
})

test('Every example of a private host has a port', () => {
  const samples = [
    ['packages/mcp/README.md', 2],
    ['docs/guides/mcp.md', 4],
    ['packages/mcp/src/settings.ts', 1],
    ['examples/mcp-client/client.ts', 1],
    ['examples/ai-sdk-agent/agent.ts', 1],
  ] as const
  for (const [path, atLeast] of samples) {
    const lines = readFileSync(join(root, path), 'utf8').split('\n')
    const named = lines.filter(
      (line) => /PRIVATE_HOSTS|privateHosts/.test(line) && /localhost|10\.0/.test(line),
    )
    assert.ok(named.length >= atLeast, `${path}: ${named.length}`)
    for (const line of named) assert.doesNotMatch(line, /localhost(?!:\d)/, `${path}: ${line}`)
  }
})
