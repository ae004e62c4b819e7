import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { Client } from 'pg'

import { postgres18 } from '../../../testing/postgres.ts'
import { shopDomain, StoreLedger } from '../../../testing/store-ledger.ts'
import { openPostgresStore } from './postgres-store.ts'

for (const accountLanes of [false, true]) {
  const lanes = accountLanes ? ' with account lanes' : ''

  test(`A seller is written into the list of those that a mandate has paid once for each process${lanes} [decision.60]`, async (context) => {
    const { client, pay } = await open(context, { accountLanes })
    const longDomain = `${'a.'.repeat(200)}example.com`
    for (const domain of [shopDomain, 'other.example', longDomain, shopDomain]) await pay(domain)
    assert.deepEqual(await listed(client), [longDomain, shopDomain, 'other.example'])

    await client.query('delete from paid_sellers')
    for (const domain of [shopDomain, 'other.example', longDomain]) await pay(domain)
    assert.deepEqual(await listed(client), [longDomain], 'what is short is remembered')
  })

  test(`A seller whose first payment was not written is written with the next one${lanes} [decision.60]`, async (context) => {
    const { client, pay } = await open(context, { accountLanes })
    await client.query(`
      create function fail() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = '22P02'; end $$;
      create trigger fail before insert on transactions for each row execute function fail()`)
    await assert.rejects(pay(shopDomain), { code: '22P02' })
    await client.query('drop trigger fail on transactions; drop function fail')
    assert.deepEqual(await listed(client), [])
    await pay(shopDomain)
    assert.deepEqual(await listed(client), [shopDomain])
  })

  test(`A seller is written again when the server may have been set back meanwhile${lanes} [decision.60]`, async (context) => {
    const { client, pay } = await open(context, { accountLanes })
    await pay(shopDomain)
    // As a standby that took over too soon, or a backup: it has lost the row, and all connections are new.
    await client.query('delete from paid_sellers')
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    )
    await pay(shopDomain)
    assert.deepEqual(await listed(client), [shopDomain])
  })
}

async function open(context: TestContext, { accountLanes }: { readonly accountLanes: boolean }) {
  const { url, drop } = await postgres18.createEmptyDatabase()
  const store = await openPostgresStore({ url, accountLanes })
  const client = new Client({ connectionString: url })
  await client.connect()
  context.after(async () => {
    await store.close()
    await client.end()
    await drop()
  })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const { sandbox } = await ledger.tenant()
  const mandate = await ledger.mandate(sandbox, { allowedSellers: ['*'] })
  const pay = async (merchantDomain: string) => {
    const resourceUrl = `https://${merchantDomain}/data`
    return ledger.pay(sandbox, await ledger.hold(mandate, '1.00', { resourceUrl }), { merchantDomain })
  }
  return { client, pay }
}

async function listed(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ merchant_domain: string }>(
    'select merchant_domain from paid_sellers order by merchant_domain',
  )
  return rows.map((row) => row.merchant_domain)
}
