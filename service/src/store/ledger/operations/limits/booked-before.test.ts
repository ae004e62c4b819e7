import assert from 'node:assert/strict'
import { test } from 'node:test'

import { hourMs } from '../../../../../testing/memory-ledger.ts'
import { LedgerTenant } from '../../../../../testing/ledger-tenant.ts'
import { MemoryDatabase } from '../../../../../testing/memory/memory-database.ts'
import type { Limit } from '../../../../domain/limits.ts'
import { createIds } from '../../../../ids.ts'
import { Ledger } from '../../ledger.ts'
import { amendMandate } from '../amendments.ts'
import { releaseExpiredPayments } from '../mandates.ts'
import { issueProof } from '../payments.ts'
import { readMandateUsage } from './limit-usage.ts'

const daily: Limit = {
  id: 'limit_2',
  window: { calendar: 'day', timeZone: 'UTC' },
  maxAmountText: '5.00',
  maxAmountMicro: '5000000',
  maxCount: null,
  per: null,
  action: 'deny',
}

test('An added limit counts payments that were booked ahead, after another machine’s clock was ahead by days', async () => {
  const stopwatch = { nowMs: () => performance.now(), sleep: () => new Promise<void>(setImmediate) }
  const ledger = new Ledger({ driver: new MemoryDatabase(), stopwatch, random: () => 0 })
  const clock = { ms: Date.UTC(2026, 10, 20, 12) }
  const tenant = await LedgerTenant.create({ ledger, ids: createIds(() => clock.ms), clock })
  const lifetime: Limit = { ...daily, id: 'limit_1', window: 'lifetime' }
  const mandateId = await tenant.mandate(undefined, { limits: [lifetime] })
  const aheadMs = clock.ms + 48 * hourMs
  const ahead = { ...tenant.hold(mandateId), issuedAtMs: aheadMs, expiresAtMs: aheadMs + 360_000 }
  assert.equal((await tenant.run(issueProof, { hold: ahead })).decision, 'approved')
  assert.equal((await tenant.capture(await tenant.proof(mandateId))).outcome, 'captured')

  clock.ms += 49 * hourMs
  const { accountId } = tenant.caller
  const swept = await tenant.run(releaseExpiredPayments, { accountId, mandateId, nowMs: clock.ms })
  assert.equal(swept.released, 1)
  const key = { ...tenant.caller, id: mandateId }
  const amendment = {
    terms: { limits: [lifetime, daily] },
    expectedVersion: 1,
    mayWiden: false,
    endsHolds: true,
  }
  const event = tenant.event('mandate.amended', mandateId)
  assert.equal((await tenant.run(amendMandate, [key, {}, amendment, event])).outcome, 'amended')
  const usage = await tenant.run(readMandateUsage, [key, clock.ms])
  assert.deepEqual(
    usage.map(({ committed }) => committed),
    [
      { amountMicro: 1_000_000n, count: 1 },
      { amountMicro: 1_000_000n, count: 1 },
    ],
  )
})
