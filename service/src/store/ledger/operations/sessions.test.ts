import assert from 'node:assert/strict'
import { test } from 'node:test'

import { hourMs, openMemoryLedger, scope, type MemoryLedger } from '../../../../testing/memory-ledger.ts'
import type { StoredSession } from '../../console/store.ts'
import { auditEvents, sessions } from '../tables.ts'
import { createSession, endSession, endSessionById, touchSession } from './sessions.ts'

test('A new session removes ended ones of its account, and no others', async () => {
  const ledger = await openMemoryLedger()
  const [over, live] = [await begin(ledger, { endsAtMs: ledger.clock.nowMs }), await begin(ledger)]
  const foreign = await begin(ledger, { accountId: 'acct_2', endsAtMs: ledger.clock.nowMs })
  ledger.clock.nowMs += 1
  const last = await begin(ledger)
  const ids = ledger.rows(sessions).map(({ id }) => id)
  assert.deepEqual(ids, [live.id, foreign.id, last.id])
  assert.ok(!ids.includes(over.id))
})

test('Using a session only ever moves its end forward', async () => {
  const ledger = await openMemoryLedger()
  const session = await begin(ledger)
  for (const usedAtMs of [session.usedAtMs + 5, session.usedAtMs + 3]) {
    await ledger.run(touchSession, [session, usedAtMs])
    assert.equal(ledger.row(sessions, session).usedAtMs, session.usedAtMs + 5)
  }
  await ledger.run(touchSession, [{ ...session, accountId: 'acct_2' }, 1e15])
  assert.equal(ledger.rows(sessions).length, 1)
})

for (const losesAnswers of [false, true]) {
  test(`A session ends once, with one event${losesAnswers ? ', even if the answer is lost' : ''}`, async () => {
    const ledger = await openMemoryLedger({ losesAnswers })
    const [first, second] = [await begin(ledger), await begin(ledger)]
    const event = () => ledger.event('session.ended', 'session')
    assert.equal(await ledger.run(endSession, [first, event()]), true)
    assert.equal(await ledger.run(endSession, [first, event()]), false)
    const byId = { accountId: scope.accountId, id: second.id }
    const foreign = { ...byId, accountId: 'acct_2' }
    assert.equal(await ledger.run(endSessionById, [foreign, event()]), false)
    assert.equal(await ledger.run(endSessionById, [byId, event()]), true)
    assert.equal(await ledger.run(endSessionById, [byId, event()]), false)
    assert.deepEqual(ledger.rows(sessions), [])
    const events = ledger.rows(auditEvents).filter(({ type }) => type === 'session.ended')
    assert.equal(events.length, 2)
  })
}

for (const losesAnswers of [false, true]) {
  test(`A link starts one session before it expires${losesAnswers ? ', even if the answer is lost' : ''}`, async () => {
    const ledger = await openMemoryLedger({ losesAnswers })
    const [link, late] = [await begin(ledger), await begin(ledger, { endsAtMs: ledger.clock.nowMs })]
    const use = (session: StoredSession, used: StoredSession) =>
      ledger.run(createSession, [session, ledger.event('session.started', session.id), used])
    const first = sessionOf(ledger)
    assert.equal(await use(sessionOf(ledger), late), false)
    assert.equal(await use(sessionOf(ledger), { ...link, accountId: 'acct_2' }), false)
    assert.equal(await use(first, link), true)
    assert.equal(await use(sessionOf(ledger), link), false)
    assert.deepEqual(ledger.rows(sessions), [first])
    assert.equal(ledger.rows(auditEvents).filter(({ type }) => type === 'session.started').length, 1)
  })
}

async function begin(ledger: MemoryLedger, fields: { accountId?: string; endsAtMs?: number } = {}) {
  const session = sessionOf(ledger, fields)
  await ledger.run(createSession, [session, undefined])
  return session
}

function sessionOf(ledger: MemoryLedger, fields: { accountId?: string; endsAtMs?: number } = {}) {
  const { nowMs } = ledger.clock
  const id = ledger.nextId('session')
  return {
    accountId: scope.accountId,
    tokenHash: Buffer.from(id),
    id,
    kind: 'oidc',
    role: 'owner',
    keyId: null,
    environment: null,
    createdAtMs: nowMs,
    usedAtMs: nowMs,
    endsAtMs: nowMs + hourMs,
    ...fields,
  } as const
}
