import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  OutcomeUnknownError,
  RolledBackError,
  RowExistsError,
  type Driver,
  type NetChange,
} from '../../src/store/ledger/driver.ts'
import { sumsOfParts, totalsOf } from '../../src/store/ledger/activity.ts'
import { Ledger } from '../../src/store/ledger/ledger.ts'
import { addUpActivity } from '../../src/store/ledger/operations/activity.ts'
// Declares every operation.
import '../../src/store/ledger/ledger-store.ts'
import { lock, operationsByName, type Operation } from '../../src/store/ledger/operation.ts'
import { mandateOf } from '../../src/store/ledger/sqlite/indexed-mandates.ts'
import { keyText, type Table } from '../../src/store/ledger/table.ts'
import {
  allTables,
  entries,
  identities,
  payments,
  sellerDomains,
  type ActivityPartsRow,
  type ActivityRow,
  type EntryRow,
} from '../../src/store/ledger/tables.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { driverBeds, type DriverBed } from './driver-beds.ts'
import type { RandomCall } from './random-call.ts'
import { RandomCalls } from './random-calls.ts'
import { changeTransactions, inTransaction } from '../../testing/transactions.ts'

type Row = Readonly<Record<string, unknown>>

const callsPerSeed = 3_600
const lastTransactionId = `txn_7${'z'.repeat(25)}`
const accountId = 'acct_01h455vb4pex5vsknk084sn02q'

for (const [name, open] of Object.entries(driverBeds)) {
  test(`${name}: an existing row is distinguished from other failures, and a failed batch leaves nothing`, async () => {
    await using bed = disposable(await open())
    const first = { idpUserId: 'first', accountId }
    const second = { idpUserId: 'second', accountId }
    await commit(bed.driver, [{ table: identities, before: undefined, now: first }])
    const both = [second, first].map((now) => ({ table: identities, before: undefined, now }))
    await assert.rejects(commit(bed.driver, both), RowExistsError)
    assert.deepEqual(await bed.rowsOf(identities), [first])
    // The driver itself does not track what it has rolled back.
    const found = await inTransaction(bed.driver, ({ read }) =>
      read([{ kind: 'row', table: identities, key: second, isLocked: false }], { waitsForLocks: false }),
    )
    assert.deepEqual(found.found, [[]])
  })

  test(`${name}: what a transaction wrote is found, replaced and removed by its key`, async () => {
    await using bed = disposable(await open())
    const row = {
      environment: 'sandbox',
      domain: 'shop.example',
      accountId,
      sellerId: 'seller_01h455vb4pex5vsknk084sn02q',
    }
    const moved = { ...row, sellerId: 'seller_01h455vb4pex5vsknk084sn02r' }
    const other = { ...row, environment: 'production' }
    const read = async () => {
      const key = { environment: 'sandbox', domain: 'shop.example' }
      const answer = await inTransaction(bed.driver, (transaction) =>
        transaction.read([{ kind: 'row', table: sellerDomains, key, isLocked: true }], {
          waitsForLocks: false,
        }),
      )
      return answer.found[0]
    }
    assert.deepEqual(await read(), [])
    await commit(bed.driver, [
      { table: sellerDomains, before: undefined, now: row },
      { table: sellerDomains, before: undefined, now: other },
    ])
    assert.deepEqual(await read(), [row])
    await commit(bed.driver, [{ table: sellerDomains, before: row, now: moved }])
    assert.deepEqual(await read(), [moved])
    await commit(bed.driver, [{ table: sellerDomains, before: moved, now: undefined }])
    assert.deepEqual(await read(), [])
    assert.deepEqual(await bed.rowsOf(sellerDomains), [other])
  })

  test(`${name}: reads by an invented id find nothing`, async () => {
    await using bed = disposable(await open())
    const answer = await inTransaction(bed.driver, ({ read }) =>
      read(
        ['', 'made up', '01h455vb4pex5vsknk084sn02q', 'é'.repeat(2_000)].flatMap(
          (text) =>
            [
              { kind: 'row', table: payments, key: { accountId, nonce: text }, isLocked: true },
              {
                kind: 'range',
                table: payments,
                where: { accountId, mandateId: text, epoch: 0 },
                orderBy: 'expiresAtMs',
                upTo: 1,
                limit: 10,
                isLocked: false,
              },
            ] as const,
        ),
        { waitsForLocks: false },
      ),
    )
    assert.ok(answer.found.every((rows) => rows.length === 0))
  })
}

