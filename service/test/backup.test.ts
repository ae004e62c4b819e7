import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

import type { Proof } from '@purser/wire/payments'

import { testCommand } from '../../packages/cli/testing/command.ts'
import { damagePages } from '../testing/ledgers/damaged-file.ts'
import { allAtOnce, labelOf, makePurchase, openLoadClient, type LoadClient } from '../testing/load.ts'
import { makeFolder, startProcess, type ReadyProcess } from './process.ts'

const projectFolder = join(import.meta.dirname, '../..')
const guide = readFileSync(join(projectFolder, 'docs/guides/operators.md'), 'utf8')
const [, chapter = ''] = guide.split('\n## Backups\n')
const [command = ''] = [...chapter.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block)

const key = 'svc_sand_2f0c5d7e9b1a4c6d8e0f1a2b3c4d5e6f'
const settings = { PURSER_BOOTSTRAP_SANDBOX_KEY: key, PURSER_LOG_LEVEL: 'warn' }

test("The guide's backup of a running service is private to its user, ignored by git, and checked without leaving files", async (context) => {
  const folder = makeFolder(context)
  symlinkSync(join(projectFolder, 'node_modules'), join(folder, 'node_modules'))
  const service = await startProcess(context, { folder, settings })
  // The folder may have been created with open permissions.
  chmodSync(join(folder, 'data'), 0o755)
  const before = readdirSync(join(folder, 'data'))
  const { status, stderr } = spawnSync('sh', ['-c', `umask 022\n${command}`], {
    cwd: folder,
    encoding: 'utf8',
    // npm's warnings about the settings of the user who runs the tests do not matter.
    env: { ...process.env, npm_config_loglevel: 'error' },
  })
  assert.deepEqual([status, stderr], [0, ''])
  assert.equal((await service.kill('SIGTERM')).code, 0)
  const made = readdirSync(join(folder, 'data')).filter((name) => !before.includes(name))
  assert.equal(made.length, 1)
  const path = join('data', made[0] ?? '')
  assert.equal(statSync(join(folder, path)).mode & 0o777, 0o600)
  execFileSync('git', ['check-ignore', '--quiet', '--no-index', path], { cwd: projectFolder })

  const checked = await purser(context, folder, 'ledger', 'check', '--database', `sqlite:${path}`)
  assert.deepEqual([checked.code, checked.stderr], [0, ''])
  assert.match(checked.stdout, /Every sum agrees with its records\./)
  assert.deepEqual(
    readdirSync(join(folder, 'data')).filter((name) => !before.includes(name)),
    made,
  )
})

test('A backup is written and checked in bounded time while payments are written, and contains those acknowledged before it began', async (context) => {
  const { folder, service, client } = await startWithPurchases(context)
  const purchase = await makePurchase(client)
  const paying = new AbortController()
  let paid = 0
  const warm = Promise.withResolvers<void>()
  const buyers = allAtOnce(16, async () => {
    while (!paying.signal.aborted) {
      const asked = await client.askForProof(purchase, '0.01')
      assert.equal(labelOf(await client.verify(asked.body.proof as Proof)), '200 ok')
      paid += 1
      if (paid === 500) warm.resolve()
    }
  })
  await Promise.race([warm.promise, buyers])
  const paidBefore = paid
  const ended = await purser(context, folder, 'backup', 'backup.db', '--json')
  const paidMeanwhile = paid - paidBefore
  paying.abort()
  await buyers
  assert.deepEqual([ended.code, ended.stderr], [0, ''])
  const backup = JSON.parse(ended.stdout) as { agrees: boolean; payments: number }
  assert.equal(backup.agrees, true)
  assert.ok(backup.payments >= paidBefore, `${backup.payments} of ${paidBefore}`)
  assert.ok(backup.payments < paid)
  assert.ok(paidMeanwhile > 0, 'payments went on')
  assert.equal((await service.kill('SIGTERM')).code, 0)
})

