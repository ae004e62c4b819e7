import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Histogram } from './histogram.ts'
import { LedgerCheck } from './ledger.ts'
import type { StoreKind } from './ledgers.ts'
import { readOptions } from './options.ts'
import { makePlan } from './plan.ts'
import type { Block, Order } from './rig.ts'
import { judge, medianOf } from './verdicts.ts'

test('A percentile is within 1/64 of the exact one, however large the durations are', () => {
  for (const scale of [1, 37, 1_000, 250_000]) {
    const histogram = new Histogram()
    for (let micros = 1; micros <= 1_000; micros++) histogram.record(micros * scale)
    for (const share of [0.5, 0.99, 0.999]) {
      const exact = share * 1_000 * scale
      const found = histogram.percentile(share)
      assert.ok(Math.abs(found - exact) <= exact / 64 + 1, `${share} of ${scale}: ${found}, not ${exact}`)
    }
  }
})

test('A histogram that is serialized and added counts the same', () => {
  const histogram = new Histogram()
  for (const micros of [0, 3, 63, 64, 65, 127, 128, 129, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
    histogram.record(micros)
  }
  const sum = new Histogram([...histogram.counts])
  sum.add(histogram)
  assert.equal(histogram.total, 10)
  assert.equal(sum.total, 20)
  assert.equal(sum.percentile(0.5), histogram.percentile(0.5))
  assert.ok(Number.isNaN(new Histogram().percentile(0.5)))
})

test('The median of an even number of rounds is between the middle two', () => {
  assert.equal(medianOf([9, 1, 5]), 5)
  assert.equal(medianOf([4, 1, 2, 9]), 3)
  assert.ok(Number.isNaN(medianOf([])))
})

test('In every comparison each process runs equally often in each position and direction', () => {
  for (const flags of [[], ['--quick'], ['--store', 'postgres'], ['--store', 'postgres', '--quick']]) {
    const reading = readOptions(flags)
    assert('options' in reading)
    const comparisons = makePlan(reading.options).filter(({ name }) => name.includes('client'))
    assert.equal(comparisons.length, 2)
    for (const { name, rounds } of comparisons)
      assert.equal(rounds.length % 4, 0, `${name} ${flags.join(' ')}`)
  }
})

const quickly = new Histogram()
quickly.record(2_000)

function block(order: Partial<Order>, perSecond: number, latency = quickly): Block {
  return {
    service: 'service',
    flow: 'verify',
    clients: 64,
    spread: 'uniform',
    seconds: 1,
    ...order,
    operations: 1,
    captured: 1,
    latency: latency.counts,
    clientShare: 0.5,
    unexpected: 0,
    sample: undefined,
    perSecond,
    cpuMicros: 1,
    databaseMicros: undefined,
  }
}

/** Rounds that meet every target exactly, except for overrides. */
function rounds({ verify = 450, alone = 95, latency = quickly } = {}): Block[][] {
  const without = { service: 'service without group commit' } as const
  return [
    [
      block(without, 150),
      block({ spread: 'hot' }, 427.5),
      block({}, verify, latency),
      block({ service: 'echo', flow: 'echo' }, 1_000),
    ],
    [block({ clients: 1 }, alone), block({ ...without, clients: 1 }, 100)],
    // Other flows are never mistaken for the compared one.
    [block({ flow: 'evaluate' }, 1), block({ flow: 'evaluate', spread: 'hot' }, 1)],
  ]
}

function missed(measured: Block[][], store: StoreKind = 'sqlite'): string[] {
  return judge(measured, store).flatMap(({ id, isMet }) => (isMet ? [] : [id]))
}

test('Targets that are just met are met, and each can be missed separately', () => {
  const slowly = new Histogram()
  slowly.record(11_000)
  assert.deepEqual(missed(rounds()), [])
  assert.deepEqual(missed(rounds({ verify: 449 })), ['echo', 'group-commit'])
  assert.deepEqual(missed(rounds({ verify: 451 })), ['hot'])
  assert.deepEqual(missed(rounds({ alone: 94 })), ['one-client'])
  assert.deepEqual(missed(rounds({ latency: slowly })), ['p99'])
})

test('A target that was not measured is missed', () => {
  assert.deepEqual(missed([]), ['echo', 'group-commit', 'hot', 'one-client', 'p99'])
  assert.deepEqual(missed([], 'postgres'), [...singles, 'hot', 'echo', 'one-client'])
})

const singles = ['one-transaction-a-request', 'one-transaction-a-request-hot']

/** Rounds on PostgreSQL that meet every target exactly, except for overrides. */
function postgresRounds({
  verify = 500,
  hot = 450,
  guarded = 100,
  guardedHot = 50,
  locked = 200,
  lockedHot = 75,
  echo = 5000 / 3,
  alone = 95,
} = {}): Block[][] {
  const without = { service: 'service without group commit' } as const
  return [
    [
      block({ service: 'guarded update' }, guarded),
      block({ service: 'guarded update', spread: 'hot' }, guardedHot),
      block({ service: 'select for update' }, locked),
      block({ service: 'select for update', spread: 'hot' }, lockedHot),
      block({ spread: 'hot' }, hot),
      block({}, verify),
      block({ service: 'echo', flow: 'echo' }, echo),
      // Informational figures, not targets.
      block(without, 10_000),
      block({ service: 'raw SQL', clients: 16 }, 10_000),
      block({ service: 'raw SQL', clients: 16, spread: 'hot' }, 10_000),
    ],
    [block({ clients: 1 }, alone), block({ ...without, clients: 1 }, 100)],
  ]
}

function missedOnPostgres(changes: Parameters<typeof postgresRounds>[0]): string[] {
  return missed(postgresRounds(changes), 'postgres')
}

test('On PostgreSQL, too, targets that are just met are met, and each can be missed separately', () => {
  assert.deepEqual(missedOnPostgres({}), [])
  assert.deepEqual(missedOnPostgres({ locked: 201 }), ['one-transaction-a-request'])
  assert.deepEqual(missedOnPostgres({ lockedHot: 76 }), ['one-transaction-a-request-hot'])
  assert.deepEqual(missedOnPostgres({ verify: 501 }), ['hot'])
  assert.deepEqual(missedOnPostgres({ echo: 1_700 }), ['echo'])
  assert.deepEqual(missedOnPostgres({ alone: 94 }), ['one-client'])
})

test('The better of the two one-transaction-per-request variants counts', () => {
  const swapped = { guarded: 201, locked: 100, guardedHot: 76, lockedHot: 50 }
  assert.deepEqual(missedOnPostgres(swapped), singles)
})

test('Where a round has several blocks of a kind, their mean counts', () => {
  const alone = { clients: 1 } as const
  const without = { ...alone, service: 'service without group commit' } as const
  const round = [block(alone, 80), block(without, 100), block(without, 90), block(alone, 110)]
  const verdict = judge([round], 'postgres').find(({ id }) => id === 'one-client')
  assert.deepEqual(verdict?.values, [1])
})

test('A round without one of the variants has no best variant', () => {
  const [many = [], one = []] = postgresRounds()
  const without = many.filter(({ service }) => service !== 'guarded update')
  assert.deepEqual(missed([without, one], 'postgres'), singles)
})

test('A ledger with one payment more or less than clients were told is reported', () => {
  for (const [spent, faults] of [
    [7n, 0],
    [6n, 1],
    [8n, 1],
  ] as const) {
    const ledger = new LedgerCheck()
    ledger.begin('service')
    ledger.count('service', 3)
    ledger.count('service', 4)
    ledger.check('service', { faults: [], spentMicro: spent * 1_000_000n })
    assert.equal(ledger.faults.length, faults, `${spent} spent`)
  }
})

test('Every fault that the store finds in its ledger is reported', () => {
  const ledger = new LedgerCheck()
  ledger.begin('service')
  const fault = { accountId: 'acct', subjectId: 'txn', fault: 'paid without its audit event' }
  ledger.check('service', { faults: [fault, fault], spentMicro: 0n })
  assert.equal(ledger.faults.length, 2)
  assert.match(ledger.faults[0] ?? '', /service: txn: paid without its audit event/)
})
