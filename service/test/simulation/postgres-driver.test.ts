import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import type { MicroUsdc } from '../../src/domain/money.ts'
import { idBytes, type IdKind } from '../../src/domain/type-id.ts'
import { createIds } from '../../src/ids.ts'
import { revokeAgent } from '../../src/store/ledger/several-transactions.ts'
import { lock, look } from '../../src/store/ledger/operation.ts'
import { Ledger, type LedgerOptions } from '../../src/store/ledger/ledger.ts'
import { RolledBackError, type Driver } from '../../src/store/ledger/driver.ts'
import { revokeApiKey } from '../../src/store/ledger/operations/api-keys.ts'
import { evaluate } from '../../src/store/ledger/operations/evaluations.ts'
import { releaseExpiredPayments } from '../../src/store/ledger/operations/mandates.ts'
import { issueProof } from '../../src/store/ledger/operations/payments.ts'
import { createPostgresDriver } from '../../src/store/ledger/postgres/postgres-driver.ts'
import {
  accounts,
  auditEvents,
  entries,
  identities,
  mandates,
  payments,
  sellerDomains,
  type MandateRow,
} from '../../src/store/ledger/tables.ts'
import { openPool } from '../../src/store/ledger/postgres/connection.ts'
import { StoreUnavailableError } from '../../src/store/store.ts'
import { openCommitThief } from '../../testing/commit-thief.ts'
import { LedgerTenant } from '../../testing/ledger-tenant.ts'
import { execute } from '../../testing/postgres-databases.ts'
import { postgresServers } from '../../testing/postgres.ts'
import { openPostgres } from './driver-beds.ts'
import { changeTransactions, inTransaction } from '../../testing/transactions.ts'

const amountMicro = 1_000_000n as MicroUsdc

