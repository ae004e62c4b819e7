import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'

import { mandateMoves } from '@purser/wire/mandates'

import { createMerchant } from '../../../service/testing/purchases.ts'
import { readCsv } from '../../../service/testing/http/read-csv.ts'
import { prepareRoleKeys, type RoleKeys } from '../../../service/testing/role-keys.ts'
import {
  askForProof,
  issueKey,
  issueProof,
  merchantDomain,
  preparePurchase,
  verifyProof,
  startTestService,
} from '../../../service/testing/service.ts'
import { testCommand, words } from '../testing/command.ts'
import { startLossyProxy } from '../testing/pass-on.ts'

const service = await startTestService({ after })
const prepared = await prepareRoleKeys(service)

/** The command with a key of the service; default: an operator's. */
function command(context: TestContext, key = service.sandboxKey) {
  return testCommand(context, { PURSER_URL: service.url, PURSER_API_KEY: key })
}

/** The one JSON document that a command printed. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests read answers of every shape
async function json(context: TestContext, ...called: readonly string[]): Promise<any> {
  const { code, output, errors } = await command(context).purser(...called, '--json')
  assert.equal(code, 0, errors)
  return JSON.parse(output)
}

test('An owner goes from nothing to a decision with seven commands', async (context) => {
  const account = await json(
    context,
    ...words('accounts create --name Second --email ada@example.com --idp-user-id idp_ada'),
  )
  const owner = command(context, account.api_keys[0].key)
  const agent = JSON.parse(
    (await owner.purser('agents', 'create', '--name', 'research-bot', '--capability', 'search', '--json'))
      .output,
  )
  assert.deepEqual([agent.name, agent.capabilities, agent.status], ['research-bot', ['search'], 'active'])
  const created = await owner.purser(
    ...words(`mandates create --agent ${agent.id} --purpose research --total 10.00`),
    ...words('--per-payment 5.00 --expires 2099-01-01T00:00:00+01:00'),
    ...words('--seller api.example.com --seller b.example.com --category data --json'),
  )
  const mandate = JSON.parse(created.output)
  assert.deepEqual(
    [mandate.allowed_sellers, mandate.allowed_categories, mandate.expires_at, mandate.max_spend_total],
    [['api.example.com', 'b.example.com'], ['data'], '2099-01-01T00:00:00+01:00', '10.00'],
  )
  await owner.purser('sellers', 'create', '--name', 'Data', '--domain', 'api.example.com')
  const key = JSON.parse(
    (await owner.purser('keys', 'create', '--role', 'agent', '--agent', agent.id, '--json')).output,
  )
  const payment = [
    ...words(`--agent ${agent.id} --mandate ${mandate.id} --merchant api.example.com --category data`),
    ...words('--resource https://api.example.com/data'),
  ]
  const asAgent = command(context, key.key)
  const approved = await asAgent.purser('evaluate', ...payment, '--amount', '4.00')
  assert.equal(approved.code, 0)
  assert.match(approved.output, /^decision +approved\nreason +within_policy\n/)
  const denied = await asAgent.purser('evaluate', ...payment, '--amount', '6.00')
  assert.equal(denied.code, 3)
  assert.match(
    denied.output,
    /^decision +denied\nreason +amount_exceeds_per_transaction_limit\ndetail +6\.00 > 5\.00/,
  )
  const listed = await owner.purser('transactions', 'list', '--mandate', mandate.id)
  assert.deepEqual(
    listed.output
      .split('\n')
      .slice(1)
      .map((line) => line.split(/ {2,}/).slice(1, 3)),
    [
      ['denied', '6.00'],
      ['approved', '4.00'],
    ].map(([status = '', amount = '']) => [status, amount]),
  )
})

test('evaluate --dry-run gives the same answer and records nothing', async (context) => {
  const purchase = await preparePurchase(service)
  const payment = [
    ...words(
      `--agent ${purchase.agentId} --mandate ${purchase.mandateId} --merchant ${purchase.merchantDomain}`,
    ),
    ...words(`--resource ${purchase.resourceUrl} --dry-run`),
  ]
  const { purser } = command(context)
  assert.equal((await purser('evaluate', ...payment, '--amount', '1.00')).code, 0)
  const denied = await purser('evaluate', ...payment, '--amount', '11.00')
  assert.equal(denied.code, 3)
  assert.match(
    denied.output,
    /^decision +denied\nreason +amount_exceeds_per_transaction_limit\ndetail +11\.00 > 10\.00, the limit per payment\.\n[^]*^left +100\.00 USDC\n/m,
  )
  const allowed = await purser('evaluate', ...payment, '--amount', '1.00')
  assert.match(allowed.output, /^decision +approved\nreason +within_policy\nagent /)
  const report = JSON.parse((await purser('evaluate', ...payment, '--amount', '11.00', '--json')).output)
  assert.equal(report.authorized, false)
  assert.match(report.reason_detail, /^11\.00 > 10\.00, /)
  const edited = await purser('mandates', 'edit', purchase.mandateId, '--limit', '3.00/day')
  assert.equal(edited.code, 0, edited.errors)
  const over = await purser('evaluate', ...payment, '--amount', '4.00')
  assert.match(
    over.output,
    /^reason +velocity_limit_exceeded\ndetail +0\.00 committed \+ 4\.00 > 3\.00, .*\nlimit +limit_\w+ of mandate_/m,
  )
  const { limit } = JSON.parse((await purser('evaluate', ...payment, '--amount', '4.00', '--json')).output)
  assert.equal(limit.max, '3.00')
  assert.deepEqual(await json(context, 'transactions', 'list', '--agent', purchase.agentId), [])
  const merchant = command(context, prepared.keys.merchant)
  const asMerchant = await merchant.purser('evaluate', ...payment, '--amount', '4.00')
  assert.equal(asMerchant.code, 3, asMerchant.errors)
  assert.match(asMerchant.output, /^decision +denied\nreason +velocity_limit_exceeded\nagent /)
})

test('An evaluation whose answer is lost is recorded once, and says that it may have been', async (context) => {
  const proxy = await startLossyProxy(context, service)
  const { purser } = testCommand(context, { PURSER_URL: proxy.url, PURSER_API_KEY: service.sandboxKey })
  const { agentId, mandateId, resourceUrl } = await preparePurchase(service)
  const payment = `--agent ${agentId} --mandate ${mandateId} --amount 1.00 --resource ${resourceUrl}`
  const lost = await purser('evaluate', ...words(payment), '--merchant', merchantDomain)
  assert.deepEqual([lost.code, lost.output], [6, ''])
  assert.match(
    lost.errors,
    new RegExp(
      `^It may have been recorded: see purser transactions list --mandate ${mandateId} before `,
      'm',
    ),
  )
  assert.equal((await json(context, 'transactions', 'list', '--agent', agentId)).length, 1)
})

test('Allowed resources, binding categories and metadata are set, shown and filtered by', async (context) => {
  const agentId = (await json(context, 'agents', 'create', '--name', 'bot')).id
  const created = await json(
    context,
    ...words(
      `mandates create --agent ${agentId} --purpose Reports --total 10 --per-payment 5 --expires 90d --seller *`,
    ),
    ...words('--resource https://api.example.com/reports/* --category data --enforce-categories'),
    ...words('--metadata team=red --metadata note=a=b'),
  )
  const { allowed_resources, category_check, metadata } = created
  assert.deepEqual(
    [allowed_resources, category_check, metadata],
    [['https://api.example.com/reports/*'], 'enforced', { team: 'red', note: 'a=b' }],
  )
  const [only, ...others] = await json(context, 'mandates', 'list', '--metadata', 'note=a=b')
  assert.deepEqual([only.id, others], [created.id, []])
  const { purser } = command(context)
  const shown = await purser('mandates', 'show', created.id)
  assert.match(
    shown.output,
    /^category check +enforced\nresources +https:\/\/api.example.com\/reports\/\*\nmetadata +team=red, note=a=b$/m,
  )
  const wrong = await purser('mandates', 'list', '--metadata', 'team')
  assert.equal(wrong.code, 2)
})

test('A back-test summarizes what other terms would have decided', async (context) => {
  const purchase = await preparePurchase(service)
  await issueProof(service, purchase, '4.00')
  const { purser } = command(context)
  const told = await purser('mandates', 'backtest', purchase.mandateId, '--per-payment', '2.00')
  assert.match(
    told.output,
    /^would be denied +1 payment of 4\.00 USDC, 0 evaluations \(check 8 amount_exceeds_per_transaction_limit\)$/m,
  )
  const same = await json(context, 'mandates', 'backtest', purchase.mandateId)
  assert.deepEqual([same.judged, same.to_denied.payments, same.to_approved.payments], [1, 0, 0])
  assert.equal((await purser('mandates', 'backtest', purchase.mandateId, '--draft', 'none.json')).code, 2)
})

test('A payment is listed, filtered, shown, and in the audit log', async (context) => {
  const purchase = await preparePurchase(service)
  const paid = await verifyProof(service, await issueProof(service, purchase, '1.25'))
  const id = paid.body.transaction_id as string
  for (const filter of [
    ['--agent', purchase.agentId],
    ['--mandate', purchase.mandateId, '--status', 'paid', '--merchant', purchase.merchantDomain],
  ]) {
    const [only, ...others] = await json(context, 'transactions', 'list', ...filter)
    assert.deepEqual([only.id, others], [id, []])
  }
  const shown = await command(context).purser('transactions', 'show', id)
  assert.match(
    shown.output,
    new RegExp(`^id +${id}\n[^]*^amount +1\\.25 USDC\n[^]*^mandate +${purchase.mandateId}$`, 'm'),
  )
  const [event] = await json(context, 'audit', '--type', 'payment.verified', '--subject', id)
  assert.deepEqual([event.type, event.subject_id], ['payment.verified', id])
})

test('A proof is shown and voided, and one that was charged cannot be', async (context) => {
  const purchase = await preparePurchase(service)
  const { nonce } = await issueProof(service, purchase, '1.25')
  const { purser } = command(context)
  const shown = await purser('proofs', 'show', nonce)
  assert.match(shown.output, new RegExp(`^nonce +${nonce}\nstatus +open\namount +1\\.25 USDC\n`))
  assert.equal((await json(context, 'proofs', 'void', nonce)).status, 'voided')
  assert.equal((await json(context, 'proofs', 'void', nonce)).status, 'voided', 'again')
  assert.equal((await json(context, 'mandates', 'show', purchase.mandateId)).held_total, '0.00')
  const paid = await issueProof(service, purchase)
  await verifyProof(service, paid)
  const { code, errors } = await purser('proofs', 'void', paid.nonce)
  assert.equal(code, 1)
  assert.match(errors, /^purser proofs void: the proof has already been charged; /)
})

test('A proof shows what was charged if its merchant captured a part, and until when it may', async (context) => {
  const proof = await issueProof(service, await preparePurchase(service), '2.00')
  const { purser, purserWith } = command(context)
  const authorize = words(`payments authorize --merchant ${merchantDomain} --amount 2.00`)
  const authorized = await purserWith({ readInput: async () => JSON.stringify(proof) }, ...authorize)
  assert.equal(authorized.code, 0, authorized.output)
  const waiting = await purser('proofs', 'show', proof.nonce)
  assert.match(waiting.output, /^amount +2\.00 USDC\ncharged +-\n[^]*^capture by \(utc\) +20\d\d-/m)
  await purser('payments', 'capture', proof.nonce, '--amount', '0.5')
  const captured = await purser('proofs', 'show', proof.nonce)
  assert.match(captured.output, /^status +captured\namount +2\.00 USDC\ncharged +0\.50 USDC\n/m)
})

test('A mandate is paused, resumed and revoked, an agent and a key revoked, and shown as such', async (context) => {
  const { agentId, mandateId } = await preparePurchase(service)
  const statuses = { pause: 'paused', resume: 'active', revoke: 'revoked' }
  for (const move of mandateMoves) {
    assert.equal((await json(context, 'mandates', move, mandateId)).status, statuses[move])
  }
  const { code, errors } = await command(context).purser('mandates', 'resume', mandateId)
  assert.deepEqual([code, errors], [1, 'purser mandates resume: the mandate is permanently revoked.'])
  assert.equal((await json(context, 'mandates', 'show', mandateId)).status, 'revoked')
  assert.equal((await json(context, 'agents', 'revoke', agentId)).status, 'revoked')
  assert.match((await command(context).purser('agents', 'show', agentId)).output, /^status +revoked$/m)
  const key = await json(context, 'keys', 'create', '--role', 'merchant', '--label', 'shop')
  assert.notEqual((await json(context, 'keys', 'revoke', key.id)).revoked_at, null)
})

test('A mandate of a revoked agent shows that nothing can be spent, whatever its status', async (context) => {
  const key = await otherAccount('idp_agent_revoked')
  const { purser } = command(context, key)
  const { agentId, mandateId } = await preparePurchase(service, {}, key)
  await purser('mandates', 'pause', mandateId)
  assert.equal((await purser('mandates', 'show', mandateId)).errors, '')
  await purser('agents', 'revoke', agentId)
  assert.equal((await purser('mandates', 'list')).errors, '', 'a paused mandate spends nothing anyway')
  const warning = `The agent ${agentId} is permanently revoked: nothing can be spent under its mandates.`
  const resumed = await purser('mandates', 'resume', mandateId, '--json')
  assert.deepEqual([resumed.code, resumed.errors], [0, warning])
  assert.equal(JSON.parse(resumed.output).status, 'active', 'the record is as the interface has it')
  assert.equal((await purser('mandates', 'show', mandateId)).errors, warning)
  assert.equal((await purser('mandates', 'list', '--agent', agentId)).errors, warning)
  await preparePurchase(service, {}, key)
  const listed = await purser('mandates', 'list')
  assert.equal(listed.errors, `Nothing can be spent under the mandates of revoked agents: ${agentId}.`)
})

test('An expired mandate shows that nothing can be spent, although it keeps its status', async (context) => {
  const key = await otherAccount('idp_mandate_expired')
  const { purser } = command(context, key)
  const { mandateId } = await preparePurchase(service, { expires_at: '2020-01-01T00:00:00Z' }, key)
  const warning = `Nothing can be spent under expired mandates: ${mandateId}.`
  assert.equal((await purser('mandates', 'list')).errors, warning)
  assert.equal((await purser('mandates', 'show', mandateId)).errors, warning)
})

test('A mandate is created as requested, with warnings about likely mistakes', async (context) => {
  const { agentId } = await preparePurchase(service)
  const { purser } = command(context)
  const rows: [string, RegExp][] = [
    ['--total 10.00 --per-payment 10.0 --expires 30d --seller api.example.com --seller *', /^$/],
    [
      '--total 10.00 --per-payment 1.00 --expires 30d --seller https://api.example.com/data',
      /^https:\/\/api\.example\.com\/data is a URL, .* Did you mean api\.example\.com\?$/,
    ],
    ['--total 10.00 --per-payment 1.00 --expires 30d --seller a.example:443', /Did you mean a\.example\?$/],
    [
      '--total 10.00 --per-payment 1.00 --expires 30d --seller *.a.example',
      /^\*\.a\.example is not a domain, /,
    ],
    [
      '--total 10.00 --per-payment 10.01 --expires 30d --seller a.example',
      /^The cap for one payment is above the total budget, so a single payment can use all of it\.$/,
    ],
    [
      '--total 10.00 --per-payment 1.00 --expires 2020-01-01T00:00:00Z --seller a.example',
      /^--expires is in the past: the mandate is already expired\. The time of the service is \S+\.$/,
    ],
  ]
  for (const [options, expected] of rows) {
    const { code, output, errors } = await purser(
      ...words(`mandates create --agent ${agentId} --purpose x ${options} --json`),
    )
    assert.equal(code, 0, errors)
    assert.match(errors, expected)
    assert.equal(JSON.parse(output).agent_id, agentId)
  }
})

test('An edit that leaves the cap above the total, or ends the mandate, has a warning', async (context) => {
  const { mandateId } = await preparePurchase(service)
  const { purser } = command(context)
  const edit = async (options: string) => {
    const { code, errors } = await purser(...words(`mandates edit ${mandateId} ${options}`))
    assert.equal(code, 0, errors)
    return errors
  }
  assert.equal(await edit('--total 20.00 --per-payment 20.00'), '')
  assert.match(await edit('--total 10.00'), /^The cap for one payment is above the total budget/)
  assert.match(await edit('--per-payment 5.00 --expires 2020-01-01T00:00:00Z'), /^--expires is in the past/)
})

test('A new key is shown once, its text last, and never listed', async (context) => {
  const { purser } = command(context)
  const { output, errors } = await purser('keys', 'create', '--role', 'owner', '--label', 'mine')
  const [, text = ''] = /^key +(svc_sand_\w+)$/m.exec(output.split('\n').at(-1) ?? '') ?? []
  assert.notEqual(text, '')
  assert.equal(errors, 'The key is shown only once: save it now.')
  const listed = await purser('keys', 'list')
  assert.match(listed.output, new RegExp(`sandbox …${text.slice(-4)} +owner +mine +active`))
  assert.doesNotMatch(listed.output + (await purser('keys', 'list', '--json')).output, new RegExp(text))
})

test('A key is for the environment of the key in use, unless another one is named', async (context) => {
  const { purser } = command(context, service.productionKey)
  const create = async (...options: string[]) =>
    JSON.parse((await purser('keys', 'create', '--role', 'merchant', '--json', ...options)).output)
      .environment
  assert.deepEqual([await create(), await create('--environment', 'sandbox')], ['production', 'sandbox'])
})

test('A list says if there are more items, and an empty list says so', async (context) => {
  const { purser } = command(context)
  for (const name of ['one', 'two', 'three']) await purser('agents', 'create', '--name', name)
  const two = await purser('agents', 'list', '--limit', '2')
  assert.equal(two.output.split('\n').length, 3)
  assert.equal(two.errors, 'There are more than 2; --limit shows more.')
  assert.equal(JSON.parse((await purser('agents', 'list', '--limit', '2', '--json')).output).length, 2)
  const none = await purser('audit', '--subject', 'nobody')
  assert.deepEqual([none.code, none.output, none.errors], [0, '', 'No events match.'])
  assert.equal((await purser('audit', '--subject', 'nobody', '--json')).output, '[]')
})

test('A filter refuses the id of something else, without a request', async (context) => {
  const { purser } = testCommand(context, { PURSER_URL: 'http://127.0.0.1:9', PURSER_API_KEY: 'any' })
  const rows: readonly (readonly [string, RegExp])[] = [
    [
      'transactions list --mandate agent_1',
      /'agent_1' is invalid\. It is the id of an agent, not of a mandate\.$/m,
    ],
    ['transactions list --agent mandate_1', /It is the id of a mandate, not of an agent\.$/m],
    ['transactions export --agent acct_1', /It is the id of an account, not of an agent\.$/m],
    ['mandates list --agent key_1', /It is the id of an API key, not of an agent\.$/m],
    ['evaluate --agent mandate_1', /It is the id of a mandate, not of an agent\.$/m],
    ['approvals list --mandate approval_1', /It is the id of an approval, not of a mandate\.$/m],
  ]
  for (const [line, expected] of rows) {
    const { code, output, errors } = await purser(...words(line))
    assert.deepEqual([code, output], [2, ''], line)
    assert.match(errors, expected)
  }
  assert.equal((await purser(...words('transactions list --mandate another'))).code, 6, 'not of a known kind')
})

test('A list longer than a page is shown completely', async (context) => {
  const key = await otherAccount('idp_many')
  const { purser } = command(context, key)
  await Promise.all(
    Array.from({ length: 205 }, (_, index) =>
      service.call('POST', '/agents', { key, body: { name: `bot-${index}` } }),
    ),
  )
  const { output, errors } = await purser('agents', 'list', '--limit', '300')
  assert.equal(output.split('\n').length, 206)
  assert.equal(errors, '')
})

test('The mandates of one agent can be listed, and showing an agent says how', async (context) => {
  const key = await otherAccount('idp_picked')
  const { purser } = command(context, key)
  const first = await preparePurchase(service, {}, key)
  const second = await preparePurchase(service, {}, key)
  const of = async (agentId: string, ...more: readonly string[]) => {
    const { output } = await purser('mandates', 'list', '--agent', agentId, '--json', ...more)
    return (JSON.parse(output) as { id: string }[]).map(({ id }) => id)
  }
  assert.deepEqual(await of(first.agentId, '--limit', '1'), [first.mandateId])
  assert.deepEqual(await of(second.agentId), [second.mandateId])
  const none = await purser('mandates', 'list', '--agent', 'agent_none')
  assert.deepEqual(
    [none.code, none.output, none.errors],
    [0, '', 'There are no mandates of agent_none; purser mandates create creates one.'],
  )
  const shown = await purser('agents', 'show', first.agentId)
  assert.equal(shown.errors, `purser mandates list --agent ${first.agentId} lists its mandates.`)
  assert.equal((await purser('agents', 'show', first.agentId, '--json')).errors, '')
})

test('A filtered list says if there are more items', async (context) => {
  const key = await otherAccount('idp_picked_more')
  const { purser } = command(context, key)
  const { agentId } = await preparePurchase(service, {}, key)
  const more = words('--purpose more --total 1.00 --per-payment 1.00 --expires 1d --seller a.example.com')
  await purser('mandates', 'create', '--agent', agentId, ...more)
  await preparePurchase(service, {}, key)
  const { output, errors } = await purser('mandates', 'list', '--agent', agentId, '--limit', '1')
  assert.equal(output.split('\n').length, 2)
  assert.equal(errors, 'There are more than 1; --limit shows more.')
})

test('Control characters in third-party text are escaped', async (context) => {
  const name = '\u001b]0;owned\u0007\u202efdp.exe'
  const purchase = await preparePurchase(service, { purpose: name })
  const { purser } = command(context)
  await purser('agents', 'create', '--name', name)
  for (const called of [
    ['agents', 'list'],
    ['agents', 'list', '--json'],
    ['mandates', 'show', purchase.mandateId],
    ['audit', '--type', 'agent.created'],
    ['audit', '--type', 'agent.created', '--json'],
  ]) {
    const { output } = await purser(...called)
    assert.match(output, /\\u001b/)
    // oxlint-disable-next-line no-control-regex -- these must not be in the output
    assert.doesNotMatch(output, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  }
  const agents = await json(context, 'agents', 'list', '--limit', '1')
  assert.equal(agents[0].name, name)
})

/** An amount that is too long for the service. */
const endless = '9'.repeat(300)
const ends: readonly (readonly [
  what: string,
  key: (keys: RoleKeys['keys']) => string,
  called: (purchase: RoleKeys['purchase']) => readonly string[],
  code: number,
  error: RegExp,
])[] = [
  [
    'an unknown key',
    () => 'svc_sand_unknown',
    () => ['agents', 'list'],
    4,
    /^purser agents list: the service rejected this key: it is unknown, mistyped, revoked/,
  ],
  [
    'a key without permission',
    ({ agent }) => agent,
    () => ['agents', 'create', '--name', 'x'],
    4,
    /^purser agents create: a key with this role may not do that \(insufficient_scope\): use an owner's key/,
  ],
  [
    'an unknown id',
    ({ owner }) => owner,
    () => ['mandates', 'show', 'mandate_none'],
    5,
    /^purser mandates show: no such record, or this key cannot see it/,
  ],
  [
    'an id that changes the path',
    ({ owner }) => owner,
    () => ['agents', 'show', '..'],
    1,
    /^purser agents show: /,
  ],
  [
    'a value that the service rejects',
    ({ owner }) => owner,
    ({ agentId }) => [
      ...words(`mandates create --agent ${agentId} --purpose x --total ${endless}`),
      ...words(`--per-payment ${endless} --expires 1d`),
    ],
    2,
    /^The service rejected this:\n {2}max_spend_total: .*\n {2}max_spend_per_transaction: .*\n\npurser mandates create --help/,
  ],
  [
    'a domain that is taken',
    ({ owner }) => owner,
    () => ['sellers', 'create', '--name', 'Two', '--domain', 'taken.example.com'],
    1,
    /^purser sellers create: a seller with this domain exists in this environment/,
  ],
]
for (const [what, key, called, code, error] of ends) {
  test(`The exit code shows ${what} (${code})`, async (context) => {
    await command(context).purser('sellers', 'create', '--name', 'One', '--domain', 'taken.example.com')
    const ended = await command(context, key(prepared.keys)).purser(...called(prepared.purchase))
    assert.deepEqual([ended.code, ended.output], [code, ''])
    assert.match(ended.errors, error)
  })
}

