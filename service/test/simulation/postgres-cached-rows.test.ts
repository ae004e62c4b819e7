import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import type { PoolClient } from 'pg'

import { createIds } from '../../src/ids.ts'
import { StaleRowsError, type DriverTransaction } from '../../src/store/ledger/driver.ts'
import { Ledger } from '../../src/store/ledger/ledger.ts'
import { lock, look, type Read } from '../../src/store/ledger/operation.ts'
import { CachedRows } from '../../src/store/ledger/postgres/cached-rows.ts'
import { createPostgresDriver } from '../../src/store/ledger/postgres/postgres-driver.ts'
import { releaseExpiredPayments } from '../../src/store/ledger/operations/mandates.ts'
import { authorize, captureAuthorized } from '../../src/store/ledger/operations/authorizations.ts'
import type { TableRow } from '../../src/store/ledger/table.ts'
import {
  agents,
  authorizationPayers,
  authorizations,
  identities,
  mandates,
  payments,
} from '../../src/store/ledger/tables.ts'
import { openPool } from '../../src/store/ledger/postgres/connection.ts'
import { LedgerTenant } from '../../testing/ledger-tenant.ts'
import { postgresServers } from '../../testing/postgres.ts'
import { execute } from '../../testing/postgres-databases.ts'
import { openPostgres } from './driver-beds.ts'
import { inTransaction } from '../../testing/transactions.ts'

const stopwatch = { nowMs: () => performance.now(), sleep }

