import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import type { MicroUsdc } from '../../../domain/money.ts'
import { idBytes, idText } from '../../../domain/type-id.ts'
import { createIds } from '../../../ids.ts'
import { openSqliteFile } from './open.ts'
import type { Driver, NetChange } from '../driver.ts'
import type { RangeRead } from '../operation.ts'
import { accounts, entries, payments, type EntryRow, type PaymentRow } from '../tables.ts'
import { createSqliteDriver } from './sqlite-driver.ts'
import { noOptionalFacts } from '../../../domain/records.ts'
import { inTransaction } from '../../../../testing/transactions.ts'

const ids = createIds(() => 1_000)
const accountId = ids.next('account')
const agentId = ids.next('agent')
const mandateIds = [ids.next('mandate'), ids.next('mandate'), ids.next('mandate')]

test('Open payments are found in order: in memory, in the index, and after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-open-payments-'))
  const { database, close } = openSqliteFile(join(folder, 'ledger.db'))
  const open = () => createSqliteDriver({ database, generationSize: 8 })
  let driver = open()
  await addAccount(driver)
  const expected: PaymentRow[] = []
  for (let batch = 0; batch < 40; batch++) {
    const added = Array.from({ length: 1 + (batch % 5) }, (_, index) => newPayment(batch * 5 + index))
    expected.push(...added)
    await commit(added.map((now) => ({ table: payments, before: undefined, now })))
    if (batch % 4 === 3) {
      const [before] = expected.splice(Math.floor(expected.length / 2), 1)
      await commit([{ table: payments, before, now: { ...before!, status: 'expired' } }])
    }
    if (batch % 10 === 9) driver = open()
    // A failed commit changes nothing.
    await assert.rejects(commit([{ table: payments, before: undefined, now: expected[0]! }]))
    for (const mandateId of mandateIds) {
      const wanted = expected.filter((row) => row.mandateId === mandateId)
      const found = await find({ mandateId, after: 0, upTo: 10_000, limit: 1_000 })
      assert.deepEqual(found, inOrder(wanted))
    }
  }
  const indexed = Number(database.prepare('select count(*) from open_payments').pluck().get())
  assert.ok(indexed > 60 && indexed < expected.length, `${indexed} of ${expected.length}`)

  const mandateId = mandateIds[0]!
  const wanted = inOrder(expected.filter((row) => row.mandateId === mandateId))
  const [after, upTo] = [wanted[3]!.expiresAtMs, wanted.at(-3)!.expiresAtMs]
  const within = wanted.filter(({ expiresAtMs }) => expiresAtMs > after && expiresAtMs <= upTo)
  assert.deepEqual(await find({ mandateId, after, upTo, limit: 1_000 }), within)
  const first = await find({ mandateId, after, upTo, limit: 5 })
  assert.ok(first.length > 0 && first.length <= 5)
  assert.deepEqual(first, within.slice(0, first.length))
  assert.deepEqual(await find({ mandateId, epoch: 2, after: 0, upTo: 10_000, limit: 5 }), [])
  close()
  rmSync(folder, { recursive: true })

  function commit(changes: readonly NetChange[]) {
    return inTransaction(driver, (transaction) => transaction.commit(changes))
  }

  /** The open ones: the index also has some that have ended since. */
  async function find(
    bounds: Pick<RangeRead, 'after' | 'upTo' | 'limit'> & { mandateId: string; epoch?: number },
  ) {
    const { mandateId, epoch = 1, ...rest } = bounds
    const where = { accountId, mandateId, epoch }
    const range = {
      kind: 'range',
      table: payments,
      where,
      orderBy: 'expiresAtMs',
      ...rest,
      isLocked: false,
    } as const
    const { found } = await inTransaction(driver, (transaction) =>
      transaction.read([range], { waitsForLocks: true }),
    )
    return (found[0] as PaymentRow[]).filter(({ status }) => status === 'open')
  }
})