test('An https URL for a service without TLS suggests http', async (context) => {
  const { purser, environment } = command(context)
  environment['PURSER_URL'] = service.url.replace('http:', 'https:')
  const { code, errors } = await purser('agents', 'list')
  assert.equal(code, 6)
  assert.match(
    errors,
    /^purser agents list: the service at this https:\/\/ address does not use TLS; use http:\/\//,
  )
})

test('The exit code shows a service that does not answer (6)', async (context) => {
  const { purser, environment } = command(context)
  environment['PURSER_URL'] = 'http://127.0.0.1:9'
  const { code, output, errors } = await purser('agents', 'list')
  assert.deepEqual([code, output], [6, ''])
  assert.match(
    errors,
    /^purser agents list: the service does not answer \(.*\); purser doctor finds out why\.$/,
  )
})

test('A service that asks for fewer requests is unavailable for now, and the message says for how long', async (context) => {
  const { purserWith, environment } = command(context)
  const server = createServer((_request, answer) => {
    answer.writeHead(429, { 'retry-after': '20' }).end('{"detail":"rate_limited"}')
  }).listen(0, '127.0.0.1')
  context.after(() => server.close())
  await once(server, 'listening')
  environment['PURSER_URL'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { code, errors } = await purserWith({}, 'agents', 'list')
  assert.equal(code, 6)
  assert.match(errors, /the service is unavailable \(rate_limited\); retry in 20 seconds\.$/)
})

test('doctor does not check the key while the store is down', async (context) => {
  const { purserWith, environment } = command(context)
  const asked: (string | undefined)[] = []
  const server = createServer(({ url }, answer) => {
    asked.push(url)
    answer.writeHead(url === '/healthz' ? 200 : 503).end('{"detail":"store_unavailable"}')
  }).listen(0, '127.0.0.1')
  context.after(() => server.close())
  await once(server, 'listening')
  environment['PURSER_URL'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { code, output } = await purserWith({}, 'doctor')
  assert.equal(code, 1)
  assert.match(output, /^✗ store +the service cannot reach its store; see its log$/m)
  assert.match(output, /^! key +not checked, because the store is down$/m)
  assert.deepEqual(asked, ['/healthz', '/readyz'])
})

test('doctor checks the service, its clock and the key, and its exit code says whether all checks pass', async (context) => {
  const { purserWith, environment } = command(context)
  const subjects = async (changes = {}) => {
    const { code, output } = await purserWith(changes, 'doctor', '--json')
    const { is_well: isWell, findings } = JSON.parse(output)
    assert.equal(code, isWell ? 0 : 1)
    return Object.fromEntries(
      findings.map(({ subject, mark, finding }: Record<string, string>) => [subject, `${mark}: ${finding}`]),
    ) as Record<string, string>
  }
  const well = await subjects()
  assert.match(well['service'] ?? '', /^ok: http.* answers/)
  assert.match(well['clock'] ?? '', /^ok: agrees/)
  assert.match(well['store'] ?? '', /^ok:/)
  assert.match(well['key'] ?? '', /^ok: the service accepts the key \(PURSER_API_KEY\)/)
  const behind = await subjects({ now: () => Date.now() - 60_000 })
  assert.match(
    behind['clock'] ?? '',
    /^warn: differs from the service's by (59|60|61) s, and proofs are valid for 300 s/,
  )
  const farAhead = await subjects({ now: () => Date.now() + 400_000 })
  assert.match(farAhead['clock'] ?? '', /^fail: differs/)
  environment['PURSER_API_KEY'] = 'svc_sand_unknown'
  assert.match((await subjects())['key'] ?? '', /^fail: the service rejected this key/)
  environment['PURSER_URL'] = 'http://127.0.0.1:9'
  assert.match((await subjects())['service'] ?? '', /^fail: http.* does not answer; start the service/)
})

async function otherAccount(idpUserId: string): Promise<string> {
  const answer = await service.call('POST', '/accounts', {
    body: { name: 'Other', email: 'other@example.com', idp_user_id: idpUserId },
  })
  return answer.body.api_keys[0].key as string
}

test('accounts create reports everything that is missing at once', async (context) => {
  const { code, errors } = await testCommand(context).purser('accounts', 'create')
  assert.equal(code, 2)
  assert.match(errors, /^--name, --email and --idp-user-id are missing\n/)
  const one = await testCommand(context).purser(
    'accounts',
    'create',
    '--name',
    'Ada',
    '--email',
    'ada@example.com',
  )
  assert.match(one.errors, /^--idp-user-id is missing\n/)
})

test('A merchant exports its sales of a period as CSV, to standard output or to a new file', async (context) => {
  const { merchantKey } = await createMerchant(service, 'sales.example')
  const purchase = await preparePurchase(service, { allowed_sellers: ['*'] })
  const resourceUrl = 'https://sales.example/\u202e'
  const proof = await issueProof(service, { ...purchase, resourceUrl })
  const fields = { merchant_domain: 'sales.example' }
  const sold = await verifyProof(service, proof, fields, { key: merchantKey })
  assert.equal(sold.status, 200, sold.text)
  const merchant = command(context, merchantKey)
  const day = words('--from 2026-11-20T12:00:00Z --to 2026-11-20T13:00:00Z')

  const { code, output } = await merchant.purser('transactions', 'export', ...day)
  assert.equal(code, 0)
  const [sale, ...others] = readCsv(`${output}\n`)
  assert.deepEqual([sale?.['id'], sale?.['amount'], others], [sold.body.transaction_id, '1.00', []])
  const none = await merchant.purser('transactions', 'export', '--from', '2026-11-20T13:00:00Z')
  assert.deepEqual(readCsv(`${none.output}\n`), [])

  // Another file, or a link to one, that is named like the file of an incomplete export is left alone.
  const notes = join(merchant.folder, 'notes.txt')
  writeFileSync(notes, 'mine')
  symlinkSync(notes, join(merchant.folder, 'sales.csv.part'))
  const saved = await merchant.purser('transactions', 'export', ...day, '--output', 'sales.csv')
  const path = join(merchant.folder, 'sales.csv')
  assert.deepEqual([saved.code, saved.output], [0, `Saved to ${path}`])
  assert.deepEqual(readCsv(readFileSync(path, 'utf8')), [sale])
  assert.equal(readFileSync(notes, 'utf8'), 'mine')
  assert.deepEqual(readdirSync(merchant.folder), ['notes.txt', 'sales.csv', 'sales.csv.part'])
  const again = await merchant.purser('transactions', 'export', '--output', 'sales.csv')
  assert.deepEqual(
    [again.code, again.errors],
    [1, `purser transactions export: ${path} already exists; choose another --output.`],
  )

  const asJson = await merchant.purser('transactions', 'export', '--output', 'more.csv', '--json')
  assert.deepEqual(JSON.parse(asJson.output), { saved_to: join(merchant.folder, 'more.csv') })
  assert.equal((await merchant.purser('transactions', 'export', '--json')).code, 2)
  const terminal = await merchant.purserWith({ isTerminal: true }, 'transactions', 'export', ...day)
  assert.doesNotMatch(terminal.output, /[\u202e\r]/)
  const listed = await merchant.purser('transactions', 'list', ...day, '--json')
  assert.deepEqual(
    JSON.parse(listed.output).map(({ id }: { id: string }) => id),
    [sold.body.transaction_id],
  )
  const wrong = await merchant.purser('transactions', 'export', '--from', 'yesterday')
  assert.equal(wrong.code, 2)
  assert.match(
    wrong.errors,
    /a time with a time zone, such as 2026-11-01T00:00:00Z, or a duration before now/,
  )
})

test('An interrupted export leaves no file, and ends with an error', async (context) => {
  const half = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/csv' })
    response.write('id,status\r\ntxn_1,paid\r\n', () => response.destroy())
  }).listen(0, '127.0.0.1')
  context.after(() => half.close())
  await once(half, 'listening')
  const url = `http://127.0.0.1:${(half.address() as AddressInfo).port}`
  const { folder, purser } = testCommand(context, { PURSER_URL: url, PURSER_API_KEY: service.sandboxKey })
  const { code, errors } = await purser('transactions', 'export', '--output', 'sales.csv')
  assert.deepEqual(
    [code, errors],
    [6, 'purser transactions export: the export was interrupted; run it again.'],
  )
  assert.deepEqual(readdirSync(folder), [])
})