for (const server of postgresServers.filter(({ missing, isDistributed }) => !missing && !isDistributed)) {
  const about = (title: string) => `${server.name}: ${title}`

  test(about('payments whose rows are cached take one round trip each'), async (context) => {
    const { tenant, trips } = await openTenant(context)
    const mandateId = await tenant.mandate()
    // Its payment is added before any payment was read.
    const early = await tenant.proof(mandateId)
    await tenant.capture(await tenant.proof(mandateId))
    const before = trips()
    await tenant.capture(early)
    await tenant.capture(await tenant.proof(mandateId))
    assert.equal(trips() - before, 3)
  })

  test(about('payments of a shared budget take one round trip each'), async (context) => {
    const { tenant, trips } = await openTenant(context)
    const mandateId = await tenant.mandate(undefined, { budgetPath: [await tenant.budget()] })
    await tenant.capture(await tenant.proof(mandateId))
    const before = trips()
    await tenant.capture(await tenant.proof(mandateId))
    assert.equal(trips() - before, 2)
  })

  test(about('calls that wait for a row which is free again use the cache'), async (context) => {
    const { bed, tenant, trips } = await openTenant(context)
    const mandateId = await tenant.mandate()
    await tenant.proof(mandateId)
    const key = { accountId: tenant.caller.accountId, id: mandateId }
    const readOnceFree = () =>
      inTransaction(bed.driver, async ({ read, commit }) => {
        await read([lock(mandates, key)], { waitsForLocks: true })
        await commit([])
      })
    await readOnceFree()
    const before = trips()
    await readOnceFree()
    assert.equal(trips() - before, 1)
  })

  test(
    about('a row that another process has changed is read again before a decision uses it'),
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
      'a payment that another process has captured is refused, even if the mandate in the cache is current',
    ),
    async (context) => {
      const { bed, tenant, clock } = await openTenant(context)
      const mandateId = await tenant.mandate()
      // Only rows of tables that it reads are cached.
      await tenant.capture(await tenant.proof(mandateId))
      const held = await tenant.proof(mandateId)
      const other = createPostgresDriver(bed.pool)
      await tenant.on(new Ledger({ driver: other, stopwatch, random: Math.random })).capture(held)
      // It reads the mandate, but its cache still has the payment as open: together they would release what
      // is not held.
      const { accountId } = tenant.caller
      const sweep = { accountId, mandateId, nowMs: clock.ms, countId: 'unused' }
      for (let time = 0; time < 4; time++) await tenant.run(releaseExpiredPayments, sweep)
      assert.deepEqual(await tenant.capture(held), { outcome: 'failed', reason: 'nonce_reused' })
    },
  )

  test(
    about('cached rows that contradict each other are read again, instead of failing the call'),
    async (context) => {
      const { bed, tenant } = await openTenant(context)
      const driver = createPostgresDriver(bed.pool)
      const here = tenant.on(new Ledger({ driver, stopwatch, random: Math.random }))
      const authorized = async () => {
        const attempt = {
          ...tenant.captureCall(await tenant.proof(await tenant.mandate())),
          amountMicro: null,
        }
        const event = tenant.event('payment.authorized', attempt.nonce)
        await tenant.run(authorize, { ...attempt, captureSeconds: 60, event })
        return attempt
      }
      const readHere = (reads: Read[]) =>
        inTransaction(driver, async ({ read, commit }) => {
          const { found } = await read(reads, { waitsForLocks: false })
          await commit([])
          return found.map((rows) => rows.length)
        })
      await here.run(captureAuthorized, await authorized())
      const attempt = await authorized()
      const payment = { accountId: attempt.payerId, nonce: attempt.nonce }
      const [deadline] = (await bed.rowsOf(authorizations)) as TableRow<typeof authorizations>[]
      assert(deadline)
      // Its cache learns of the payment before, and of the rest after another process has captured it.
      assert.deepEqual(await readHere([look(payments, payment)]), [1])
      assert.equal((await tenant.run(captureAuthorized, attempt)).outcome, 'captured')
      const mandate = lock(mandates, { accountId: attempt.payerId, id: attempt.mandateId })
      const others = [look(authorizationPayers, payment), look(authorizations, deadline)]
      assert.deepEqual(await readHere([mandate, ...others]), [1, 0, 0])
      const { transactionId } = here.captureCall(here.hold(attempt.mandateId))
      assert.deepEqual(await here.run(captureAuthorized, { ...attempt, transactionId }), {
        outcome: 'refused',
        code: 'already_captured',
      })
    },
  )

  test(about('a changed row is read again even if the connection breaks meanwhile'), async (context) => {
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
  })

  test(about('a row that was read without a lock is checked, and so is a missing one'), async (context) => {
    const { bed, tenant } = await openTenant(context)
    const { accountId } = tenant.caller
    const key = { idpUserId: 'somebody' }
    const agent = { accountId, id: tenant.agentId }
    const readNames = () =>
      inTransaction(bed.driver, async ({ read, commit }) => {
        const { found } = await read([look(identities, key), look(agents, agent)], { waitsForLocks: false })
        await commit([])
        return found.map(([row]) => row?.['accountId'] ?? row?.['name'])
      })
    assert.deepEqual(await readNames(), [undefined, accountId])
    await execute(
      bed.url,
      `insert into identities (idp_user_id, account_id) select 'somebody', id from accounts`,
    )
    assert.deepEqual(await readNames(), [accountId, accountId])
    await execute(bed.url, 'delete from identities')
    assert.deepEqual(await readNames(), [undefined, accountId])
  })

  test(about('rows that were read without a lock are current once the locks are held'), async (context) => {
    const { bed, tenant } = await openTenant(context)
    const { accountId } = tenant.caller
    const mandate = { accountId, id: await tenant.mandate() }
    const agent = { accountId, id: tenant.agentId }
    const hold = (work: () => Promise<void>) =>
      inTransaction(bed.driver, async ({ read, commit }) => {
        const { found } = await read([lock(mandates, mandate), look(agents, agent)], { waitsForLocks: false })
        await work()
        const [[before] = [], [agentRow] = []] = found
        await commit([
          { table: mandates, before, now: { ...before, denials: Number(before?.['denials']) + 1 } },
        ])
        return agentRow?.['status']
      })
    assert.equal(await hold(async () => undefined), 'active')
    const statuses = await hold(async () => {
      await execute(bed.url, `update agents set status = 'revoked' where status = 'active'`)
      // Reads of other transactions do not replace the facts of this one.
      await inTransaction(bed.driver, ({ read }) =>
        read([look(agents, agent), look(mandates, mandate)], { waitsForLocks: true }),
      )
    })
    assert.equal(statuses, 'revoked')
    assert.equal((await bed.rowsOf(mandates))[0]?.['denials'], 2)
  })

  test(about('the commit fails if a cached row has changed, even if nothing is written'), async (context) => {
    const { bed, tenant } = await openTenant(context)
    const reads = [look(agents, { accountId: tenant.caller.accountId, id: tenant.agentId })]
    const readName = async ({ read, commit }: DriverTransaction) => {
      const { found, mayBeStale } = await read(reads, { waitsForLocks: false })
      await commit([])
      return [found[0]?.[0]?.['name'], mayBeStale]
    }
    assert.deepEqual(await inTransaction(bed.driver, readName), ['buyer', undefined])
    assert.deepEqual(await inTransaction(bed.driver, readName), ['buyer', true])
    await execute(bed.url, `update agents set name = 'renamed'`)
    const transaction = bed.driver.begin()
    await transaction.read(reads, { waitsForLocks: false })
    await assert.rejects(async () => transaction.commit([]), StaleRowsError)
    await transaction.rollBack()
    assert.deepEqual(await inTransaction(bed.driver, readName), ['renamed', undefined])
  })

  test(about('a row that others keep changing is soon no longer taken from the cache'), async (context) => {
    const { bed, tenant, trips } = await openTenant(context)
    const mandateId = await tenant.mandate()
    const rounds = 60
    await tenant.proof(mandateId)
    const before = trips()
    for (let round = 0; round < rounds; round++) {
      await execute(bed.url, 'update mandates set updated_at_ms = updated_at_ms + 1')
      await tenant.proof(mandateId)
    }
    // Two round trips for each, and two more for each attempt in one.
    assert.ok(trips() - before <= rounds * 2 + 16, `${trips() - before} trips`)
  })

  test(
    about('a process that freezes with a lock on a cached row delays only the calls for it'),
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
      assert.ok(performance.now() - startedAtMs < 150, 'the other call did not wait for it')
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

test('The cache is cleared when another server takes over', () => {
  const cache = new CachedRows()
  const read = look(identities, { idpUserId: 'somebody' })
  cache.meet('one')
  cache.learn(read, undefined, null)
  assert.equal(cache.find([read])?.length, 1)
  cache.meet('one')
  assert.equal(cache.find([read])?.length, 1)
  cache.meet('another')
  assert.equal(cache.find([read]), undefined)
})
