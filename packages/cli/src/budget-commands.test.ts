import assert from 'node:assert/strict'
import { after, test } from 'node:test'

import { issueProof, preparePurchase } from '../../../service/testing/service.ts'
import { shareTestService } from '../../../service/testing/shared-service.ts'
import { testCommand, words } from '../testing/command.ts'
import { parseLimit } from './commands/limit-options.ts'

const service = await shareTestService()
const { purser } = testCommand({ after }, { PURSER_URL: service.url, PURSER_API_KEY: service.sandboxKey })

// oxlint-disable-next-line typescript/no-explicit-any -- tests read answers of every shape
async function json(...called: readonly string[]): Promise<any> {
  const { code, output, errors } = await purser(...called, '--json')
  assert.equal(code, 0, errors)
  return JSON.parse(output)
}

test('A limit is a max, a window and options', () => {
  const cases: [text: string, limit: unknown][] = [
    ['20.00/day', { window: { calendar: 'day', time_zone: 'UTC' }, max_amount: '20.00' }],
    ['5x/1h', { window: { rolling_seconds: 3_600 }, max_count: 5 }],
    ['20+5x/lifetime', { window: 'lifetime', max_amount: '20', max_count: 5 }],
    [
      '1.50/week,zone=Europe/Berlin,starts=sunday,per=seller,action=notify',
      {
        window: { calendar: 'week', time_zone: 'Europe/Berlin', week_start: 'sunday' },
        max_amount: '1.50',
        per: 'seller',
        action: 'notify',
      },
    ],
    [
      '7x/month,starts=15',
      { window: { calendar: 'month', time_zone: 'UTC', day_of_month: 15 }, max_count: 7 },
    ],
  ]
  for (const [text, limit] of cases) assert.deepEqual(parseLimit(text), limit, text)
  for (const text of [
    '20.00',
    '20.00/24h,zone=Europe/Berlin',
    '20.00/lifetime,starts=1',
    '20.00/day,zone=UTC,zone=Europe/Berlin',
    '20.00/',
    '/day',
    'x/day',
    '1+2/day',
    '1x+2x/day',
    '1/fortnight',
    '1/day,by=me',
  ]) {
    assert.throws(() => parseLimit(text), { code: 'commander.invalidArgument' }, text)
  }
})

test('An owner creates, shows, changes, freezes and unfreezes a shared budget', async () => {
  const company = await json(
    ...words('budgets create --name Company --limit 100.00/month,zone=Europe/Berlin'),
  )
  const team = await json(...words(`budgets create --name Team --parent ${company.id} --limit 3x/1h`))
  assert.deepEqual([team.parent_id, team.limits[0].max_count], [company.id, 3])
  const listed = await purser('budgets', 'list')
  assert.match(listed.output, /100\.00\/month,zone=Europe\/Berlin/)
  const changed = await json(...words(`budgets change ${team.id} --limit 5x/1h --limit 9.00/lifetime`))
  assert.deepEqual([changed.version, changed.limits[0].id], [2, team.limits[0].id])
  const stale = await purser(...words(`budgets change ${team.id} --name Squad --if-version 1`))
  assert.equal(stale.code, 1)
  assert.equal((await purser('budgets', 'change', team.id)).code, 2)
  assert.deepEqual((await json(...words(`budgets change ${team.id} --no-limits`))).limits, [])
  assert.notEqual((await json('budgets', 'freeze', company.id)).frozen_at, null)
  assert.equal((await json('budgets', 'unfreeze', company.id)).frozen_at, null)
  const shown = await purser('budgets', 'show', company.id)
  assert.match(shown.output, /^used +0\.00 of 100\.00 in budget_\S+ until /m)
  assert.match(shown.output, /^budgets below +1$/m)
  const created = await purser(...words('budgets create --name Other --limit 1.00/lifetime'))
  assert.doesNotMatch(
    created.output,
    /^(used|budgets below)/m,
    'an answer without usage does not say "none used"',
  )
})

test('A total or a limit below what is committed is refused with the figures', async () => {
  const budget = await json(...words('budgets create --name Small --limit 9.00/day --limit 3x/day'))
  const purchase = await preparePurchase(service, { budget_id: budget.id })
  await issueProof(service, purchase, '4.00')
  await issueProof(service, purchase, '1.00')
  const amount = await purser(...words(`budgets change ${budget.id} --limit 2.00/day --limit 3x/day`))
  assert.match(amount.errors, /: 2\.00 is below the 5\.00 USDC that count for this limit; --end-holds /)
  const count = await purser(...words(`budgets change ${budget.id} --limit 9.00/day --limit 1x/day`))
  assert.match(count.errors, /: 1 is below the 2 payments that count for this limit; --end-holds /)
  const total = await purser(...words(`mandates edit ${purchase.mandateId} --total 3.00`))
  assert.match(total.errors, /: 3\.00 is below the sum of 0\.00 spent, 5\.00 held and 0\.00 authorized; /)
})

test('Mandates and agents can be created with limits and shared budgets from the command line', async () => {
  const { agentId } = await preparePurchase(service)
  const budget = await json(...words('budgets create --name Shared'))
  const mandate = await json(
    ...words(`mandates create --agent ${agentId} --purpose research --total 10 --per-payment 5.5`),
    ...words(`--expires 1d --limit 2.00/day --limit 5x/30m,per=seller --budget ${budget.id}`),
  )
  assert.deepEqual([mandate.limits.length, mandate.budget_id], [2, budget.id])
  const shown = await purser('mandates', 'show', mandate.id)
  assert.match(shown.output, /^total +10\.00$/m)
  assert.match(shown.output, /^per payment +5\.50$/m)
  assert.match(shown.output, /^used +0\.00 of 2\.00.*; up to 5 payments each$/m)
  assert.match(shown.output, /^limits +2\.00\/day; 5x\/30m,per=seller$/m)
  assert.match(shown.output, new RegExp(`^budget +${budget.id}$`, 'm'))
  const edited = await json(...words(`mandates edit ${mandate.id} --limit 1.00/day --no-budget`))
  assert.deepEqual([edited.limits.length, edited.limits[0].max_amount, edited.budget_id], [1, '1.00', null])
  const moved = await json(...words(`mandates edit ${mandate.id} --no-limits --budget ${budget.id}`))
  assert.deepEqual([moved.limits, moved.budget_id], [[], budget.id])
  assert.equal((await json('agents', 'budget', agentId, budget.id)).budget_id, budget.id)
  // A forgotten argument must not lift a limit.
  for (const wrong of [[], [budget.id, '--no-budget']]) {
    const { code, errors } = await purser('agents', 'budget', agentId, ...wrong)
    assert.deepEqual([code, /name a budget, or --no-budget/.test(errors)], [2, true])
  }
  assert.equal((await json('agents', 'budget', agentId, '--no-budget')).budget_id, null)
})

test('Terms that are named and removed at once are refused, so that none is lost', async () => {
  for (const called of [
    'mandates edit mandate_x --no-limits --limit 5.00/day',
    'mandates edit mandate_x --approve-above 3.00 --no-approval',
    'mandates request-increase mandate_x --reason more --no-limits --limit 5.00/day',
    'budgets change budget_x --limit 5.00/day --no-limits',
  ]) {
    const { code, errors } = await purser(...words(called))
    assert.equal(code, 2, called)
    assert.match(errors, /^Option '--no-(limits|approval)' cannot be used with option '--/)
  }
})
