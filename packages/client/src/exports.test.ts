import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'

import { finalizeGarbage } from '../testing/collect-garbage.ts'
import { startServer } from '../testing/scripted-server.ts'
import { Purser } from './client.ts'

test('An export that is read late is whole, also if garbage is collected first', async (context) => {
  const csv = 'id,amount\n'.repeat(20_000)
  const baseUrl = await startServer(context, (_request, response) => response.end(csv))
  const { console, journal, transactions } = new Purser({ apiKey: 'svc_sand_x', baseUrl })
  for (const { exportCsv } of [console.transactions, journal, transactions]) {
    const stream = await exportCsv()
    await finalizeGarbage()
    assert.equal((await new Response(stream).text()).length, csv.length)
  }
})

test('An export that nobody reads closes its connection when it is garbage', async (context) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const baseUrl = await startServer(context, (_request, response) => {
    response.on('close', resolve)
    response.write('x'.repeat(1_000_000))
  })
  const { journal } = new Purser({ apiKey: 'svc_sand_x', baseUrl })
  const open = async () => void (await journal.exportCsv())
  await open()
  await finalizeGarbage()
  await closed
})

test('Exports leave no listeners on a signal that outlives them, which ends the one that is being read', async (context) => {
  const baseUrl = await startServer(context, ({ url }, response) => {
    response.write('id,amount\n')
    if (url === '/v1/journal.csv') response.end()
  })
  const { journal, transactions } = new Purser({ apiKey: 'svc_sand_x', baseUrl })
  const controller = new AbortController()
  const { signal } = controller
  for (let round = 0; round < 3; round++) {
    await new Response(await journal.exportCsv({}, { signal })).text()
  }
  assert.equal(getEventListeners(signal, 'abort').length, 0)
  const reader = (await transactions.exportCsv({}, { signal })).getReader()
  await reader.read()
  await finalizeGarbage()
  controller.abort(new Error('enough'))
  await assert.rejects(reader.read(), { message: 'enough' })
})