test('A proof that was charged after the backup is refused after the restore, by a new secret and by its hold, and what was revoked since is listed', async (context) => {
  const { folder, service, client } = await startWithPurchases(context)
  const budget = await createBudget(client)
  const purchase = await makePurchase(client, { limits: [perDay], budget_id: budget })
  const proofs = await issueProofs(client, purchase, 4)
  const promised = proofs[3] as Proof
  const authorized = await client.send('POST', '/v1/payments/authorize', {
    body: { proof: promised, merchant_domain: purchase.merchantDomain, expected_amount: '1.00' },
  })
  assert.equal(authorized.status, 200, authorized.text)
  const early = proofs[0] as Proof
  const late = proofs[1] as Proof
  assert.equal(labelOf(await client.verify(early)), '200 ok')
  const stolen = await issueKey(client, 'stolen')
  const agent = await makePurchase(client)
  const paused = await makePurchase(client)
  const revoked = [await makePurchase(client), await makePurchase(client)]
  const changeMandate = async ({ mandateId }: { readonly mandateId: string }, change: 'pause' | 'revoke') =>
    assert.equal((await client.send('PATCH', `/mandates/${mandateId}/${change}`)).status, 200)
  for (const one of revoked.slice(1)) await changeMandate(one, 'pause')
  const frozen = await createBudget(client)
  const disabled = await createAccount(client)
  const seller = { name: 'Shop', domain: 'released.example', price_config: {} }
  assert.equal((await client.send('POST', '/sellers', { body: seller })).status, 201)

  assert.equal((await purser(context, folder, 'backup', 'backup.db')).code, 0)
  assert.equal(labelOf(await client.verify(late)), '200 ok')
  assert.equal((await client.send('DELETE', `/accounts/api-keys/${stolen.id}`)).status, 200)
  assert.equal((await client.send('PATCH', `/agents/${agent.agentId}/revoke`)).status, 200)
  await changeMandate(paused, 'pause')
  for (const one of revoked) await changeMandate(one, 'revoke')
  assert.equal((await client.send('POST', `/v1/budgets/${frozen}/freeze`)).status, 200)
  assert.equal((await client.send('PATCH', `/accounts/${disabled}/disable`)).status, 200)
  assert.equal((await client.send('DELETE', `/sellers/domains/${seller.domain}`)).status, 200)
  const secretBefore = readFileSync(join(folder, 'data/purser.db.proof-secret'), 'utf8')

  const refused = await purser(context, folder, 'restore', 'backup.db')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /Another Purser process is using .*purser\.db; stop it first/)
  // Like after a crash: the latest writes are only in the ledger's log.
  await service.kill('SIGKILL')

  const ended = await purser(context, folder, 'restore', 'backup.db', '--json')
  assert.deepEqual([ended.code, ended.stderr], [0, ''])
  const report = JSON.parse(ended.stdout) as Record<string, any> // oxlint-disable-line typescript/no-explicit-any
  assert.deepEqual(
    [report['payments'], report['held'], report['ended_proofs'], report['agrees']],
    [1, '0.00', 2, true],
  )
  const working = report['working_again'] as Record<string, { id: string }[]>
  assert.deepEqual(
    Object.entries(working).map(([kind, records]) => [kind, records.map(({ id }) => id)]),
    [
      ['accounts', [disabled]],
      ['keys', [stolen.id]],
      ['agents', [agent.agentId]],
      ['paused_mandates', [paused.mandateId]],
      ['revoked_mandates', revoked.map(({ mandateId }) => mandateId)],
      ['budgets', [frozen]],
      ['domains', [seller.domain]],
    ],
  )
  assert.notEqual(readFileSync(join(folder, 'data/purser.db.proof-secret'), 'utf8'), secretBefore)
  const kept = await purser(context, folder, 'ledger', 'check', '--database', `sqlite:${report['kept']}`)
  assert.match(kept.stdout, /Payments {2}2\n/)

  // With the new secret, and with the old one set by hand: the hold has ended too.
  for (const secret of [undefined, secretBefore.trim()]) {
    const again = await startProcess(context, {
      folder,
      settings: { ...settings, ...(secret === undefined ? {} : { PURSER_PROOF_SECRET: secret }) },
    })
    const shop = openClient(context, again)
    const reason = secret === undefined ? 'invalid_signature' : 'proof_expired'
    assert.equal(labelOf(await shop.verify(late)), `402 ${reason}`)
    const mandate = await shop.send('GET', `/mandates/${purchase.mandateId}`)
    assert.deepEqual([mandate.body.spent_total, mandate.body.held_total], ['1.00', '0.00'])
    // An authorized payment is a promise to the merchant, and the backup has it.
    assert.equal(mandate.body.authorized_total, '1.00')
    const captured = await shop.send('POST', `/v1/payments/${promised.nonce}/capture`, { body: {} })
    assert.equal(labelOf(captured), '200 ok', captured.text)
    const [fresh] = await issueProofs(shop, purchase, 1)
    if (secret === undefined) assert.equal(labelOf(await shop.verify(fresh as Proof)), '200 ok')
    assert.equal((await again.kill('SIGTERM')).code, 0)
    if (secret === undefined) {
      const once = await purser(context, folder, 'restore', 'backup.db')
      assert.equal(once.code, 0, once.stderr)
    }
  }
})

