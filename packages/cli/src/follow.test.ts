import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import type { List } from '@purser/client'

import {
  issueProof,
  preparePurchase,
  verifyProof,
  startTestService,
} from '../../../service/testing/service.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'
import { testCommand } from '../testing/command.ts'
import { follow } from './follow.ts'

/** Longer than any wait here, so that a bug fails the test instead of hanging it. */
const patienceMs = 20_000

test('Following shows existing items, then new ones, each once, oldest first', async (context) => {
  const service = await shareTestService()
  const purchase = await preparePurchase(service)
  const pay = async (amount: string) => {
    const paid = await verifyProof(service, await issueProof(service, purchase, amount))
    return paid.body.transaction_id as string
  }
  const paid = [await pay('1.00'), await pay('2.00')]
  const following = startFollowing(context, service, 'transactions', 'list', '--mandate', purchase.mandateId)
  await following.until((lines) => lines.length === 2)
  for (const amount of ['3.00', '4.00', '5.00']) paid.push(await pay(amount))
  await following.until((lines) => lines.length === 5)
  const { code, lines } = await following.stop()
  assert.equal(code, 130)
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { id: string }).id),
    paid,
  )
})

test('Following waits while the service is down, and continues when it is back', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const settings = { PURSER_DATABASE: `sqlite:${join(folder, 'purser.db')}` }
  const first = await startTestService(context, settings)
  const following = startFollowing(context, first, 'audit', '--type', 'agent.created')
  const create = (name: string, at = first) =>
    at.call('POST', '/agents', { key: first.sandboxKey, body: { name } })
  await create('before')
  await following.until((lines) => lines.length === 1)
  await first.stop()
  await following.until((_, notices) => notices.includes('The service does not answer'))
  const second = await startTestService(context, { ...settings, PURSER_PORT: new URL(first.url).port })
  await create('after', second)
  await following.until(
    (lines, notices) => lines.length === 2 && notices.includes('The service answers again.'),
  )
  const { lines, notices } = await following.stop()
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).data.name),
    ['before', 'after'],
  )
  assert.equal(notices.match(/does not answer/g)?.length, 1, 'said once')
})

test('Following ends when the key is revoked, and starts only if the service answers', async (context) => {
  const service = await shareTestService()
  const issued = await service.call('POST', '/accounts/api-keys', {
    body: { role: 'owner', environment: 'sandbox' },
  })
  const following = startFollowing(context, { ...service, sandboxKey: issued.body.key }, 'audit')
  await following.until((lines) => lines.length > 0)
  await service.call('DELETE', `/accounts/api-keys/${issued.body.id}`)
  const { code, errors } = await following.ended
  assert.equal(code, 4)
  assert.match(errors, /the service rejected this key/)
  const away = testCommand(context, { PURSER_URL: 'http://127.0.0.1:9', PURSER_API_KEY: service.sandboxKey })
  assert.equal((await away.purser('audit', '--follow')).code, 6)
})

interface Entry {
  readonly id: string
  readonly created_at: string
}

test('Late commits are shown, old items are not, and nothing twice', async () => {
  const old = Array.from({ length: 300 }, (_, index) => entry(1_000 - index))
  const looks: readonly (readonly Entry[])[] = [
    old,
    [entry(1_020), ...old],
    // Started at 1,012 and committed after one that started at 1,020; another is too late to be found.
    [entry(1_025), entry(1_020), entry(1_012), entry(1_001), ...old],
    [entry(1_026), entry(1_025), entry(1_020), entry(1_012), entry(1_001), ...old],
  ]
  assert.deepEqual(
    await followed(looks),
    [999, 1_000, 1_020, 1_012, 1_025, 1_026].map((seconds) => entry(seconds).id),
  )
})

test('A poll reads a bounded number of items, and says if there were more', async () => {
  const many = Array.from({ length: 5_000 }, (_, index) => ({
    id: `txn_${5_000 - index}`,
    created_at: '2026-01-01T00:00:00.000Z',
  }))
  const notices: string[] = []
  assert.equal((await followed([[], many], notices)).length, 1_000)
  assert.deepEqual(notices, ['More than 1000 items since the last poll; some may be missing here.'])
})

/** A record that was written this many seconds after midnight. */
function entry(seconds: number): Entry {
  const atMs = Date.UTC(2026, 0, 1) + seconds * 1_000
  return { id: `txn_${String(seconds).padStart(6, '0')}`, created_at: new Date(atMs).toISOString() }
}

/** The ids that are shown for a sequence of states of a list. */
async function followed(looks: readonly (readonly Entry[])[], notices: string[] = []): Promise<string[]> {
  const controller = new AbortController()
  const shown: string[] = []
  let look = 0
  const list = (): List<Entry> => {
    const items = looks[look++] ?? []
    if (look > looks.length) controller.abort()
    return {
      page: () => Promise.reject(new Error('not asked for')),
      toArray: ({ limit }) => Promise.resolve(items.slice(0, limit)),
      async *[Symbol.asyncIterator]() {
        yield* items
      },
    }
  }
  const following = follow({
    list,
    first: 2,
    intervalMs: 1,
    signal: controller.signal,
    onItems: (items) => shown.push(...items.map(({ id }) => id)),
    onNotice: (notice) => notices.push(notice),
  })
  await assert.rejects(following, { name: 'AbortError' })
  return shown
}

/** The following command, in the background, and its output so far. */
function startFollowing(
  context: TestContext,
  service: { readonly url: string; readonly sandboxKey: string },
  ...words: readonly string[]
) {
  const controller = new AbortController()
  context.after(() => controller.abort())
  const lines: string[] = []
  const said: string[] = []
  let look: (() => void) | undefined
  const { purserWith } = testCommand(context, { PURSER_URL: service.url, PURSER_API_KEY: service.sandboxKey })
  const ended = purserWith(
    {
      interruption: () => controller.signal,
      print: (text) => {
        lines.push(...text.split('\n'))
        look?.()
      },
      printError: (text) => {
        said.push(text)
        look?.()
      },
    },
    ...words,
    ...'--follow --json --interval 0.2'.split(' '),
  ).then((end) => ({ ...end, errors: said.join('\n') }))

  function until(isSo: (lines: readonly string[], notices: string) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const bound = setTimeout(() => reject(new Error(`only ${lines.join()} ${said.join()}`)), patienceMs)
      look = () => {
        if (!isSo(lines, said.join('\n'))) return
        clearTimeout(bound)
        resolve()
      }
      look()
    })
  }

  async function stop() {
    controller.abort()
    const { code } = await ended
    return { code, lines, notices: said.join('\n') }
  }
  return { until, stop, ended }
}
