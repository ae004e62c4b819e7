import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Purser, type ListConsoleMandatesQuery, type Mandate, type NewMandate } from '@purser/client'

import { execute } from '../../testing/postgres-databases.ts'
import { postgres18 } from '../../testing/postgres.ts'
import { serviceStores, startServiceOn, type ServiceStore } from '../../testing/service-stores.ts'
import { startTestService, testStartMs, type TestService } from '../../testing/service.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const domain = 'api.example.com'
const resource_url = `https://${domain}/data`

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} every console screen shows what happened, to the last digit, even from a service that started later`,
    { skip: missing ?? false },
    async (context) => {
      const ledger = await open()
      const first = await startTestService(context, ledger.settings)
      const past = await happen(first)
      // A service writes its in-memory counters when it stops.
      await first.stop()
      const later = await startTestService(context, ledger.settings)
      context.after(ledger.discard)
      const purser = new Purser({ apiKey: first.sandboxKey, baseUrl: later.url })

      await context.test('The overview: what is spent, what is left, and when it will run out', async () => {
        const overview = await purser.console.overview()
        const { spent_today, paid_today, remaining, active_mandates } = overview
        const { open_holds, authorized, denied_last_day } = overview
        assert.deepEqual(
          { spent_today, paid_today, remaining, active_mandates, open_holds, authorized, denied_last_day },
          {
            spent_today: '16.00',
            paid_today: 3,
            remaining: '124.00',
            active_mandates: 3,
            open_holds: { count: 1, amount: '3.00' },
            authorized: { count: 0, amount: '0.00' },
            // Including refused proofs.
            denied_last_day: 6,
          },
        )
        assert.deepEqual(
          overview.hours.map(({ paid_total }) => paid_total).filter((total) => total !== '0.00'),
          ['10.00', '6.00'],
        )
        assert.deepEqual(overview.denial_reasons, [
          { reason_code: 'amount_exceeds_per_transaction_limit', denied_count: 4 },
          { reason_code: 'total_budget_exceeded', denied_count: 2 },
        ])
        assert.deepEqual(overview.checklist, {
          agent: true,
          mandate: true,
          seller: true,
          proof: true,
          paid: true,
        })
        // 65.00 is left, and 15.00 was spent in a day; at 1.00 a day, the other 9.00 outlast their mandate.
        assert.deepEqual(
          overview.nearest_budgets.map(({ mandate_id, spent_last_day, exhausted_at }) => [
            mandate_id,
            spent_last_day,
            exhausted_at,
          ]),
          [
            [past.data.id, '15.00', new Date(testStartMs + (65 / 15) * dayMs).toISOString()],
            [past.short.id, '1.00', null],
          ],
        )
        // Midnight in Hawaii.
        const sinceTen = await purser.console.overview({ time_zone: 'Pacific/Honolulu' })
        assert.deepEqual([sinceTen.spent_today, sinceTen.paid_today], ['6.00', 2])
      })

      await context.test('Spending: the period, the previous one, and who spent it on what', async () => {
        const last = await purser.console.spending({ split: 'agent' })
        assert.deepEqual([last.spent, last.paid_count, last.previous.spent], ['16.00', 3, '0.00'])
        assert.deepEqual(
          last.buckets.flatMap(({ spent }) => (spent === '0.00' ? [] : [spent])),
          ['10.00', '6.00'],
        )
        const { agent_id: subject } = past.data
        assert.deepEqual(
          last.split?.parts.map((part) => [part.subject, part.name, part.spent]),
          [[subject, 'research-bot', '16.00']],
        )
        assert.equal(last.split?.rest.spent, '0.00')
        const month = await purser.console.spending({
          period: '30d',
          split: 'category',
          time_zone: 'Asia/Kathmandu',
        })
        assert.deepEqual([month.spent, month.previous.spent], ['16.00', '20.00'])
        assert.equal(month.starts_at, '2026-10-21T18:15:00.000Z')
        assert.equal(month.buckets.length, 30)
        assert.deepEqual(
          month.split?.parts.map((part) => [part.subject, part.name, part.spent]),
          [['fares', null, '1.00']],
        )
        assert.equal(month.split?.rest.spent, '15.00')
        const week = await purser.console.spending({ period: '7d', split: 'seller' })
        assert.deepEqual(
          week.split?.parts.map((part) => [part.subject, part.spent, part.buckets.at(-1)]),
          [[domain, '16.00', '16.00']],
        )
        await assert.rejects(purser.console.spending({ time_zone: 'Mars/Olympus' }), { status: 422 })
      })

      await context.test('A mandate: its payments, denials, open holds, and spending by day', async () => {
        const detail = await purser.console.mandates.get(past.data.id)
        assert.deepEqual(
          [detail.spent_total, detail.held_total, detail.remaining_budget, detail.agent_name],
          ['35.00', '3.00', '65.00', 'research-bot'],
        )
        assert.deepEqual([detail.paid_count, detail.denied_count], [3, 6])
        assert.deepEqual(
          detail.open_holds.map(({ nonce, amount, status }) => [nonce, amount, status]),
          [[past.openNonce, '3.00', 'open']],
        )
        const days = { step: 'day', buckets: 3, starts_at: '2026-11-18T00:00:00Z' } as const
        const spend = await purser.console.mandates.spend(past.data.id, days)
        assert.deepEqual(
          [spend.spent_before, ...spend.buckets.map(({ paid_total }) => paid_total)],
          ['20.00', '0.00', '0.00', '15.00'],
        )
        const [next] = (
          await purser.console.mandates.spend(past.data.id, { starts_at: '9999-12-31T23:59:59Z', buckets: 1 })
        ).buckets
        assert.equal(
          next?.starts_at,
          new Date(later.clock.nowMs - (later.clock.nowMs % 900_000)).toISOString(),
        )
      })

      await context.test('An agent: its spending, and what revoking it would stop', async () => {
        const agent = await purser.console.agents.get(past.data.agent_id)
        const { spent_total, held_total, open_holds, active_mandates, remaining_budget, working_keys } = agent
        const { authorized_total, authorized_payments } = agent
        assert.deepEqual(
          {
            spent_total,
            held_total,
            open_holds,
            authorized_total,
            authorized_payments,
            active_mandates,
            remaining_budget,
            working_keys,
          },
          {
            spent_total: '36.00',
            held_total: '3.00',
            open_holds: 1,
            authorized_total: '0.00',
            authorized_payments: 0,
            active_mandates: 3,
            remaining_budget: '124.00',
            working_keys: 1,
          },
        )
        const { items } = await purser.console.agents.list().page()
        assert.deepEqual(
          items.map((one) => [one.name, one.spent_total]),
          [
            ['idle-bot', '0.00'],
            ['research-bot', '36.00'],
          ],
        )
        assert.deepEqual(items.at(-1), agent)
      })

      await context.test('A seller: its revenue, and why verifications failed', async () => {
        const { items } = await purser.console.sellers.list().page()
        assert.deepEqual(
          items.map(({ domain, paid_count, revenue_total, revenue_last_month, failures_last_month }) => [
            domain,
            paid_count,
            revenue_total,
            revenue_last_month,
            failures_last_month,
          ]),
          [
            [
              domain,
              4,
              '36.00',
              '16.00',
              [
                { reason: 'amount_mismatch', count: 2 },
                { reason: 'nonce_reused', count: 1 },
              ],
            ],
          ],
        )
      })

      await context.test('Keys: whose each is, and when it was last used', async () => {
        const { items } = await purser.console.apiKeys.list().page()
        const used = items
          .filter(({ role }) => role === 'agent')
          .map(({ label, agent_name, last_used_at }) => [label, agent_name, last_used_at])
        assert.deepEqual(used, [
          ['never used', 'research-bot', null],
          ['used in the morning', 'research-bot', new Date(testStartMs - 3 * hourMs).toISOString()],
        ])
        assert.ok(items.some(({ role, last_used_at }) => role === 'operator' && last_used_at !== null))
      })

      await context.test(
        'A search finds by part of a name, purpose or domain, or by a whole id, and by nothing else',
        async () => {
          assert.deepEqual(await found(purser, 'ESEARCH'), ['agent research-bot', 'mandate Research data'])
          assert.deepEqual(await found(purser, 'example.com'), [`seller ${domain}`])
          assert.deepEqual(await found(purser, past.denied), [`transaction ${domain}`])
          assert.deepEqual(await found(purser, past.short.id), ['mandate Fares'])
          for (const nothing of ['%', '_', '*', `${past.denied}x`, ' ']) {
            assert.deepEqual(await found(purser, nothing), [], nothing)
          }
        },
      )

      await context.test(
        'A revoked agent: its spending stays, and nothing is left of its mandates',
        async () => {
          await purser.agents.revoke(past.data.agent_id)
          const agent = await purser.console.agents.get(past.data.agent_id)
          assert.deepEqual(
            [agent.spent_total, agent.active_mandates, agent.remaining_budget],
            ['36.00', 0, '0.00'],
          )
          const { active_mandates, remaining, nearest_budgets } = await purser.console.overview()
          assert.deepEqual([active_mandates, remaining, nearest_budgets], [0, '0.00', []])
        },
      )
    },
  )
}

/** A database whose locale, unlike that of the other tests, knows upper and lower case of all letters. */
const withLetters: ServiceStore = {
  name: 'PostgreSQL 18 with the locale C.UTF-8',
  missing: undefined,
  open: async () => {
    const { url, drop } = await postgres18.createEmptyDatabase()
    const name = `${new URL(url).pathname.slice(1)}_letters`
    await execute(
      url,
      `create database ${name} template template0 encoding 'UTF8' locale_provider builtin builtin_locale 'C.UTF-8'`,
    )
    return {
      settings: { PURSER_DATABASE: url.replace(/[^/]+$/, name), PURSER_WORKERS: '1' },
      discard: async () => {
        await execute(url, `drop database ${name} with (force)`)
        await drop()
      },
    }
  },
}

for (const { name, missing, open } of [...serviceStores, withLetters]) {
  test(`On ${name} searches also find non-ASCII letters`, { skip: missing ?? false }, async (context) => {
    const { purser } = await startServiceOn(open, context)
    const agent = await purser.agents.create({ name: 'Ärzte-Bot' })
    await purser.mandates.create({
      agent_id: agent.id,
      purpose: 'Über NACHT',
      max_spend_total: '1.00',
      max_spend_per_transaction: '1.00',
      allowed_sellers: [],
      expires_at: '2099-01-01T00:00:00Z',
    })
    const purposes = async (q: string) =>
      (await purser.console.mandates.list({ q }).page()).items.map(({ purpose }) => purpose)
    for (const typed of ['Ärzte-Bot', 'Ärzte-bOT', 'RZTE'])
      assert.deepEqual(await found(purser, typed), ['agent Ärzte-Bot'])
    for (const typed of ['Über NACHT', 'Über nacht', 'bER '])
      assert.deepEqual(await purposes(typed), ['Über NACHT'])
    await purser.agents.create({ name: 'bot-1' })
    await purser.agents.create({ name: 'bot-12' })
    await purser.agents.create({ name: 'a bot-1' })
    const labels = async (typed: string) => (await purser.console.search(typed)).map(({ label }) => label)
    assert.deepEqual(await labels('BOT-1'), ['bot-1', 'a bot-1', 'bot-12'], 'what is named so is first')
    // PostgreSQL knows the letters of the database's locale.
    if (name !== 'SQLite' && name !== withLetters.name) return
    assert.deepEqual(await found(purser, 'ärzte'), ['agent Ärzte-Bot'])
    assert.deepEqual(await purposes('ÜBER nacht'), ['Über NACHT'])
  })
}

for (const { name, missing, open } of serviceStores) {
  test(
    `On ${name} the mandates of a revoked agent keep their status, and the console lists none of them as active`,
    { skip: missing ?? false },
    async (context) => {
      const { purser } = await startServiceOn(open, context)
      const working = await purser.agents.create({ name: 'working' })
      const gone = await purser.agents.create({ name: 'gone' })
      const mandate = (agent_id: string, purpose: string, lastsMs = dayMs) =>
        purser.mandates.create({
          agent_id,
          purpose,
          max_spend_total: '50.00',
          max_spend_per_transaction: '30.00',
          expires_at: new Date(testStartMs + lastsMs).toISOString(),
        })
      await mandate(working.id, 'working, active')
      await purser.mandates.pause((await mandate(working.id, 'working, paused')).id)
      const { id } = await mandate(gone.id, 'gone, active')
      await purser.mandates.pause((await mandate(gone.id, 'gone, paused')).id)
      await purser.mandates.revoke((await mandate(gone.id, 'gone, revoked')).id)
      await mandate(gone.id, 'gone, expired', -1)
      await purser.agents.revoke(gone.id)

      const listed = async (status?: ListConsoleMandatesQuery['status']) =>
        (await purser.console.mandates.list(status && { status }).page()).items.map(({ purpose }) => purpose)
      assert.deepEqual(await listed('active'), ['working, active'])
      assert.deepEqual(await listed('paused'), ['working, paused'])
      assert.deepEqual(await listed('agent_revoked'), ['gone, paused', 'gone, active'])
      assert.deepEqual(await listed('expired'), ['gone, expired'])
      assert.deepEqual(await listed('revoked'), ['gone, revoked'])
      assert.equal((await listed()).length, 6)
      assert.equal((await purser.console.overview()).active_mandates, 1)
      assert.equal((await purser.console.mandates.get(id)).is_agent_revoked, true)
      const { items } = await purser.console.mandates.list({ agent_id: working.id }).page()
      assert.deepEqual(
        items.map(({ is_agent_revoked }) => is_agent_revoked),
        [false, false],
      )
      const { status, remaining_budget } = await purser.mandates.get(id)
      assert.deepEqual(
        [status, remaining_budget],
        ['active', '50.00'],
        'the record is unchanged in the interface',
      )
    },
  )
}

/** The results of a search, by kind and label. */
async function found(purser: Purser, text: string): Promise<string[]> {
  return (await purser.console.search(text)).map(({ kind, label }) => `${kind} ${label}`)
}

/** Forty days of a small account: three mandates, old and new payments, denials, refusals, an open hold. */
async function happen(service: TestService) {
  const purser = new Purser({ apiKey: service.sandboxKey, baseUrl: service.url })
  const at = (beforeMs: number) => (service.clock.nowMs = testStartMs - beforeMs)
  at(41 * dayMs)
  await purser.sellers.create({ name: 'Shop', domain, price_config: {} })
  const agent = await purser.agents.create({ name: 'research-bot' })
  at(40.5 * dayMs)
  await purser.agents.create({ name: 'idle-bot' })
  const mandate = (fields: Partial<NewMandate>) =>
    purser.mandates.create({
      agent_id: agent.id,
      purpose: 'Untouched',
      max_spend_total: '50.00',
      max_spend_per_transaction: '30.00',
      allowed_sellers: [domain],
      expires_at: '2099-01-01T00:00:00Z',
      ...fields,
    })
  const data = await mandate({
    purpose: 'Research data',
    max_spend_total: '100.00',
    max_spend_per_transaction: '80.00',
  })
  const soon = new Date(testStartMs + 12 * hourMs).toISOString()
  const short = await mandate({ purpose: 'Fares', max_spend_total: '10.00', expires_at: soon })
  await mandate({})

  const proofOf = ({ agent_id, id: mandate_id }: Mandate, amount: string, category?: string) =>
    purser.payments.requestProof({
      agent_id,
      mandate_id,
      amount,
      resource_url,
      ...(category && { category }),
    })
  async function pay(
    from: Mandate,
    amount: string,
    { expected = [amount], category }: { expected?: readonly string[]; category?: string } = {},
  ): Promise<void> {
    const answer = await proofOf(from, amount, category)
    assert.ok(answer.decision === 'approved')
    for (const expected_amount of expected) {
      await purser.payments.verify({ proof: answer.proof, merchant_domain: domain, expected_amount })
    }
  }
  const evaluate = ({ agent_id, id: mandate_id }: Mandate, amount: string) =>
    purser.policy.evaluate({ agent_id, mandate_id, amount, resource_url, merchant_domain: domain })

  at(40 * dayMs)
  await pay(data, '20.00')
  at(3 * hourMs)
  const morning = { role: 'agent', environment: 'sandbox', agent_id: agent.id } as const
  const used = await purser.apiKeys.create({ ...morning, label: 'used in the morning' })
  await new Purser({ apiKey: used.key, baseUrl: service.url }).agents.get(agent.id)
  const unused = await purser.apiKeys.create({ ...morning, label: 'never used' })
  await purser.apiKeys.revoke(unused.id)
  await pay(data, '10.00', { expected: ['9.00', '1.00', '10.00', '10.00'] })
  at(hourMs)
  await pay(data, '5.00')
  await pay(short, '1.00', { category: 'fares' })
  assert.equal((await evaluate(data, '2.00')).decision, 'approved')
  assert.equal((await evaluate(data, '81.00')).reason_code, 'amount_exceeds_per_transaction_limit')
  for (let count = 0; count < 3; count++) assert.equal((await proofOf(data, '81.00')).decision, 'denied')
  await evaluate(data, '70.00')
  const { transaction_id: denied } = await evaluate(data, '70.00')
  at(0)
  const open = await proofOf(data, '3.00')
  assert.ok(open.decision === 'approved')
  return { data, short, denied, openNonce: open.proof.nonce }
}