test('A restore into an empty folder lists every working key, and a damaged ledger is kept next to the restored one', async (context) => {
  const { folder, service, client } = await startWithPurchases(context)
  const { id } = await issueKey(client, 'laptop')
  assert.equal((await purser(context, folder, 'backup', 'backup.db')).code, 0)
  assert.equal((await service.kill('SIGTERM')).code, 0)

  const other = ['--database', 'sqlite:other/purser.db']
  const empty = await purser(context, folder, 'restore', 'backup.db', ...other)
  assert.deepEqual([empty.code, empty.stderr], [0, ''])
  assert.match(
    empty.stdout,
    new RegExp(`These keys work.*\n(.*\n)*  purser keys revoke ${id} --account acct_\\w+ {3}# laptop`),
  )
  assert.equal(statSync(join(folder, 'other/purser.db')).mode & 0o777, 0o600)
  assert.equal(statSync(join(folder, 'other/purser.db.proof-secret')).mode & 0o777, 0o600)

  writeFileSync(join(folder, 'other/purser.db'), 'damaged')
  const damaged = await purser(context, folder, 'restore', 'backup.db', ...other)
  assert.deepEqual([damaged.code, damaged.stderr], [0, ''])
  const kept = /is kept as (\S+)\./.exec(damaged.stdout)?.[1] ?? ''
  assert.equal(readFileSync(kept, 'utf8'), 'damaged')
  assert.equal((await purser(context, folder, 'ledger', 'check', ...other)).code, 0)
})

const secretSettings = {
  'the environment': { environment: { PURSER_PROOF_SECRET: 'x'.repeat(64) } },
  'a file that .env names': { envFile: 'PURSER_PROOF_SECRET_FILE=secret' },
} as const
for (const [place, given] of Object.entries(secretSettings)) {
  test(`A restore warns about a proof secret in ${place}, also if another setting is invalid`, async (context) => {
    const { folder, purserWith } = testCommand(context)
    const run = (environment: Record<string, string>, ...words: string[]) =>
      purserWith({ environment }, ...words)
    assert.equal((await run({}, 'migrate', 'up')).code, 0)
    assert.equal((await run({}, 'backup', 'backup.db')).code, 0)
    assert.doesNotMatch((await run({}, 'restore', 'backup.db')).output, /PURSER_PROOF_SECRET/)
    if ('envFile' in given) writeFileSync(join(folder, '.env'), given.envFile)
    const environment = { PURSER_WORKERS: '2', ...('environment' in given ? given.environment : {}) }
    const restored = await run(environment, 'restore', 'backup.db')
    assert.deepEqual([restored.code, restored.errors], [0, ''])
    assert.match(restored.output, /^PURSER_PROOF_SECRET is set and overrides the new secret: change it/m)
  })
}

interface Refusal {
  readonly what: string
  readonly args: readonly string[]
  readonly prepare?: (folder: string) => void
  readonly says: RegExp
}

