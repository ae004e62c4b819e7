import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { openPool } from '../src/store/ledger/postgres/connection.ts'
import { allAtOnce, openLoadClient } from '../testing/load.ts'
import { fillDisk } from '../testing/full-disk.ts'
import { postgres18 } from '../testing/postgres.ts'
import { startTestService } from '../testing/service.ts'
import { makeFolder, startProcess } from './process.ts'

const key = 'svc_sand_2f0c5d7e9b1a4c6d8e0f1a2b3c4d5e6f'
const missing = spawnSync('prlimit', ['--version']).error ? 'prlimit is not installed here' : false

test(
  'While commits fail on SQLite, /readyz is 503, and one log line with route, status, account and key id stands for all failures',
  { skip: missing },
  async (context) => {
    const settings = { PURSER_BOOTSTRAP_SANDBOX_KEY: key, PURSER_LOG_LEVEL: 'error' }
    const service = await startProcess(context, { folder: makeFolder(context), settings })
    const client = openLoadClient(service.url, key, 128)
    context.after(client.close)
    const create = () => client.send('POST', '/agents', { body: { name: 'research-bot' } })
    assert.equal((await create()).status, 201)
    assert.equal((await client.send('GET', '/readyz')).status, 200)

    // Also the second time, when what /readyz writes is there already.
    for (let failure = 0; failure < 2; failure++) {
      limitFiles(service.pid, '0')
      const failed = await allAtOnce(30, create)
      assert.deepEqual(new Set(failed.map(({ status }) => status)), new Set([503]))
      for (let look = 0; look < 3; look++) {
        const ready = await client.send('GET', '/readyz')
        assert.deepEqual([ready.status, ready.body.detail], [503, 'store_unavailable'])
      }
      limitFiles(service.pid, 'unlimited')
      assert.equal((await client.send('GET', '/readyz')).status, 200)
      assert.equal((await create()).status, 201)
    }
    // Also with more to write than SQLite keeps in memory by default.
    const domains = Array.from({ length: 800 }, (_, index) => `${'seller'.repeat(9)}-${index}.example`)
    const agentId = (await create()).body.id
    const large = () =>
      client.send('POST', '/mandates', {
        body: {
          agent_id: agentId,
          purpose: 'Buy research data',
          max_spend_total: '10.00',
          max_spend_per_transaction: '1.00',
          allowed_sellers: domains,
          expires_at: '2099-01-01T00:00:00Z',
        },
      })
    const mandates = await allAtOnce(128, large)
    assert.deepEqual(new Set(mandates.map(({ status }) => status)), new Set([201]))
    const amend = (turn: number) =>
      client.send('PATCH', `/v1/mandates/${mandates[turn]!.body.id}`, {
        body: { allowed_sellers: domains.toReversed() },
        headers: { 'if-match': '"1"' },
      })
    limitFiles(service.pid, '0')
    const full = await allAtOnce(128, amend)
    assert.deepEqual(new Set(full.map(({ status }) => status)), new Set([503]))
    limitFiles(service.pid, 'unlimited')
    assert.equal((await amend(0)).status, 200)

    const { stderr } = await service.kill('SIGTERM')
    const lines = stderr.trim().split('\n')
    assert.ok(lines.length <= 3, stderr)
    const { route, status, account, key: keyId, msg } = JSON.parse(lines[0] ?? '')
    assert.deepEqual([route, status, msg], ['POST /agents', 503, 'the store is unavailable'])
    assert.match(account, /^acct_|^acc/)
    assert.match(keyId, /^key_/)
  },
)

test('While commits fail on PostgreSQL, /readyz is 503, and 200 again as soon as they work', async (context) => {
  const { url } = await postgres18.createEmptyDatabase()
  const service = await startTestService(context, { PURSER_DATABASE: url, PURSER_WORKERS: '1' })
  const clearDisk = await fillDisk(url, 'insert on agents', 'update on purser_schema')
  const create = () => service.call('POST', '/agents', { body: { name: 'research-bot' } })
  assert.equal((await service.call('GET', '/readyz')).status, 200)
  assert.equal((await create()).status, 503)
  assert.equal((await service.call('GET', '/readyz')).status, 503)
  await clearDisk()
  assert.equal((await service.call('GET', '/readyz')).status, 200)
  assert.equal((await create()).status, 201)
})

test('A wait of over a second for a database connection is logged, and a shorter one is not', async (context) => {
  const { url, drop } = await postgres18.createDatabase()
  const waits: number[] = []
  const pool = openPool(url, { max: 1, onWait: (waitedMs) => waits.push(waitedMs) })
  context.after(async () => {
    await pool.end()
    await drop()
  })
  const client = await pool.connect()
  const waiting = pool.query('select 1')
  await sleep(1_100)
  assert.deepEqual(waits, [])
  client.release()
  await waiting
  assert.equal(waits.length, 1)
  assert.ok((waits[0] ?? 0) > 1_000)
})

/** Max file size of a process: writes beyond it fail like on a full disk. */
function limitFiles(pid: number, bytes: string): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`])
  assert.equal(status, 0, String(stderr))
}