test('A person finds pending approvals, approves one, and an agent pays; a mandate is edited', async (context) => {
  const purchase = await preparePurchase(service)
  const edited = await json(
    context,
    ...words(
      `mandates edit ${purchase.mandateId} --approve-above 5.00 --approvers 1 --seller * --total 50.00`,
    ),
  )
  assert.deepEqual(
    [edited.version, edited.approval, edited.allowed_sellers, edited.max_spend_total],
    [2, { above: '5.00', first_purchase_at_seller: false, required: 1 }, ['*'], '50.00'],
  )
  const { purser } = command(context)
  const stale = await purser(...words(`mandates edit ${purchase.mandateId} --total 40.00 --if-version 1`))
  assert.deepEqual([stale.code, stale.output], [1, ''])
  assert.match(stale.errors, /it has changed in the meantime/)
  const nothing = await purser(...words(`mandates edit ${purchase.mandateId}`))
  assert.equal(nothing.code, 2)

  const agentKey = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
  const refused = await askForProof(service, purchase, '6.00', { key: agentKey })
  const { id } = refused.body.approval
  const listed = await purser('approvals', 'list')
  assert.match(
    listed.output,
    new RegExp(`${id} +pending +pay 6\\.00 USDC for https://api\\.example\\.com/data`),
  )
  const approver = command(context, await issueKey(service, { role: 'approver' }))
  const approved = await approver.purser('approvals', 'approve', id, '--note', 'fine')
  assert.equal(approved.code, 0, approved.errors)
  assert.match(approved.output, /decisions +approved by key_\w+ at 2026-11-20 12:00:00: fine/)
  assert.equal((await purser('approvals', 'list')).output, '')
  assert.match((await purser(...words('approvals list --status approved'))).output, new RegExp(id))
  const denied = JSON.parse((await purser('approvals', 'deny', id, '--json')).output)
  assert.equal(denied.status, 'denied', 'it was not used, and is withdrawn')
  const late = await purser('approvals', 'approve', id)
  assert.match(late.errors, /it has been decided already/)

  const open = await json(context, ...words(`mandates edit ${purchase.mandateId} --no-approval`))
  assert.equal(open.approval, null)
  const shown = await purser('mandates', 'show', purchase.mandateId)
  assert.match(shown.output, /^approval +-$/m)
  const narrowing = command(context, agentKey)
  const wider = await narrowing.purser(...words(`mandates edit ${purchase.mandateId} --total 60.00`))
  assert.match(wider.errors, /only an owner may/)
  assert.equal(
    (await narrowing.purser(...words(`mandates edit ${purchase.mandateId} --total 30.00`))).code,
    0,
  )
})