const usedTables = new Set<string>()
const usedOperations = new Set<string>([addUpActivity.name])
const silentOperations = new Set<string>()
let namedMandates = 0

for (const [seed, faultPercent] of [
  [1, 0],
  [2, 20],
] as const) {
  test(`The same calls have the same outcomes and leave the same rows with every driver (seed ${seed}, ${faultPercent}% faults)`, async () => {
    // Opened first: the calls on one bed leave the others no time to connect.
    const beds = await Promise.all(
      Object.entries(driverBeds).map(async ([name, open]) => ({ name, opened: await open() })),
    )
    const [expected, ...others] = await Promise.all(
      beds.map(async ({ name, opened }) => {
        await using bed = disposable(opened)
        return { name, ...(await play(bed, { seed, faultPercent })) }
      }),
    )
    assert(expected)
    assert.ok(new Set(expected.outcomes).size > 100)
    for (const [table, rows] of expected.rows) if (rows.length > 0) usedTables.add(table)
    assert.deepEqual(countedActivity(expected.rows), recordedActivity(expected.rows))
    for (const { name, outcomes, rows } of others) {
      for (const [index, outcome] of outcomes.entries()) {
        assert.equal(outcome, expected.outcomes[index], `${name}, call ${index}`)
      }
      for (const { name: table } of allTables)
        assert.deepEqual(rows.get(table), expected.rows.get(table), `${name}: ${table}`)
    }
  })
}

test('The random calls leave rows in every table', () => {
  assert.deepEqual(
    allTables.map(({ name }) => name).filter((name) => !usedTables.has(name)),
    [],
  )
})

test('The random calls make every operation', () => {
  assert.deepEqual(
    [...operationsByName.keys()].filter((name) => !usedOperations.has(name)),
    [],
  )
})

test('The mandate of an entry is named by the call that adds it, or by its outcome', () => {
  assert.ok(namedMandates > 1_000)
  assert.deepEqual([...silentOperations], [])
})

/**
 * How many entries of each kind the console's sums and the parts not yet added to them count, and what was
 * paid.
 */
function countedActivity(rows: ReadonlyMap<string, readonly Row[]>) {
  const kept = (rows.get('activity') ?? []) as unknown as readonly ActivityRow[]
  const waiting = (rows.get('activity_parts') ?? []) as unknown as readonly ActivityPartsRow[]
  assert.ok(kept.length > 0 && waiting.length > 0)
  const sums = [...kept, ...sumsOfParts(waiting.flatMap(({ parts }) => parts))].flatMap((sum) =>
    sum.dimension === 'all' ? [totalsOf(sum)] : [],
  )
  return {
    paid: sums.reduce((sum, { paidCount }) => sum + paidCount, 0),
    paidMicro: sums.reduce((sum, { paidMicro }) => sum + paidMicro, 0n),
    approved: sums.reduce((sum, { approvedCount }) => sum + approvedCount, 0),
    denied: sums.reduce((sum, { deniedCount }) => sum + deniedCount, 0),
  }
}

/** Like `countedActivity`, counted from the journal. */
function recordedActivity(rows: ReadonlyMap<string, readonly Row[]>) {
  const journal = (rows.get('entries') ?? []) as unknown as readonly EntryRow[]
  const paid = journal.filter(({ kind }) => kind === 'paid')
  return {
    paid: paid.length,
    paidMicro: paid.reduce((sum, { amountMicro }) => sum + amountMicro, 0n),
    approved: journal.filter(({ kind }) => kind === 'approved').length,
    denied: journal.reduce(
      (sum, { kind, count }) => sum + (kind === 'denied' || kind === 'more_denied' ? count : 0),
      0,
    ),
  }
}