test('Entries are found by their mandates: those in the index, and those that are indexed on demand', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-entries-'))
  const { database, close } = openSqliteFile(join(folder, 'ledger.db'))
  let nowMs = 1_000_000
  const { next } = createIds(() => nowMs)
  const open = () => createSqliteDriver({ database, generationSize: 8 })
  const select = database
    .prepare('select id from entries_by_mandate where account_id = ? and mandate_id = ? order by id desc')
    .pluck()
  const idsOf = (mandateId: string) =>
    select
      .all(idBytes('account', accountId), idBytes('mandate', mandateId))
      .map((bytes) => idText('transaction', bytes as Buffer))
  let driver = open()
  await addAccount(driver)
  const added: EntryRow[] = []
  for (let batch = 0; batch < 60; batch++) {
    // The clock is set back once.
    nowMs += batch === 30 ? -20_000 : 1_000
    const rows = Array.from({ length: 1 + (batch % 5) }, (_, place) =>
      newEntry(next('transaction'), batch + place),
    )
    // Received payments belong to a mandate of another account.
    const received = {
      ...newEntry(next('transaction'), 0),
      kind: 'received',
      payerId: ids.next('account'),
    } as const
    const changes = [...rows, received].map((now) => ({ table: entries, before: undefined, now }))
    await inTransaction(driver, (transaction) => transaction.commit(changes))
    added.push(...rows)
    // A failed commit changes nothing.
    await assert.rejects(inTransaction(driver, (transaction) => transaction.commit(changes)))
    if (batch % 10 === 9) driver = open()
    if (batch % 7 !== 6) continue
    const asked = mandateIds.slice(0, 2)
    driver.indexEntries(asked)
    for (const mandateId of asked) {
      const wanted = added.filter((row) => row.mandateId === mandateId).map(({ id }) => id)
      assert.deepEqual(idsOf(mandateId), wanted.toSorted().toReversed())
    }
  }
  const indexed = idsOf(mandateIds[2]!).length
  const all = added.filter((row) => row.mandateId === mandateIds[2]).length
  assert.ok(indexed > all / 2 && indexed < all, `${indexed} of ${all}`)
  close()
  rmSync(folder, { recursive: true })
})

function addAccount(driver: Driver) {
  const now = {
    id: accountId,
    name: '',
    email: '',
    idpUserId: '',
    createdAtMs: 1,
    disabledAtMs: null,
    ownerKeys: 1,
    clockOffsetMs: null,
  }
  return inTransaction(driver, ({ commit }) => commit([{ table: accounts, before: undefined, now }]))
}

function newEntry(id: string, place: number): EntryRow {
  const mandateId = mandateIds[place % 3]!
  const payment = { payerId: accountId, nonce: ids.nonce(), mandateId, amountMicro: 1_000_000n as MicroUsdc }
  return { accountId, id, environment: 'sandbox', kind: 'paid', ...payment, count: 1, atMs: 1 }
}

function inOrder(rows: readonly PaymentRow[]): PaymentRow[] {
  return rows.toSorted((one, other) => one.expiresAtMs - other.expiresAtMs)
}

function newPayment(place: number): PaymentRow {
  return {
    accountId,
    nonce: ids.nonce(),
    environment: 'sandbox',
    agentId,
    mandateId: mandateIds[place % 3]!,
    amountText: '1.00',
    amountMicro: 1_000_000n as MicroUsdc,
    currency: 'USDC',
    resourceUrl: 'https://shop.example/report',
    status: 'open',
    epoch: 1,
    issuedAtMs: 1,
    // The order of expiry differs from the order of issue.
    expiresAtMs: 1_000 + ((place * 7) % 211),
    spentBeforeMicro: 0n as MicroUsdc,
    heldBeforeMicro: 0n as MicroUsdc,
    transactionId: null,
    ...noOptionalFacts,
    capturedBy: null,
    capturedAtMs: null,
    merchantDomain: null,
    idempotencyKey: null,
    sellerAccountId: null,
    sellerId: null,
    bookedAtMs: null,
    budgetPath: null,
    mandateVersion: null,
    capturedMicro: null,
    refundedMicro: null,
    authorizedBy: null,
    authorizationKey: null,
    captureDeadlineMs: null,
    orderId: null,
    agentEndedAtMs: null,
  }
}
