import assert from 'node:assert/strict'
import { test } from 'node:test'

import { postgresServers } from '../testing/postgres.ts'
import { allAtOnce, makePurchase, openLoadClient, tally } from '../testing/load.ts'
import { makeFolder, runProcess, startProcess } from './process.ts'

const chosen = {
  PURSER_BOOTSTRAP_SANDBOX_KEY: 'svc_sand_chosen-for-this-test',
  PURSER_BOOTSTRAP_PRODUCTION_KEY: 'svc_prod_chosen-for-this-test',
  PURSER_LOG_LEVEL: 'silent',
}
const key = chosen.PURSER_BOOTSTRAP_SANDBOX_KEY

for (const { name, missing, createEmptyDatabase } of postgresServers) {
  test(
    `A service on ${name} starts, pays, stops, and continues where it was`,
    { skip: missing ?? false },
    async (context) => {
      const folder = makeFolder(context)
      const database = await createEmptyDatabase()
      const settings = { ...chosen, PURSER_DATABASE: database.url }
      const first = await startProcess(context, { folder, settings })
      const client = openLoadClient(first.url, key, 4)
      const purchase = await makePurchase(client)
      const [paid, open] = await allAtOnce(2, () => client.askForProof(purchase))
      assert(paid && open)
      assert.equal((await client.verify(paid.body.proof)).status, 200)
      client.close()
      const ending = await first.kill('SIGTERM')
      assert.equal(ending.code, 0, ending.stderr)
      const { password } = new URL(database.url)
      assert(password === '' || !ending.stdout.includes(password), 'the password is not printed')
      assert.match(ending.stdout, /Data +postgresql:\/\/purser@127\.0\.0\.1:\d+\/purser_test/)
      assert.match(ending.stdout, /Secret +in the database/)

      const second = await startProcess(context, { folder, settings })
      const again = openLoadClient(second.url, key, 4)
      assert.equal((await again.verify(open.body.proof)).status, 200, 'the secret is the same')
      assert.equal((await again.verify(paid.body.proof)).body.reason, 'nonce_reused')
      const mandate = await again.send('GET', `/mandates/${purchase.mandateId}`)
      assert.equal(mandate.body.spent_total, '2.00')
      again.close()
      await second.kill('SIGTERM')
      await database.drop()
    },
  )

  test(
    `Two services on one database of ${name} behave like one`,
    { skip: missing ?? false },
    async (context) => {
      const folder = makeFolder(context)
      const database = await createEmptyDatabase()
      const settings = { ...chosen, PURSER_DATABASE: database.url, PURSER_WORKERS: '1' }
      const services = await allAtOnce(2, () => startProcess(context, { folder, settings }))
      const [a, b] = services.map(({ url }) => openLoadClient(url, key, 32))
      assert(a && b)
      const either = (index: number) => (index % 2 === 0 ? a : b)

      const purchase = await makePurchase(a, { max_spend_total: '100.00' })
      const proofs = await allAtOnce(500, (index) => either(index).askForProof(purchase))
      assert.deepEqual(tally(proofs), { '201 ok': 100, '402 total_budget_exceeded': 400 })
      const granted = proofs.filter(({ status }) => status === 201)
      const one = granted[0] ?? assert.fail()
      const race = await allAtOnce(60, (index) => either(index).verify(one.body.proof))
      assert.deepEqual(tally(race), { '200 ok': 1, '402 nonce_reused': 59 })

      const key2 = await a.send('POST', '/accounts/api-keys', {
        body: { role: 'merchant', environment: 'sandbox' },
      })
      const merchant = openLoadClient(services[1]?.url ?? '', key2.body.key, 1)
      assert.equal((await merchant.verify(granted[1]?.body.proof)).status, 200)
      assert.equal((await a.send('DELETE', `/accounts/api-keys/${key2.body.id}`)).status, 200)
      assert.equal((await merchant.verify(granted[2]?.body.proof)).status, 401, 'a revoked key')

      assert.equal((await a.send('PATCH', `/agents/${purchase.agentId}/revoke`)).status, 200)
      assert.equal((await b.verify(granted[3]?.body.proof)).body.reason, 'proof_expired', 'a revoked agent')
      assert.equal((await b.askForProof(purchase)).body.reason_code, 'agent_revoked')
      assert.equal((await b.evaluate(purchase)).body.reason_code, 'agent_revoked')
      const mandate = await b.send('GET', `/mandates/${purchase.mandateId}`)
      assert.deepEqual([mandate.body.spent_total, mandate.body.held_total], ['2.00', '0.00'])
      for (const client of [a, b, merchant]) client.close()
      for (const service of services) assert.equal((await service.kill('SIGTERM')).code, 0)
      await database.drop()
    },
  )
}

test('A service that cannot reach its database says so in one sentence and exits', async (context) => {
  const settings = { PURSER_DATABASE: 'postgresql://purser:hush@127.0.0.1:1/purser' }
  const ending = await runProcess(context, { folder: makeFolder(context), settings })
  assert.equal(ending.code, 1)
  assert.equal(
    ending.stderr,
    'Purser cannot start: No PostgreSQL server answers at postgresql://purser@127.0.0.1:1/purser (ECONNREFUSED); start it, or correct PURSER_DATABASE.\n',
  )
})