/** Makes random calls in batches, and returns their outcomes and the tables. */
async function play(bed: DriverBed, options: { readonly seed: number; readonly faultPercent: number }) {
  const random = seededRandom(options.seed)
  const calls = new RandomCalls(options.seed)
  let nowMs = 0
  const ledger = new Ledger({
    driver: withFaults(bed.driver, options),
    stopwatch: { nowMs: () => nowMs, sleep: async (ms) => void (nowMs += ms) },
    random: () => 0,
  })
  const outcomes: string[] = []
  for (let made = 0; made < callsPerSeed;) {
    const batch = Array.from({ length: 1 + random.below(32) }, () => calls.next())
    for (const { operation } of batch) usedOperations.add(operation.name)
    const settled = await Promise.allSettled(
      batch.map(({ operation, call }) => ledger.run(namingMandates(operation), call)),
    )
    outcomes.push(...settled.map((one, index) => outcomeText(batch[index], one)))
    made += batch.length
    if (random.below(8) > 0) continue
    await Promise.all(
      calls.accountIds.map((id) =>
        ledger.run(addUpActivity, { accountId: id, upToId: lastTransactionId, limit: 3 }),
      ),
    )
  }
  const rows = new Map<string, readonly Row[]>()
  for (const table of allTables) rows.set(table.name, inOrder(table, await bed.rowsOf(table)))
  return { outcomes, rows }
}

/** Notes operations of which neither the call nor the outcome names the mandate of an entry: a cache of SQLite relies on it. */
function namingMandates(operation: Operation<unknown, unknown>): Operation<unknown, unknown> {
  return {
    ...operation,
    decide(call, facts) {
      const decision = operation.decide(call, facts)
      for (const { table, row } of decision.changes) {
        if (table !== entries || row['mandateId'] === null) continue
        namedMandates += 1
        if (mandateOf(call) !== row['mandateId'] && mandateOf(decision.outcome) !== row['mandateId'])
          silentOperations.add(operation.name)
      }
      return decision
    },
  }
}

/** Rolls some transactions back, and loses the answers of others. */
function withFaults(driver: Driver, { seed, faultPercent }: { seed: number; faultPercent: number }): Driver {
  const random = seededRandom(seed)
  return changeTransactions(driver, (transaction) => ({
    async commit(changes) {
      const dice = random.below(100)
      if (dice * 2 < faultPercent) throw new RolledBackError('two transactions met')
      await transaction.commit(changes)
      if (dice < faultPercent) throw new OutcomeUnknownError('the connection has ended')
    },
  }))
}

function outcomeText(call: RandomCall | undefined, settled: PromiseSettledResult<unknown>): string {
  const outcome = settled.status === 'fulfilled' ? settled.value : `failed: ${(settled.reason as Error).name}`
  const text = JSON.stringify(outcome, (_, part: unknown) => {
    if (typeof part === 'bigint') return String(part)
    const isObject = typeof part === 'object' && part !== null && !Array.isArray(part)
    // The fields of a row are in the order of its table, or in that of its creation.
    return isObject
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part
  })
  return `${call?.operation.name} ${text}`
}

/** The declared columns of rows, in key order. */
function inOrder(table: Table, rows: readonly Row[]): Row[] {
  const names = Object.keys(table.columns)
  return rows
    .map((row) => Object.fromEntries(names.map((name) => [name, row[name]])))
    .sort((one, other) => (keyText(table, one) < keyText(table, other) ? -1 : 1))
}

/** Locks the rows that it changes, like operations do. */
function commit(driver: Driver, changes: readonly NetChange[]) {
  const locks = changes.flatMap(({ table, before }) => (before ? [lock(table, before as never)] : []))
  return inTransaction(driver, async (transaction) => {
    if (locks.length > 0) await transaction.read(locks, { waitsForLocks: true })
    await transaction.commit(changes)
  })
}

function disposable(bed: DriverBed) {
  return { ...bed, [Symbol.asyncDispose]: () => bed.close() }
}
