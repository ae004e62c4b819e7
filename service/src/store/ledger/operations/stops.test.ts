import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { hourMs, openMemoryLedger, scope, type MemoryLedger } from '../../../../testing/memory-ledger.ts'
import type { Driver } from '../driver.ts'
import type { Read } from '../operation.ts'
import { Ledger } from '../ledger.ts'
import { revokeAgent } from '../several-transactions.ts'
import { continueStop, stopAll } from '../stop-all.ts'
import { auditEvents, mandates, payments, runningStops } from '../tables.ts'
import { moveMandate } from './mandates.ts'
import { statusOf } from './payment-rows.ts'
import { pressStop, readStops, resumeMandate, stopMandate, stopRetryMs, undoStop } from './stops.ts'
import { changeTransactions } from '../../../../testing/transactions.ts'

test('A stop takes over what an earlier stop paused, and the undo of the earlier one resumes none of it', async () => {
  const ledger = await openMemoryLedger()
  const [first, second] = [await ledger.mandate(), await ledger.mandate()]
  assert.deepEqual((await ledger.stop('stop_1')).mandateIds, [first.id, second.id])
  assert.deepEqual((await ledger.stop('stop_2')).mandateIds, [])
  assert.deepEqual(await ledger.resume('stop_1'), [])
  assert.deepEqual(await ledger.resume('stop_2'), [first.id, second.id])
})

test('A stop does not change expired mandates or those paused by someone else', async () => {
  const ledger = await openMemoryLedger()
  const expired = await ledger.mandate({ expiresAtMs: ledger.clock.nowMs })
  const paused = await ledger.mandate()
  await ledger.run(moveMandate, [paused, 'paused', ledger.event('mandate.paused', paused.id)])
  assert.deepEqual((await ledger.stop('stop_1')).mandateIds, [])
  assert.equal(ledger.row(mandates, expired).status, 'active')
  assert.deepEqual(await ledger.resume(null), [])
  assert.equal(ledger.row(mandates, paused).status, 'paused')
})

test('A stop neither pauses nor counts the mandates of a revoked agent', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  const { accountId, environment, agentId } = mandate
  const agent = { accountId, environment, id: agentId }
  await revokeAgent(ledger, agent, ledger.event('agent.revoked', agentId))
  assert.deepEqual((await ledger.stop('stop_1')).mandateIds, [])
  assert.equal(ledger.row(mandates, mandate).status, 'active')
  assert.deepEqual(await ledger.resume('stop_1'), [])
})

test('A stop ends the open payments of an expired mandate and does not change its status', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate({ expiresAtMs: ledger.clock.nowMs + 1_000 })
  const hold = await ledger.proof(mandate, '1.00')
  ledger.clock.nowMs += 2_000
  const stopped = await ledger.stop('stop_1')
  assert.deepEqual([stopped.mandateIds, stopped.voidedHolds], [[], 1])
  assert.equal(ledger.row(mandates, mandate).status, 'active')
  assert.deepEqual(await ledger.capture(hold), { outcome: 'failed', reason: 'proof_expired' })
  assert.deepEqual(typesAbout(ledger, mandate.id), ['mandate.created', 'proofs.voided'])
})

test('A repeated stop with the same id reports what it did before', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  await ledger.proof(mandate, '1.00')
  const { failedIds, mandateIds, voidedHolds } = await ledger.stop('stop_1')
  assert.deepEqual(
    { failedIds, mandateIds, voidedHolds },
    { failedIds: [], mandateIds: [mandate.id], voidedHolds: 1 },
  )
  const again = await ledger.stop('stop_1')
  assert.deepEqual([again.mandateIds, again.voidedHolds], [[mandate.id], 1])
  assert.deepEqual(typesAbout(ledger, mandate.id), ['mandate.created', 'mandate.paused'])
})

test('A stop continues past a failing mandate, reports it, and stops it later', async () => {
  let brokenId = ''
  const ledger = await openMemoryLedger({ changeDriver: (driver) => failingFor(driver, () => brokenId) })
  const all = [await ledger.mandate(), await ledger.mandate(), await ledger.mandate()]
  const [first, broken, last] = all.map(({ id }) => id)
  brokenId = broken ?? ''
  const outcome = await ledger.stop('stop_1')
  assert.deepEqual([outcome.mandateIds, outcome.failedIds], [[first, last], [broken]])
  assert.deepEqual(
    ledger.rows(runningStops).map(({ stopId, tryAtMs }) => [stopId, tryAtMs - ledger.clock.nowMs]),
    [['stop_1', stopRetryMs]],
  )
  assert.equal(await ledger.continueStop(), undefined, 'it is not due yet')
  for (const isBroken of [true, false]) {
    ledger.clock.nowMs += stopRetryMs
    if (!isBroken) brokenId = ''
    assert.deepEqual(await ledger.continueStop(), {
      mandateIds: isBroken ? [first, last] : [first, last, broken],
      pausedNow: isBroken ? 0 : 1,
      voidedHolds: 0,
      failedIds: isBroken ? [broken] : [],
      outstanding: { count: 0, amountMicro: 0n },
    })
  }
  assert.ok(
    ledger.rows(mandates).every(({ status, stoppedBy }) => status === 'paused' && stoppedBy === 'stop_1'),
  )
  assert.deepEqual(ledger.rows(runningStops), [])
  assert.equal(await ledger.continueStop(), undefined)
})

