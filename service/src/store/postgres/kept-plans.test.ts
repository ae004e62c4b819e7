import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { postgres18 } from '../../../testing/postgres.ts'
import { StoreLedger } from '../../../testing/store-ledger.ts'
import type { Mandate } from '../../domain/records.ts'
import type { Store } from '../store.ts'
import { openPostgresStore } from './postgres-store.ts'

test('Whatever holds there were when a connection first wrote a proof, it never reads all of them later [decision.60]', async (context) => {
  const { url, drop } = await postgres18.createEmptyDatabase()
  const client = new Client({ connectionString: url })
  await client.connect()
  context.after(async () => {
    await client.end()
    await drop()
  })
  const first = await openPostgresStore({ url })
  const ledger = new StoreLedger({ store: first, close: () => first.close() })
  const { sandbox } = await ledger.tenant()
  const mandate = await ledger.mandate(sandbox, { maxTotalText: '1000.00' })

  const stores: Store[] = [first]
  let made = 0
  async function addHolds(count: number): Promise<void> {
    await client.query(insertHolds, [mandate.accountId, mandate.id, mandate.agentId, made, made + count - 1])
    made += count
  }
  // The indexes grow by a level one after the other, at about a hundred holds.
  await addHolds(60)
  while (made < 180) {
    const store = await openPostgresStore({ url, writeConnections: 1, readConnections: 1 })
    stores.push(store)
    await prove(store, ledger, mandate)
    await addHolds(3)
  }
  await addHolds(20_000)
  for (const store of stores) assert.deepEqual(await prove(store, ledger, mandate), { decision: 'approved' })
  await Promise.all(stores.map((store) => store.close()))

  assert((await holdsRead(client)) < 20_000, 'nobody went through all holds')
})

const insertHolds = `
  insert into holds (account_id, nonce, environment, agent_id, mandate_id, amount_text, amount_micro, currency,
    resource_url, status, issued_at_ms, expires_at_ms)
  select $1, md5(n::text), 'sandbox', $3, $2, '1.00', 1000000, 'USDC', 'https://example.com', 'open', 0,
    4000000000000 + n
  from generate_series($4::int, $5::int) n`

function prove(store: Store, ledger: StoreLedger, mandate: Mandate) {
  return store.issueProof(ledger.newHold(mandate))
}

/** How many rows of holds were fetched by way of an index; a connection tells when it ends. */
async function holdsRead(client: Client): Promise<number> {
  for (;;) {
    const { rows } = await client.query<{ read: string; connections: string }>(`
      select (select idx_tup_fetch from pg_stat_user_tables where relname = 'holds') as read,
        (select count(*) from pg_stat_activity where datname = current_database()) as connections`)
    const [{ read, connections } = { read: '0', connections: '0' }] = rows
    if (Number(connections) === 1) return Number(read)
    await sleep(5)
  }
}