const refusals: readonly Refusal[] = [
  {
    what: 'A backup to the ledger itself',
    args: ['backup', 'data/purser.db', '--replace'],
    says: /purser\.db is a ledger that a service uses or has used; choose another file/,
  },
  {
    what: 'A backup to an existing file',
    args: ['backup', 'taken.db'],
    prepare: (folder) => writeFileSync(join(folder, 'taken.db'), 'kept'),
    says: /taken\.db already exists; choose another file, or replace it with --replace/,
  },
  {
    what: 'A backup to a missing folder',
    args: ['backup', 'nowhere/backup.db'],
    says: /cannot be created \(ENOENT\); choose a file in a folder that this user can write to/,
  },
  {
    what: 'A backup without a ledger',
    args: ['backup', 'backup.db', '--database', 'sqlite:nothing.db'],
    says: /There is no ledger at .*nothing\.db/,
  },
  {
    what: 'A restore from a file that is not a backup',
    args: ['restore', 'text.db'],
    prepare: (folder) => writeFileSync(join(folder, 'text.db'), 'text'.repeat(100)),
    says: /text\.db is not a backup of Purser; name another backup\.$/,
  },
  {
    what: 'A restore from a backup of PostgreSQL',
    args: ['restore', 'pg.dump'],
    prepare: (folder) => writeFileSync(join(folder, 'pg.dump'), `PGDMP${'text'.repeat(100)}`),
    says: /pg\.dump is a backup of a PostgreSQL ledger; name an empty PostgreSQL database with --database postgresql:/,
  },
  {
    what: 'A restore from a backup with damaged pages',
    args: ['restore', 'spoiled.db'],
    prepare: spoilCopy,
    says: /spoiled\.db (is damaged \(SQLITE_CORRUPT|does not add up)/,
  },
]

test('The log that is left of a lost ledger does not change the ledger restored in its place', async (context) => {
  const { folder, service, client } = await startWithPurchases(context)
  const [early, late] = await issueProofs(client, await makePurchase(client), 2)
  assert.equal(labelOf(await client.verify(early as Proof)), '200 ok')
  assert.equal((await purser(context, folder, 'backup', 'backup.db')).code, 0)
  assert.equal(labelOf(await client.verify(late as Proof)), '200 ok')
  await service.kill('SIGKILL')
  renameSync(join(folder, 'data/purser.db'), join(folder, 'lost.db'))
  assert.ok(existsSync(join(folder, 'data/purser.db-wal')))

  const restored = JSON.parse(
    (await purser(context, folder, 'restore', 'backup.db', '--json')).stdout,
  ) as Sums
  assert.deepEqual([restored.agrees, restored.payments, restored.ended_proofs], [true, 1, 1])
  const checked = JSON.parse((await purser(context, folder, 'ledger', 'check', '--json')).stdout) as Sums
  assert.deepEqual([checked.agrees, checked.payments], [true, 1])
  const names = readdirSync(join(folder, 'data'))
  assert.ok(
    names.some((name) => /^purser\.db\.before-restore-.*-wal$/.test(name)),
    names.join(),
  )
})

interface Sums {
  readonly agrees: boolean
  readonly payments: number
  readonly ended_proofs?: number
}

test('A backup and a restore work at a lower priority than their own', (context) => {
  const folder = makeFolder(context)
  const command = [process.execPath, join(projectFolder, 'packages/cli/bin/purser.js')]
  // Root may raise a priority, so it gives that up.
  const setpriv = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-sys_nice'] : []
  for (const words of [
    ['migrate', 'up'],
    ['backup', 'backup.db'],
    ['restore', 'backup.db'],
  ]) {
    const args = ['-n', '15', ...setpriv, ...command, ...words]
    const { status, stderr } = spawnSync('nice', args, { cwd: folder, encoding: 'utf8' })
    assert.deepEqual([status, stderr], [0, ''], words.join(' '))
  }
})

test('Anything that would harm a ledger or a backup is refused with one sentence, and changes nothing', async (context) => {
  const { folder, service } = await startWithPurchases(context)
  assert.equal((await service.kill('SIGTERM')).code, 0)
  const ledger = readFileSync(join(folder, 'data/purser.db'))
  for (const { what, args, prepare, says } of refusals) {
    prepare?.(folder)
    const { code, stdout, stderr } = await purser(context, folder, ...args)
    assert.deepEqual([code, stdout], [1, ''], what)
    assert.match(stderr, says, what)
    assert.match(stderr, /^[^\n]+$/, what)
  }
  assert.equal(readFileSync(join(folder, 'taken.db'), 'utf8'), 'kept')
  assert.deepEqual(readFileSync(join(folder, 'data/purser.db')), ledger)
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.part')),
    [],
  )
  const replaced = await purser(context, folder, 'backup', 'taken.db', '--replace')
  assert.equal(replaced.code, 0, replaced.stderr)
  assert.equal(statSync(join(folder, 'taken.db')).mode & 0o777, 0o600)
})

function spoilCopy(folder: string): void {
  const path = join(folder, 'spoiled.db')
  copyFileSync(join(folder, 'data/purser.db'), path)
  damagePages(path)
}

async function startWithPurchases(context: TestContext) {
  const folder = makeFolder(context)
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  const service = await startProcess(context, { folder, settings })
  assert.ok(existsSync(join(folder, 'data/purser.db')))
  return { folder, service, client: openClient(context, service) }
}

function openClient(context: TestContext, { url }: ReadyProcess): LoadClient {
  const client = openLoadClient(url, key, 16)
  context.after(client.close)
  return client
}

async function issueProofs(
  client: LoadClient,
  purchase: Parameters<LoadClient['askForProof']>[0],
  count: number,
): Promise<Proof[]> {
  const answers = await allAtOnce(count, () => client.askForProof(purchase))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
  return answers.map(({ body }) => body.proof as Proof)
}

const perDay = { window: { calendar: 'day', time_zone: 'UTC' }, max_amount: '100.00' }

async function createBudget(client: LoadClient): Promise<string> {
  const body = { name: 'Team', limits: [{ window: 'lifetime', max_amount: '100.00' }] }
  const answer = await client.send('POST', '/v1/budgets', { body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.id as string
}

async function createAccount(client: LoadClient): Promise<string> {
  const body = { name: 'Grace', email: 'grace@example.com', idp_user_id: 'idp_grace' }
  const answer = await client.send('POST', '/accounts', { body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.id as string
}

async function issueKey(client: LoadClient, label: string): Promise<{ id: string }> {
  const answer = await client.send('POST', '/accounts/api-keys', {
    body: { role: 'owner', environment: 'sandbox', label },
  })
  assert.equal(answer.status, 201, answer.text)
  return { id: answer.body.id as string }
}

/** Runs the `purser` command in a folder. */
async function purser(context: TestContext, folder: string, ...words: readonly string[]) {
  const command = testCommand(context, settings)
  const { code, output, errors } = await command.purserWith({ folder }, ...words)
  return { code, stdout: output, stderr: errors }
}
