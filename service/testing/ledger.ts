import assert from 'node:assert/strict'

import type { AuditEvent } from '@purser/wire/audit-log'
import type { Mandate } from '@purser/wire/mandates'
import type { Transaction } from '@purser/wire/transactions'

import { createIdsOfTimes } from '../src/ids.ts'
import { openSqliteLedgerStore } from '../src/store/ledger/sqlite/sqlite-ledger-store.ts'
import type { Purchase, TestService } from './service.ts'

/** What an owner's key sees of the ledger at one moment. */
export interface LedgerView {
  readonly mandates: readonly Mandate[]
  readonly transactions: readonly Transaction[]
  readonly events: readonly AuditEvent[]
}

/** The ledger as an owner's key sees it, to check what an operation changed and what it did not. */
export async function readLedger(service: TestService, key = service.sandboxKey): Promise<LedgerView> {
  const [mandates, transactions, events] = await Promise.all(
    ['/mandates', '/v1/transactions', '/v1/audit-log'].map(async (path) => {
      const answer = await service.call('GET', `${path}?limit=200`, { key })
      assert.equal(answer.status, 200, answer.text)
      return answer.body as never
    }),
  )
  return { mandates: mandates ?? [], transactions: transactions ?? [], events: events ?? [] }
}

/** The result of the operation, after checking that it changed nothing that the key can see. */
export async function changingNothing<Result>(
  service: TestService,
  act: () => Promise<Result>,
  key = service.sandboxKey,
): Promise<Result> {
  const before = await readLedger(service, key)
  const result = await act()
  assert.deepEqual(await readLedger(service, key), before)
  return result
}

/**
 * The result of the operation, after checking that it only recorded denied proofs, which are returned too.
 */
export async function leavingDenials<Result>(
  service: TestService,
  act: () => Promise<Result>,
  key = service.sandboxKey,
): Promise<{ readonly result: Result; readonly denials: readonly Transaction[] }> {
  const before = await readLedger(service, key)
  const result = await act()
  const after = await readLedger(service, key)
  const known = new Set(before.transactions.map(({ id }) => id))
  const [denials, transactions] = [
    after.transactions.filter(({ id }) => !known.has(id)),
    after.transactions.filter(({ id }) => known.has(id)),
  ]
  assert.deepEqual({ ...after, transactions }, before)
  assert.ok(denials.every(({ status }) => status === 'denied'))
  return { result, denials }
}

/** The mandate of a purchase, as its owner sees it. */
export async function readMandate(
  service: TestService,
  purchase: Purchase,
  key = service.sandboxKey,
): Promise<Mandate> {
  const answer = await service.call('GET', `/mandates/${purchase.mandateId}`, { key })
  assert.equal(answer.status, 200, answer.text)
  return answer.body as Mandate
}

/** The sums of a purchase's mandate: spent, held, remaining. */
export async function readSums(service: TestService, purchase: Purchase): Promise<[string, string, string]> {
  const mandate = await readMandate(service, purchase)
  return [mandate.spent_total, mandate.held_total, mandate.remaining_budget]
}

/** Stops the service and checks its whole ledger: every sum must agree with its records. */
export async function assertLedgerAddsUp(service: TestService): Promise<void> {
  await service.stop()
  const store = openSqliteLedgerStore({ path: service.databasePath, nextId: createIdsOfTimes() })
  try {
    assert.deepEqual(await store.findLedgerFaults(), [])
  } finally {
    await store.close()
  }
}