test('An edit of one rule of approval keeps the others', async (context) => {
  const rules = { above: '10.00', first_purchase_at_seller: true, required: 2 }
  const { mandateId } = await preparePurchase(service, { approval: rules })
  const edit = (options: string) => json(context, ...words(`mandates edit ${mandateId} ${options}`))
  const lower = { ...rules, above: '5.00' }
  assert.deepEqual((await edit('--approve-above 5.00')).approval, lower)
  const one = { ...lower, required: 1 }
  assert.deepEqual((await edit('--approvers 1 --if-version 2')).approval, one)
  assert.deepEqual((await edit('--no-approve-above')).approval, { ...one, above: null })
  const none = { above: null, first_purchase_at_seller: false, required: 1 }
  assert.deepEqual((await edit('--no-approve-first-purchase')).approval, none)
})

test('An agent asks for a wider limit, which the list shows in the syntax of its option', async (context) => {
  const purchase = await preparePurchase(service)
  await json(context, ...words(`mandates edit ${purchase.mandateId} --limit 2.00/day --limit 3x/1h`))
  const agent = command(context, await issueKey(service, { role: 'agent', agent_id: purchase.agentId }))
  const ask = (...args: string[]) =>
    agent.purser('mandates', 'request-increase', purchase.mandateId, '--reason', 'One more report', ...args)
  assert.equal((await ask()).code, 2)
  const nothing = await ask(...words('--limit 1.00/day --limit 3x/1h'))
  assert.equal(nothing.code, 1)
  const asked = await ask(...words('--limit 8.00/day --limit 3x/1h --total 150.00'))
  assert.equal(asked.code, 0, asked.errors)
  assert.match(asked.output, /what +max_spend_total 150\.00, all limits: 8\.00\/day; 3x\/1h/)
  assert.match(asked.output, /why +One more report/)
  const [, id = ''] = /^id +(\S+)/m.exec(asked.output) ?? []
  const { purser } = command(context)
  const shown = await purser('approvals', 'show', id)
  assert.match(shown.output, /the mandate has +max_spend_total 100\.00, all limits: 2\.00\/day; 3x\/1h/)
  assert.equal((await purser('approvals', 'approve', id)).code, 0)
  assert.doesNotMatch((await purser('approvals', 'show', id)).output, /the mandate has/)
  const { limits, max_spend_total: total } = await json(context, 'mandates', 'show', purchase.mandateId)
  assert.deepEqual([total, limits[0].max_amount, limits[1].max_count], ['150.00', '8.00', 3])
})

