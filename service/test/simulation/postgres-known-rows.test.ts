import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import type { PoolClient } from 'pg'

import { createIds } from '../../src/ids.ts'
import { Ledger } from '../../src/store/ledger/ledger.ts'
import { lock, look } from '../../src/store/ledger/operation.ts'
import { KnownRows } from '../../src/store/ledger/postgres/known-rows.ts'
import { createPostgresDriver } from '../../src/store/ledger/postgres/postgres-driver.ts'
import { releaseExpiredPayments } from '../../src/store/ledger/operations/mandates.ts'
import { agents, identities, mandates } from '../../src/store/ledger/tables.ts'
import { openPool } from '../../src/store/ledger/postgres/connection.ts'
import { LedgerTenant } from '../../testing/ledger-tenant.ts'
import { postgresServers } from '../../testing/postgres.ts'
import { execute } from '../../testing/postgres-databases.ts'
import { openPostgres } from './driver-beds.ts'

const stopwatch = { nowMs: () => performance.now(), sleep }

for (const server of postgresServers.filter(({ missing, isDistributed }) => !missing && !isDistributed)) {
  const about = (title: string) => `${server.name}: ${title}`

  test(about('payments whose rows are known take one round trip each'), async (context) => {
    const { tenant, trips } = await openTenant(context)
    const mandateId = await tenant.mandate()
    await tenant.capture(await tenant.proof(mandateId))
    const before = trips()
    await tenant.capture(await tenant.proof(mandateId))
    assert.equal(trips() - before, 2)
  })

  test(
    about('a row that another process has changed is read anew before anything is decided on it'),
    async (context) => {
      const { bed, tenant } = await openTenant(context)
      const mandateId = await tenant.mandate()
      const held = await tenant.proof(mandateId)
      await tenant.proof(mandateId)
      await execute(bed.url, 'update mandates set max_total_micro = spent_micro + held_micro')
      await assert.rejects(tenant.proof(mandateId))
      await execute(bed.url, 'update mandates set epoch = epoch + 1')
      assert.deepEqual(await tenant.capture(held), { outcome: 'failed', reason: 'proof_expired' })
      assert.equal((await bed.rowsOf(mandates))[0]?.['spentMicro'], 0n)
    },
  )

  test(
    about(
      'a payment that another process has captured is refused, also by one that knows its mandate as it is',
    ),
    async (context) => {
      const { bed, tenant, clock } = await openTenant(context)
      const mandateId = await tenant.mandate()
      // Only rows of tables that it reads are kept.
      await tenant.capture(await tenant.proof(mandateId))
      const held = await tenant.proof(mandateId)
      const other = createPostgresDriver(bed.pool)
      await tenant.on(new Ledger({ driver: other, stopwatch, random: Math.random })).capture(held)
      // It reads the mandate, and still knows the payment as open: together they would release what is not held.
      const { accountId } = tenant.caller
      const sweep = { accountId, mandateId, nowMs: clock.ms, countId: 'unused' }
      for (let time = 0; time < 4; time++) await tenant.run(releaseExpiredPayments, sweep)
      assert.deepEqual(await tenant.capture(held), { outcome: 'failed', reason: 'nonce_reused' })
    },
  )

  test(
    about('a row that has changed is read anew also when the connection breaks meanwhile'),
    async (context) => {
      const { bed, tenant } = await openTenant(context)
      const mandateId = await tenant.mandate()
      await tenant.proof(mandateId)
      await execute(bed.url, 'update mandates set updated_at_ms = updated_at_ms + 1')
      let errors = 0
      bed.pool.once('acquire', ({ connection }: PoolClient) => {
        connection.once('errorMessage', () => {
          errors += 1
          connection.stream.destroy()
        })
      })
      await tenant.proof(mandateId)
      assert.equal(errors, 1)
    },
  )

  test(about('a row that was only looked at is checked, also one that was not there'), async (context) => {
    const { bed, tenant } = await openTenant(context)
    const { accountId } = tenant.caller
    const key = { idpUserId: 'somebody' }
    const agent = { accountId, id: tenant.agentId }
    const see = () =>
      bed.driver.transaction(async ({ read, commit }) => {
        const { found } = await read([look(identities, key), look(agents, agent)], { waitsForLocks: false })
        await commit([])
        return found.map(([row]) => row?.['accountId'] ?? row?.['name'])
      })
    assert.deepEqual(await see(), [undefined, accountId])
    await execute(
      bed.url,
      `insert into identities (idp_user_id, account_id) select 'somebody', id from accounts`,
    )
    assert.deepEqual(await see(), [accountId, accountId])
    await execute(bed.url, 'delete from identities')
    assert.deepEqual(await see(), [undefined, accountId])
  })

  test(about('what was looked at is as it is once the locks are held'), async (context) => {
    const { bed, tenant } = await openTenant(context)
    const { accountId } = tenant.caller
    const mandate = { accountId, id: await tenant.mandate() }
    const agent = { accountId, id: tenant.agentId }
    const hold = (work: () => Promise<void>) =>
      bed.driver.transaction(async ({ read, commit }) => {
        const { found } = await read([lock(mandates, mandate), look(agents, agent)], { waitsForLocks: false })
        await work()
        const [[before] = [], [looked] = []] = found
        await commit([
          { table: mandates, before, now: { ...before, denials: Number(before?.['denials']) + 1 } },
        ])
        return looked?.['status']
      })
    assert.equal(await hold(async () => undefined), 'active')
    const statuses = await hold(async () => {
      await execute(bed.url, `update agents set status = 'revoked' where status = 'active'`)
      // What others read meanwhile is not taken for what was decided on.
      await bed.driver.transaction(({ read }) =>
        read([look(agents, agent), look(mandates, mandate)], { waitsForLocks: true }),
      )
    })
    assert.equal(statuses, 'revoked')
    assert.equal((await bed.rowsOf(mandates))[0]?.['denials'], 2)
  })

  test(about('nothing is decided on known rows without a commit that checks them'), async (context) => {
    const { bed, tenant } = await openTenant(context)
    const key = { accountId: tenant.caller.accountId, id: tenant.agentId }
    const see = () =>
      bed.driver.transaction(({ read }) => read([look(agents, key)], { waitsForLocks: false }))
    await see()
    await execute(bed.url, `update agents set name = 'renamed'`)
    assert.equal((await see()).found[0]?.[0]?.['name'], 'renamed')
  })

  test(
    about('a row that others change all the time is not taken for known again and again'),
    async (context) => {
      const { bed, tenant, trips } = await openTenant(context)
      const mandateId = await tenant.mandate()
      const rounds = 60
      await tenant.proof(mandateId)
      const before = trips()
      for (let round = 0; round < rounds; round++) {
        await execute(bed.url, 'update mandates set updated_at_ms = updated_at_ms + 1')
        await tenant.proof(mandateId)
      }
      // Two for each, and two for each time that it was tried in one.
      assert.ok(trips() - before <= rounds * 2 + 16, `${trips() - before} trips`)
    },
  )

  test(
    about('a process that freezes with a row that is known delays only the calls for it'),
    async (context) => {
      const { bed, tenant } = await openTenant(context)
      const [frozen, other] = [await tenant.mandate(), await tenant.mandate()]
      const held = [await tenant.proof(frozen), await tenant.proof(other)] as const
      const pool = openPool(bed.url, { max: 1 })
      context.after(() => pool.end())
      const client = await pool.connect()
      await client.query('begin')
      await client.query(
        'select from mandates where id = (select mandate_id from payments where nonce = $1) for update',
        [held[0].nonce],
      )
      const startedAtMs = performance.now()
      const waiting = tenant.capture(held[0])
      assert.equal((await tenant.capture(held[1])).outcome, 'captured')
      assert.ok(performance.now() - startedAtMs < 150, 'it was not waited for')
      await client.query('rollback')
      client.release()
      assert.equal((await waiting).outcome, 'captured')
    },
  )

  async function openTenant(context: TestContext) {
    const bed = await openPostgres(server)
    context.after(() => bed.close())
    let trips = 0
    bed.pool.on('connect', (client: PoolClient) => {
      const connection = client.connection as unknown as { sync: () => void }
      const sync = connection.sync.bind(connection)
      connection.sync = () => {
        trips += 1
        sync()
      }
    })
    const clock = { ms: Date.now() }
    const ledger = new Ledger({ driver: createPostgresDriver(bed.pool), stopwatch, random: Math.random })
    const tenant = await LedgerTenant.create({ ledger, ids: createIds(() => clock.ms), clock })
    return { bed, tenant, clock, trips: () => trips }
  }
}

test('What is known of one server is forgotten when another takes its place', () => {
  const known = new KnownRows()
  const read = look(identities, { idpUserId: 'somebody' })
  known.meet('one')
  known.learn([read], new Map())
  assert.equal(known.find([read])?.length, 1)
  known.meet('one')
  assert.equal(known.find([read])?.length, 1)
  known.meet('another')
  assert.equal(known.find([read]), undefined)
})
