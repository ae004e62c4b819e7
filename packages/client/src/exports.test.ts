import assert from 'node:assert/strict'
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
