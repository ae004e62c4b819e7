import assert from 'node:assert/strict'
import { test } from 'node:test'

import { parseAmount } from '../domain/money.ts'
import { storeConformance } from '../../testing/stores.ts'

const total = (text: string) => ({ maxTotalText: text, maxTotalMicro: parseAmount(text) })

function refused(code: string) {
  return { outcome: 'refused', code }
}

// Changes to the terms of a mandate.
storeConformance(({ open }) => {
  test('An amendment takes effect at once, keeps the earlier terms, and records an event', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    const first = await ledger.pay(sandbox, await ledger.hold(mandate, '4.00'))
    ledger.clock.nowMs += 1_000
    const amended = await ledger.amend(mandate, total('6.00'))
    assert.deepEqual(amended, {
      outcome: 'amended',
      mandate: {
        ...mandate,
        ...total('6.00'),
        version: 2,
        spentMicro: parseAmount('4.00'),
        updatedAtMs: ledger.clock.nowMs,
      },
    })
    assert.deepEqual(await ledger.store.findMandate(mandate), amended.mandate)
    const denied = await ledger.store.issueProof(ledger.newHold(mandate, '3.00'))
    assert.equal(denied.decision, 'denied')
    const second = await ledger.pay(sandbox, await ledger.hold(mandate, '2.00'))
    const versionOf = async (id: string) =>
      (await ledger.store.findTransaction({ ...mandate, id }, {}))?.mandateVersion
    assert.deepEqual([await versionOf(first), await versionOf(second)], [1, 2])

    const versions = await ledger.store.listMandateVersions(mandate, { limit: 10 })
    assert.deepEqual(
      versions.map(({ version, terms, changedBy, createdAtMs }) => [
        version,
        terms.max_spend_total,
        changedBy,
        createdAtMs,
      ]),
      [
        [2, '6.00', 'system', mandate.createdAtMs + 1_000],
        [1, '100.00', null, mandate.createdAtMs],
      ],
    )
    const [older] = await ledger.store.listMandateVersions(mandate, { limit: 1, below: 2 })
    assert.equal(older?.version, 1)
    const events = await ledger.eventsAbout(sandbox, mandate.id)
    assert.deepEqual(
      events.map(({ type, data }) => [type, data]),
      [
        ['mandate.created', {}],
        [
          'mandate.amended',
          {
            version: 2,
            before: { max_spend_total: '100.00' },
            after: { max_spend_total: '6.00' },
            voided_holds: 0,
          },
        ],
      ],
    )
  })

  test('An amendment that names a stale version, another agent, another scope or a revoked mandate changes nothing', async (context) => {
    const ledger = await open(context)
    const { sandbox, production } = await ledger.tenant()
    const stranger = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    const cut = total('6.00')
    assert.deepEqual(await ledger.amend(mandate, cut, { expectedVersion: 2 }), refused('version_mismatch'))
    for (const scope of [production, stranger.sandbox]) {
      assert.deepEqual(await ledger.amend({ ...mandate, ...scope }, cut), refused('not_found'))
    }
    const other = await ledger.agent(sandbox)
    assert.deepEqual(await ledger.amend(mandate, cut, {}, { agentId: other.id }), refused('not_found'))
    const more = total('101.00')
    assert.deepEqual(await ledger.amend(mandate, more, { mayWiden: false }), refused('widening_needs_owner'))
    assert.deepEqual(await ledger.store.findMandate(mandate), mandate)
    // If nothing would change, the version is not checked.
    const same = await ledger.amend(mandate, total('100.00'), { expectedVersion: 7, mayWiden: false })
    assert.deepEqual(same, { outcome: 'amended', mandate })
    assert.deepEqual(await ledger.store.listMandateVersions(mandate, { limit: 10 }), [])
    await ledger.moveMandate(mandate, 'revoked')
    assert.deepEqual(await ledger.amend(mandate, cut), refused('mandate_revoked'))
    assert.deepEqual(
      (await ledger.eventsAbout(sandbox, mandate.id)).map(({ type }) => type),
      ['mandate.created', 'mandate.revoked'],
    )
  })

  test('A budget cannot be cut below what is spent and held; open proofs end on request, and expired ones are released', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    await ledger.pay(sandbox, await ledger.hold(mandate, '3.00'))
    const held = await ledger.hold(mandate, '2.00')
    const figures = {
      spentMicro: parseAmount('3.00'),
      heldMicro: parseAmount('2.00'),
      authorizedMicro: parseAmount('0'),
    }
    const below = { outcome: 'below_committed', ...figures }
    assert.deepEqual(await ledger.amend(mandate, total('4.99')), below)
    assert.deepEqual(await ledger.amend(mandate, total('2.99'), { endsHolds: true }), below)
    assert.equal((await ledger.store.findProof(held))?.status, 'open', 'a refused cut ends no proof')
    const cut = await ledger.amend(mandate, total('3.00'), { endsHolds: true })
    assert.equal(cut.outcome, 'amended')
    assert.equal((await ledger.store.findProof(held))?.status, 'voided')
    assert.deepEqual(await ledger.capture(sandbox, held), { outcome: 'failed', reason: 'proof_expired' })
    assert.deepEqual(await ledger.sums(mandate), { spent: '3.00', held: '0.00' })
    const [, event] = await ledger.eventsAbout(sandbox, mandate.id)
    assert.equal(event?.data['voided_holds'], 1)

    assert.equal((await ledger.amend(mandate, total('10.00'), { expectedVersion: 2 })).outcome, 'amended')
    const expired = await ledger.hold(mandate, '7.00')
    ledger.clock.nowMs = expired.expiresAtMs
    assert.equal((await ledger.amend(mandate, total('3.50'), { expectedVersion: 3 })).outcome, 'amended')
    assert.deepEqual(await ledger.sums(mandate), { spent: '3.00', held: '0.00' })
  })

  test('If amendments of one version race, one succeeds', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    const totals = Array.from({ length: 12 }, (_, index) => total(`${50 + index}.00`))
    const outcomes = await Promise.all(totals.map((one) => ledger.amend(mandate, one)))
    const made = outcomes.filter(({ outcome }) => outcome === 'amended')
    assert.equal(made.length, 1)
    assert.equal((await ledger.store.findMandate(mandate))?.version, 2)
    assert.equal((await ledger.store.listMandateVersions(mandate, { limit: 10 })).length, 2)
  })

  test('After an amendment, verify-agent uses the new terms', async (context) => {
    const ledger = await open(context)
    const { sandbox } = await ledger.tenant()
    const mandate = await ledger.mandate(sandbox)
    const ask = async () => {
      const question = { agentId: mandate.agentId, mandateId: mandate.id, merchantDomain: 'a.example.com' }
      const { nowMs } = ledger.clock
      const { mandate: found } = await ledger.store.readAgentFacts({ caller: sandbox, ...question, nowMs })
      return found?.allowedSellers
    }
    for (let round = 0; round < 3; round++) assert.deepEqual(await ask(), mandate.allowedSellers)
    await ledger.amend(mandate, { allowedSellers: ['a.example.com'] })
    assert.deepEqual(await ask(), ['a.example.com'])
  })
})