for (const server of postgresServers.filter(({ missing, isDistributed }) => !missing && !isDistributed)) {
  const about = (title: string) => `${server.name}: ${title}`

  test(
    about('two runners that race for one budget never exceed it, and capture each payment once'),
    async (context) => {
      const { bed, tenant, open } = await openTenant(context)
      const budget = 40
      const tight = await tenant.mandate((BigInt(budget) * amountMicro) as MicroUsdc)
      const ample = await Promise.all([tenant.mandate(), tenant.mandate()])
      const runners = [open({ lanes: 2 }), open({ lanes: 2 })].map((ledger) => tenant.on(ledger))
      const outcomes: string[] = []
      await Promise.all(
        Array.from({ length: 120 }, async (_, task) => {
          const mandateId = [tight, ...ample][task % 2 === 0 ? 0 : 1 + (task % ample.length)] as string
          const [one, other] = task % 3 === 0 ? runners : runners.toReversed()
          const hold = await one?.proof(mandateId).catch(() => undefined)
          if (!hold) return
          const captured = await Promise.all([one?.capture(hold), other?.capture(hold)])
          outcomes.push(
            captured
              .map((outcome) => outcome?.outcome ?? '')
              .sort(compareTexts)
              .join(),
          )
        }),
      )
      assert.deepEqual([...new Set(outcomes)], ['captured,failed'])
      const rows = (await bed.rowsOf(mandates)) as unknown as MandateRow[]
      for (const { id, spentMicro, heldMicro, openPayments } of rows) {
        const paid = (await bed.rowsOf(entries)).filter(
          ({ kind, mandateId }) => kind === 'paid' && mandateId === id,
        )
        assert.equal(spentMicro, BigInt(paid.length) * amountMicro)
        assert.deepEqual([heldMicro, openPayments], [0n, 0])
      }
      assert.equal(rows.find(({ id }) => id === tight)?.spentMicro, BigInt(budget) * amountMicro)
    },
  )

  test(
    about('a frozen transaction that has locked a mandate delays only the calls for it'),
    async (context) => {
      const { bed, tenant } = await openTenant(context, { patienceMs: 1_000 })
      const frozen = await tenant.mandate()
      const others = await Promise.all(Array.from({ length: 5 }, () => tenant.mandate()))
      const held = await tenant.proof(frozen)
      const client = await connect(context, bed.url)
      await client.query('begin')
      await client.query('select from mandates where id = $1 for update', [uuidOf('mandate', frozen)])
      const startedAtMs = performance.now()
      const waiting = Promise.allSettled(Array.from({ length: 20 }, () => tenant.capture(held)))
      for (let round = 0; round < 10; round++) {
        await Promise.all(others.map(async (mandate) => tenant.capture(await tenant.proof(mandate))))
      }
      assert.ok(performance.now() - startedAtMs < 900, 'the others did not wait')
      for (const one of await waiting) {
        assert.ok(one.status === 'rejected' && one.reason instanceof StoreUnavailableError)
      }
      assert.ok(performance.now() - startedAtMs < 2_000, 'each has its own deadline')
      await client.query('rollback')
      assert.equal((await tenant.capture(held)).outcome, 'captured')
    },
  )

  for (const isKnown of [false, true]) {
    const rows = isKnown ? 'known rows' : 'rows that it has read'
    test(
      about(
        `a process that freezes after it has decided on ${rows} captures nothing with a key revoked since`,
      ),
      async (context) => {
        const { bed, tenant, open } = await openTenant(context)
        const { accountId, keyId: id } = tenant.caller
        const mandateId = await tenant.mandate()
        const freezing = freezeBeforeCommit(createPostgresDriver(bed.pool))
        const frozen = tenant.on(open({ driver: freezing.driver }))
        if (isKnown) await frozen.capture(await frozen.proof(mandateId))
        const hold = await (isKnown ? frozen : tenant).proof(mandateId)
        const { isFrozen, thaw } = freezing.freeze()
        const capturing = frozen.capture(hold)
        await isFrozen
        const startedAtMs = performance.now()
        const event = tenant.event('api_key.revoked', id)
        await tenant.run(revokeApiKey, [{ accountId, id, mayBeLast: true }, event])
        assert.ok(performance.now() - startedAtMs < 1_000, 'no call waits for the frozen process')
        thaw()
        assert.deepEqual(await capturing, { outcome: 'refused', code: 'invalid_api_key' })
        const payment = (await bed.rowsOf(payments)).find(({ nonce }) => nonce === hold.nonce)
        assert.equal(payment?.['status'], 'open')
      },
    )
  }

  test(
    about(
      'an agent is revoked while a frozen process has locked one of its mandates, and gets no more captures or proofs',
    ),
    async (context) => {
      const { bed, tenant, open } = await openTenant(context)
      const { accountId, environment } = tenant.caller
      const all = await Promise.all(Array.from({ length: 3 }, () => tenant.mandate()))
      const [locked, asked, free] = all as [string, string, string]
      const holds = await Promise.all(all.map((mandateId) => tenant.proof(mandateId)))
      const freezing = freezeBeforeCommit(createPostgresDriver(bed.pool))
      const frozen = tenant.on(open({ driver: freezing.driver, lanes: 2 }))
      const capturing = freezing.freeze()
      const captured = frozen.capture(holds[0]!)
      await capturing.isFrozen
      const granting = freezing.freeze()
      const granted = frozen.run(issueProof, { hold: frozen.hold(asked) })
      await granting.isFrozen
      const startedAtMs = performance.now()
      const agent = { accountId, environment, id: tenant.agentId }
      const event = tenant.event('agent.revoked', agent.id)
      const revoked = await revokeAgent(tenant, agent, event)
      assert.ok(typeof revoked === 'object' && revoked.status === 'revoked')
      assert.ok(performance.now() - startedAtMs < 2_000, 'it does not wait for the lock')
      const openPayments = async () =>
        new Map((await bed.rowsOf(mandates)).map((row) => [row['id'], row['openPayments']]))
      assert.equal((await openPayments()).get(free), 0)
      capturing.thaw()
      granting.thaw()
      assert.deepEqual(await captured, { outcome: 'failed', reason: 'proof_expired' })
      assert.equal((await granted).decision, 'denied')
      for (const mandateId of [locked, asked]) {
        await tenant.run(releaseExpiredPayments, { accountId, mandateId, nowMs: Date.now() })
      }
      assert.deepEqual([...(await openPayments()).values()], [0, 0, 0])
      const [recorded] = (await bed.rowsOf(auditEvents)).filter(({ id }) => id === event.id)
      assert.deepEqual(recorded?.['data'], { voided_holds: 1 })
      const kinds = (await bed.rowsOf(entries)).map(({ kind }) => kind)
      assert.deepEqual(kinds, ['denied'])
    },
  )

  test(
    about('a row that was read as missing may be added by others, and by the batch itself'),
    async (context) => {
      const { bed, tenant } = await openTenant(context)
      const { accountId } = tenant.caller
      const domain = { environment: 'sandbox', domain: 'shop.example' } as const
      const row = { ...domain, accountId, sellerId: 'seller_01h455vb4pex5vsknk084sn02q' }
      const add = (isAdded: boolean) =>
        inTransaction(bed.driver, async ({ read, commit }) => {
          await read([look(sellerDomains, domain)], { waitsForLocks: false })
          if (isAdded) return commit([{ table: sellerDomains, before: undefined, now: row }])
          await inTransaction(bed.driver, (other) =>
            other.commit([{ table: sellerDomains, before: undefined, now: row }]),
          )
          const identity = { idpUserId: 'somebody', accountId }
          return commit([{ table: identities, before: undefined, now: identity }])
        })
      await assert.rejects(add(false), RolledBackError)
      assert.deepEqual(
        (await bed.rowsOf(identities)).filter(({ idpUserId }) => idpUserId === 'somebody'),
        [],
      )
      await execute(bed.url, 'delete from seller_domains')
      await add(true)
      assert.deepEqual(await bed.rowsOf(sellerDomains), [row])
    },
  )

  test(
    about('a call that adds a row which a frozen transaction also adds delays no other'),
    async (context) => {
      const { bed, tenant } = await openTenant(context, { patienceMs: 3_000 })
      const [one, other] = [await tenant.mandate(), await tenant.mandate()]
      const frozen = await connect(context, bed.url)
      const proposal = tenant.proposal(one)
      await frozen.query('begin')
      await frozen.query(
        `insert into evaluations (account_id, id, environment, subject, agent_id, mandate_id, amount_text, amount_micro,
         currency, resource_url, created_at_ms) values ($1, $2, 'sandbox', 'transaction', '', '', '', 1, 'USDC', '', 1)`,
        [uuidOf('account', proposal.accountId), uuidOf('transaction', proposal.id)],
      )
      const startedAtMs = performance.now()
      const stuck = tenant.run(evaluate, proposal)
      const beside = Promise.all(Array.from({ length: 20 }, () => tenant.proof(other)))
      await beside
      await tenant.proof(other)
      assert.ok(performance.now() - startedAtMs < 1_500, 'the others did not wait')
      await frozen.query('rollback')
      assert.equal((await stuck).decision, 'approved')
    },
  )

  test(about('reads are current once the locks are held'), async (context) => {
    const { bed, tenant } = await openTenant(context)
    const { accountId } = tenant.caller
    const key = { accountId, id: await tenant.mandate() }
    const client = await connect(context, bed.url)
    await client.query('begin')
    await client.query('update mandates set epoch = 7 where id = $1', [uuidOf('mandate', key.id)])
    const reads = [lock(mandates, key), look(accounts, { id: accountId })]
    const reading = inTransaction(bed.driver, ({ read }) => read(reads, { waitsForLocks: true }))
    await untilWaiting(client)
    await client.query('update accounts set name = $1', ['changed meanwhile'])
    await client.query('commit')
    const { found, blocked } = await reading
    assert.deepEqual(
      [found[0]?.[0]?.['epoch'], found[1]?.[0]?.['name'], blocked.size],
      [7, 'changed meanwhile', 0],
    )
  })

  test(
    about('rows locked by another transaction are reported, both rows and ranges, and the others are read'),
    async (context) => {
      const { bed, tenant } = await openTenant(context)
      const { accountId, environment } = tenant.caller
      const [one, other] = [await tenant.mandate(), await tenant.mandate()]
      const client = await connect(context, bed.url)
      await client.query('begin')
      await client.query('select from mandates where id = $1 for update', [uuidOf('mandate', one)])
      const range = {
        kind: 'range',
        table: mandates,
        where: { accountId, environment },
        orderBy: 'id',
        isLocked: true,
      } as const
      const reads = [
        lock(mandates, { accountId, id: one }),
        lock(mandates, { accountId, id: other }),
        { ...range, limit: 1 },
        { ...range, after: one, limit: 5 },
        look(mandates, { accountId, id: one }),
      ]
      const { found, blocked } = await inTransaction(bed.driver, ({ read }) =>
        read(reads, { waitsForLocks: false }),
      )
      assert.deepEqual(
        found.map((rows) => rows.map(({ id }) => id)),
        [[], [other], [], [other], [one]],
      )
      assert.deepEqual([...blocked], [reads[0], reads[2]])
    },
  )

  test(about('changing a missing row rolls everything back'), async (context) => {
    const { bed, tenant } = await openTenant(context)
    const mandateId = await tenant.mandate()
    const [mandate] = (await bed.rowsOf(mandates)) as unknown as MandateRow[]
    assert(mandate)
    const payment = await tenant.proof(mandateId)
    const [row] = await bed.rowsOf(payments)
    const gone = { ...row, nonce: payment.nonce.replace(/.{6}$/, 'ffffff') }
    for (const now of [{ ...gone, epoch: 5 }, undefined]) {
      const changes = [
        { table: mandates, before: mandate, now: { ...mandate, epoch: 9 } },
        { table: payments, before: gone, now },
      ]
      await assert.rejects(
        inTransaction(bed.driver, ({ commit }) => commit(changes)),
        { code: '22012' },
      )
      const [left] = await bed.rowsOf(mandates)
      assert.equal(left?.['epoch'], mandate.epoch)
    }
  })

  test(about('captures and proofs update mandates and payments in place'), async (context) => {
    const { bed, tenant } = await openTenant(context)
    const mandateId = await tenant.mandate()
    const holds = await Promise.all(Array.from({ length: 1_000 }, () => tenant.proof(mandateId)))
    await Promise.all(holds.map((hold) => tenant.capture(hold)))
    await bed.pool.end()
    const client = await connect(context, bed.url)
    const { rows } = await client.query<{ relname: string; updated: string; hot: string }>(
      `select relname, n_tup_upd as updated, n_tup_hot_upd as hot from pg_stat_user_tables where relname = any ($1)`,
      [['payments', 'mandates']],
    )
    for (const { relname, updated, hot } of rows) {
      assert.ok(Number(updated) >= (relname === 'payments' ? 1_000 : 10), relname)
      assert.ok(Number(hot) >= 0.95 * Number(updated), `${relname}: ${hot} of ${updated}`)
    }
  })

  for (const theft of ['answer', 'commit', 'late', 'unheard'] as const) {
    test(about(`a rerun after a stolen COMMIT duplicates nothing (${theft})`), async (context) => {
      const { bed, tenant, open } = await openTenant(context)
      const mandateId = await tenant.mandate()
      const captured = await tenant.proof(mandateId)
      const thief = await openCommitThief(bed.url)
      context.after(() => thief.close())
      const robbed = tenant.on(open({}, thief.url))
      const runs = [
        () => robbed.proof(mandateId),
        async () => assert.equal((await robbed.capture(captured)).outcome, 'captured'),
        () => robbed.run(evaluate, robbed.proposal(mandateId)),
      ]
      for (const [index, run] of runs.entries()) {
        thief.steal(theft)
        const done = run()
        while (thief.stolen() === index) await sleep(1)
        // The rerun is in progress: it waits for the rows that the first attempt has locked or added.
        if (theft === 'late') await sleep(100)
        await thief.deliver()
        await done
        assert.equal(thief.stolen(), index + 1)
      }
      const [mandate] = (await bed.rowsOf(mandates)) as unknown as MandateRow[]
      assert.deepEqual(
        [mandate?.spentMicro, mandate?.heldMicro, mandate?.openPayments],
        [amountMicro, amountMicro, 1],
      )
      const kinds = (await bed.rowsOf(entries)).map(({ kind }) => String(kind)).sort(compareTexts)
      assert.deepEqual(kinds, ['approved', 'paid'])
    })
  }

  async function openTenant(context: TestContext, options: Partial<LedgerOptions> = {}) {
    const bed = await openPostgres(server)
    context.after(() => bed.close())
    const clock = { ms: Date.now() }
    const open = (own: Partial<LedgerOptions>, url?: string) => {
      const pool = url === undefined ? bed.pool : openPool(url, { max: 4 })
      if (url !== undefined) context.after(() => pool.end())
      return new Ledger({
        driver: createPostgresDriver(pool),
        stopwatch: { nowMs: () => performance.now(), sleep },
        random: Math.random,
        ...options,
        ...own,
      })
    }
    const tenant = await LedgerTenant.create({ ledger: open({}), ids: createIds(() => clock.ms), clock })
    return { bed, tenant, open, clock }
  }
}