test('A path in PURSER_URL that the service does not have does not look like a missing record', async (context) => {
  const settings = { PURSER_URL: `${service.url}/v1`, PURSER_API_KEY: service.sandboxKey }
  const { code, errors } = await testCommand(context, settings).purser('agents', 'list')
  assert.deepEqual([code, /check PURSER_URL/.test(errors)], [6, true], errors)
})

test('Another server at the address is named as such', async (context) => {
  let status = 404
  const server = createServer((_, answer) => answer.writeHead(status).end('Not found'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  context.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const settings = { PURSER_URL: `http://127.0.0.1:${port}`, PURSER_API_KEY: service.sandboxKey }
  const { purser } = testCommand(context, settings)
  const { code, errors } = await purser('agents', 'list')
  assert.deepEqual([code, /not a Purser service \(HTTP 404\); check PURSER_URL/.test(errors)], [6, true])
  status = 502
  const proxied = await purser('mandates', 'pause', 'mandate_x')
  assert.equal(proxied.code, 6, proxied.errors)
  assert.match(proxied.errors, /fails \(HTTP 502\): the service is down behind a proxy, or/)
})

test('An increase of earlier terms cannot be approved, and the command says what to do', async (context) => {
  const { mandateId } = await preparePurchase(service)
  const called = words(`mandates request-increase ${mandateId} --total 200.00 --reason more`)
  const approval = await json(context, ...called)
  await json(context, ...words(`mandates edit ${mandateId} --per-payment 4.00`))
  const other = await issueKey(service, { role: 'owner' })
  const { code, errors } = await command(context, other).purser('approvals', 'approve', approval.id)
  assert.deepEqual([code, /has changed since this request; deny it/.test(errors)], [1, true], errors)
})
