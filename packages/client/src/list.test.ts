import assert from 'node:assert/strict'
import { test } from 'node:test'

import { shareTestService } from '../../../service/testing/shared-service.ts'
import { startServer } from '../testing/scripted-server.ts'
import { Purser } from './client.ts'

test('A list follows the Link header from page to page, newest first, and fetches no more than is read', async () => {
  const service = await shareTestService()
  let requests = 0
  const purser = new Purser({
    apiKey: service.sandboxKey,
    baseUrl: service.url,
    fetch: (input, init) => {
      requests++
      return fetch(input, init)
    },
  })
  const names = ['one', 'two', 'three', 'four', 'five']
  for (const name of names) await purser.agents.create({ name })
  requests = 0
  const list = purser.agents.list({ limit: 2 })
  assert.equal(requests, 0)

  const read: string[] = []
  for await (const { name } of list) read.push(name)
  assert.deepEqual([read, requests], [names.toReversed(), 3])

  const [first, ...rest] = [
    await list.page(),
    await list.toArray({ limit: 3 }),
    await list.toArray({ limit: 0 }),
  ]
  assert.deepEqual(
    first.items.map(({ name }) => name),
    ['five', 'four'],
  )
  assert.deepEqual(
    rest.map((items) => items.map(({ name }) => name)),
    [['five', 'four', 'three'], []],
  )
  assert.equal(requests, 6)

  assert(first.nextCursor !== null)
  const second = await purser.agents.list({ limit: 2, cursor: first.nextCursor }).page()
  assert.deepEqual(
    second.items.map(({ name }) => name),
    ['three', 'two'],
  )
  assert.equal((await purser.agents.list({ limit: 5 }).page()).nextCursor, null)
})

const links: [link: string, cursor: string | null][] = [
  ['</agents?limit=2&cursor=abc>; rel="next"', 'abc'],
  ['<https://elsewhere.example/steal?cursor=abc>; rel=next', 'abc'],
  ['</agents?cursor=before>; rel="prev", </agents?cursor=abc>; title="x"; rel="next"', 'abc'],
  ['</agents?cursor=before>; rel="prev"', null],
  ['</agents>; rel="next"', null],
  ['', null],
]

test('Only the cursor of a Link is used, so a list never leaves its service', async (context) => {
  let link = ''
  const baseUrl = await startServer(context, (_request, response) =>
    response.setHeader('link', link).end('[]'),
  )
  const purser = new Purser({ apiKey: 'svc_sand_x', baseUrl })
  for (const [text, cursor] of links) {
    link = text
    assert.equal((await purser.agents.list().page()).nextCursor, cursor, text)
  }
})

test('A list that links back to its own page ends with an error', async (context) => {
  const baseUrl = await startServer(context, (_request, response) => {
    response.setHeader('link', '</agents?cursor=abc>; rel="next"').end('[{"id":"agent_1"}]')
  })
  const list = new Purser({ apiKey: 'svc_sand_x', baseUrl }).agents.list()
  await assert.rejects(list.toArray({ limit: 100 }), /links back to its own page/)
})