/** A driver that can be paused between a transaction's reads and its commit, like a frozen process. */
function freezeBeforeCommit(driver: Driver) {
  let gate: { readonly reached: () => void; readonly thawed: Promise<void> } | undefined
  const freezing = changeTransactions(driver, (transaction) => ({
    commit: async (changes) => {
      const met = gate
      met?.reached()
      await met?.thawed
      return transaction.commit(changes)
    },
  }))
  return {
    driver: freezing,
    freeze() {
      const { promise: isFrozen, resolve: reached } = Promise.withResolvers<void>()
      const { promise: thawed, resolve } = Promise.withResolvers<void>()
      const own = { reached, thawed }
      gate = own
      const thaw = () => {
        if (gate === own) gate = undefined
        resolve()
      }
      return { isFrozen, thaw }
    },
  }
}

async function connect(context: TestContext, url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  context.after(() => client.end())
  return client
}

/** Resolves once a transaction waits for a lock. */
async function untilWaiting(client: Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query('select from pg_locks where not granted')
    if (rows.length > 0) return
    await sleep(5)
  }
}

function uuidOf(kind: IdKind, id: string): string | undefined {
  return idBytes(kind, id)?.toString('hex')
}

function compareTexts(one: string, other: string): number {
  return one < other ? -1 : 1
}