test('An interrupted stop is completed by exactly one other service, after the first had time to complete it', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  const hold = await ledger.proof(mandate, '1.00')
  await ledger.run(pressStop, ledger.press('stop_1'))
  ledger.clock.nowMs += 29_999
  assert.equal(await ledger.continueStop(), undefined)
  ledger.clock.nowMs += 1
  const [one, other] = await Promise.all([ledger.continueStop(), ledger.continueStop()])
  assert.deepEqual([one?.mandateIds, one?.voidedHolds, other], [[mandate.id], 1, undefined])
  assert.deepEqual(await ledger.capture(hold), { outcome: 'failed', reason: 'proof_expired' })
  assert.deepEqual(await ledger.resume('stop_1'), [mandate.id])
})

test('A stop is continued even if the clock was set back by hours', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  await ledger.run(pressStop, ledger.press('stop_1'))
  ledger.clock.nowMs -= 2 * hourMs
  assert.deepEqual((await ledger.continueStop())?.mandateIds, [mandate.id])
})

test('A closing service leaves the rest of a stop to the next one', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  await ledger.run(pressStop, ledger.press('stop_1'))
  ledger.clock.nowMs += 30_000
  assert.deepEqual((await ledger.continueStop({ isClosing: true }))?.failedIds, [mandate.id])
  assert.equal(ledger.row(mandates, mandate).status, 'active')
  ledger.clock.nowMs += stopRetryMs
  assert.deepEqual((await ledger.continueStop())?.mandateIds, [mandate.id])
})

for (const meanwhile of ['undone', 'pressed again'] as const) {
  test(`Mandates that a stop could not stop are left alone once the stop is ${meanwhile}`, async () => {
    let brokenId = ''
    const ledger = await openMemoryLedger({ changeDriver: (driver) => failingFor(driver, () => brokenId) })
    const mandate = await ledger.mandate()
    brokenId = mandate.id
    assert.deepEqual((await ledger.stop('stop_1')).failedIds, [mandate.id])
    const { press } = ledger.row(runningStops, scope)
    if (meanwhile === 'undone') await ledger.resume('stop_1')
    else await ledger.run(pressStop, ledger.press('stop_2'))
    brokenId = ''
    ledger.clock.nowMs += stopRetryMs
    const running = { press, isClosing: () => false }
    assert.equal(await continueStop({ ...ledger.ofAll, ...running, stopId: 'stop_1' }), undefined)
    assert.equal(ledger.row(mandates, mandate).status, 'active')
  })
}

for (const stopId of ['stop_1', null]) {
  test(`A running undo of ${stopId ?? 'all stops'} resumes nothing once a stop begins`, async () => {
    const ledger = await openMemoryLedger()
    const [first, second] = [await ledger.mandate(), await ledger.mandate()]
    await ledger.stop('stop_1')
    const { presses: press } = await ledger.run(readStops, scope)
    const undo = { scope, press, isNamed: stopId !== null, atMs: ledger.clock.nowMs }
    assert.equal(await ledger.run(undoStop, undo), true)
    const resume = (mandate: typeof first) => ({ mandate, stopId, press, ...actOf(ledger) })
    assert.equal(await ledger.run(resumeMandate, resume(first)), true)
    await ledger.run(pressStop, ledger.press('stop_2'))
    assert.equal(await ledger.run(resumeMandate, resume(second)), false)
    assert.equal(await ledger.run(undoStop, undo), false)
    assert.deepEqual((await ledger.stop('stop_2')).mandateIds, [first.id])
    assert.deepEqual(await ledger.resume('stop_1'), [])
    assert.ok(ledger.rows(mandates).every(({ status }) => status === 'paused'))
  })
}

test('An undo that names no stop resumes nothing while a stop goes through the mandates', async () => {
  const ledger = await openMemoryLedger()
  const [first, second] = [await ledger.mandate(), await ledger.mandate()]
  await ledger.stop('stop_1')
  const press = await ledger.run(pressStop, ledger.press('stop_2'))
  assert.deepEqual(await ledger.resume(null), [])
  const stop = { stopId: 'stop_2', press, ...actOf(ledger) }
  assert.equal((await ledger.run(stopMandate, { mandate: first, ...stop })).outcome, 'taken_over')
  assert.deepEqual(await ledger.resume('stop_2'), [first.id], 'whoever knows the stop may undo it')

  await ledger.stop('stop_3')
  assert.deepEqual(await ledger.resume(null), [first.id, second.id])
})

test('A stop and its undo do not change mandates of another environment or unknown ones', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  const foreign = [
    { ...mandate, environment: 'production' as const },
    { ...mandate, accountId: 'acct_2' },
    { ...mandate, id: 'mandate_none' },
  ]
  for (const key of foreign) {
    const stop = { mandate: key, stopId: 'stop_1', press: null, ...actOf(ledger) }
    assert.deepEqual(await ledger.run(stopMandate, stop), { outcome: 'left', voided: 0 })
  }
  assert.equal(ledger.row(mandates, mandate).status, 'active')
  await ledger.stop('stop_1')
  for (const key of foreign) {
    const resume = { mandate: key, stopId: 'stop_1', press: 1, ...actOf(ledger) }
    assert.equal(await ledger.run(resumeMandate, resume), false)
  }
  assert.equal(ledger.row(mandates, mandate).status, 'paused')
})

test('A stop repeated under its id while its undo runs leaves no mandate active', async () => {
  let meanwhile: (() => void) | undefined
  let driver: Driver | undefined
  const ledger = await openMemoryLedger({
    changeDriver: (own) => beforeResumption((driver = own), () => meanwhile?.()),
  })
  const mandate = await ledger.mandate()
  await ledger.stop('stop_1')
  assert(driver)
  const { promise: stopped, resolve } = Promise.withResolvers<unknown>()
  // Simulates another process, while this one has locked the mandate to resume it.
  const other = new Ledger({ driver, stopwatch: { nowMs: () => 0, sleep: () => sleep(1) }, random: () => 0 })
  meanwhile = () => {
    meanwhile = undefined
    resolve(stopAll({ ...ledger.ofAll, ledger: other, stopId: 'stop_1' }))
  }
  await ledger.resume('stop_1')
  await stopped
  assert.equal(ledger.row(mandates, mandate).status, 'paused')
})

test('An undo that freezes resumes nothing after its stop was repeated and continued', async () => {
  const { promise: thawed, resolve: thaw } = Promise.withResolvers<void>()
  const { promise: isFrozen, resolve: freeze } = Promise.withResolvers<void>()
  let meanwhile: (() => unknown) | undefined
  let driver: Driver | undefined
  const ledger = await openMemoryLedger({
    changeDriver: (own) => beforeResumption((driver = own), () => meanwhile?.()),
  })
  const mandate = await ledger.mandate()
  await ledger.stop('stop_1')
  meanwhile = () => (freeze(), thawed)
  const undoing = ledger.resume('stop_1')
  await isFrozen
  assert(driver)
  // Simulates another process that continues the stop of one killed right after it began the stop.
  const other = new Ledger({ driver, stopwatch: { nowMs: () => 0, sleep: () => sleep(1) }, random: () => 0 })
  const press = await other.run(pressStop, ledger.press('stop_1'))
  ledger.clock.nowMs += 30_000
  const continuing = continueStop({
    ...ledger.ofAll,
    ledger: other,
    press,
    stopId: 'stop_1',
    isClosing: () => false,
  })
  await sleep(20)
  thaw()
  assert.deepEqual(await undoing, [])
  assert.deepEqual((await continuing)?.mandateIds, [mandate.id])
  assert.equal(ledger.row(mandates, mandate).status, 'paused')
})

test('Expired payments stay expired after a stop, and those ended by an earlier stop are not read again', async () => {
  const ledger = await openMemoryLedger()
  const mandate = await ledger.mandate()
  const expired = await ledger.proof(mandate, '1.00')
  ledger.clock.nowMs = expired.expiresAtMs - 1
  const live = await ledger.proof(mandate, '1.00')
  ledger.clock.nowMs = expired.expiresAtMs
  assert.equal((await ledger.stop('stop_1')).voidedHolds, 1)
  const row = ledger.row(mandates, mandate)
  const statuses = [expired, live].map((hold) =>
    statusOf(ledger.row(payments, hold), row, ledger.clock.nowMs),
  )
  assert.deepEqual(statuses, ['expired', 'voided'])
})

function typesAbout(ledger: MemoryLedger, subject: string): string[] {
  return ledger.rows(auditEvents).flatMap(({ type, subjectId }) => (subjectId === subject ? [type] : []))
}

function actOf(ledger: MemoryLedger) {
  return { actor: 'key_1', atMs: ledger.clock.nowMs, eventId: ledger.nextId('event') }
}

/** A driver that does something, and waits for it a little, before it resumes a mandate. */
function beforeResumption(driver: Driver, work: () => unknown): Driver {
  return changeTransactions(driver, (transaction) => ({
    commit: async (changes) => {
      if (changes.some(({ table, now }) => table === mandates && now?.['status'] === 'active')) {
        await work()
        await sleep(20)
      }
      await transaction.commit(changes)
    },
  }))
}

/** A driver that fails as soon as a mandate is locked. */
function failingFor(driver: Driver, id: () => string): Driver {
  const isAbout = (read: Read) => read.kind === 'row' && read.isLocked && read.key['id'] === id()
  return changeTransactions(driver, (transaction) => ({
    read: (reads, options) => {
      if (reads.some(isAbout)) throw new Error('the row cannot be read')
      return transaction.read(reads, options)
    },
  }))
}
