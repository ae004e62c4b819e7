import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAgent, type Agent, type Answer, type Proof } from './agent.ts'
import { openMerchant, type Merchant } from './merchant.ts'
import { createNarrator, fromCents, leftOf, toCents } from './narrator.ts'
import { createOwner, type Owner } from './owner.ts'
import { startServiceProcess, type ServiceProcess } from './service-process.ts'

/** The cast of the demo. */
interface Cast {
  readonly purser: ServiceProcess
  readonly owner: Owner
  /** The owner's client for checks, whose requests are not printed. */
  readonly observer: Owner
  readonly ownerKey: string
  readonly agent: Agent
  readonly agentId: string
  readonly mandateId: string
  readonly weather: Merchant
  readonly horoscopes: Merchant
}

const forecast = 'Lisbon tomorrow: sunny, 24 °C'
const narrator = createNarrator(process.stdout, process.env)
const { print, chapter, expect } = narrator
const cleanups: (() => unknown)[] = []
let refusals = 0

/** Ctrl-C was pressed, or the output was closed. */
const interruption = new Promise<'interrupted'>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => resolve('interrupted')) // Every time: cleanup is not interrupted.
  }
  process.stdout.on('error', () => resolve('interrupted'))
})

const outcome = await Promise.race([tell(), interruption]).catch((error: unknown) => {
  console.error(`\n${narrator.failure(error)}`)
  process.exitCode = 1
  return 'failed' as const
})
if (outcome === 'told' && process.argv.includes('--stay')) await interruption
for (const cleanUp of cleanups.toReversed()) await cleanUp()
if (outcome === 'interrupted') process.exit(130) // A request may still be pending.

async function tell(): Promise<'told'> {
  introduction()
  const cast = await enterCast()
  const proof = await purchase(cast)
  await replay(cast, proof)
  const cheapProof = await wrongAmount(cast)
  await tampering(cast, cheapProof)
  await tooExpensive(cast)
  await foreignSeller(cast)
  await outage(cast)
  await spentBudget(cast)
  await revocation(cast)
  await summary(cast)
  return 'told'
}

function introduction(): void {
  print(`
    ${narrator.style('bold', 'Purser keeps the budget of your software agents.')}

    You want an agent to buy things, but not to hand it your wallet. So you give it a mandate: this
    much in total, this much per payment, only at these sellers, until that day. Before a merchant delivers,
    it asks Purser; Purser decides, and counts.

    This is not a recording. A Purser process is started, and an agent and two merchants talk to
    it over HTTP on this machine. No real money is involved (this is Purser's sandbox).

      →  a request     ←  its answer     ✓  a check that passed`)
}

async function enterCast(): Promise<Cast> {
  chapter(
    'Purser starts, and its operator creates accounts',
    'Purser starts with an empty ledger and prints a key for the operator who runs it. The operator',
    'creates accounts for the company that owns the agent, and for the merchants.',
  )
  const purser = await startPurser()
  const operator = createOwner({
    serviceUrl: purser.url,
    key: purser.operatorKey,
    fetch: narrator.watch('operator'),
  })
  print(`     Purser runs at ${purser.url}\n`)
  const ownerKey = await openAccount(operator, 'Example Research')
  const weatherKey = await openAccount(operator, 'Weather Example')
  const horoscopesKey = await openAccount(operator, 'Horoscopes Example')
  expect('Each account has its own key.', new Set([ownerKey, weatherKey, horoscopesKey]).size, 3)

  chapter(
    'The owner gives the agent a budget',
    'The owner registers its agent and creates the mandate: 5.00 USDC in total, at most 2.00 per payment,',
    'only at weather.example, for 30 days. The agent gets a key that can only spend within it.',
  )
  const owner = createOwner({ serviceUrl: purser.url, key: ownerKey, fetch: narrator.watch('owner') })
  const { id: agentId } = await owner.createAgent({ name: 'trip-planner', capabilities: ['buy-forecasts'] })
  const { id: mandateId } = await owner.createMandate({
    agent_id: agentId,
    purpose: 'Forecasts for planning trips',
    max_spend_total: '5.00',
    max_spend_per_transaction: '2.00',
    allowed_sellers: ['weather.example'],
    expires_at: new Date(Date.now() + 30 * 24 * 60 * 60_000).toISOString(),
  })
  const { key: agentKey } = await owner.issueKey({ role: 'agent', agent_id: agentId })
  const agent = createAgent({
    serviceUrl: purser.url,
    key: agentKey,
    agentId,
    mandateId,
    fetch: narrator.watch('agent'),
  })
  const observer = createOwner({ serviceUrl: purser.url, key: ownerKey })
  await showBudget({ observer, mandateId }, 'The whole budget is there.', '0.00 spent, 0.00 held, 0 payments')

  chapter(
    'Two merchants open',
    'Each registers its domain and gets a key that can only collect payments.',
    'weather.example sells forecasts; horoscopes.example sells horoscopes.',
  )
  const weather = await open(purser, weatherKey, 'weather.example', {
    '/forecast/lisbon': { price: '1.50', content: { text: forecast } },
    '/archive/lisbon': { price: '3.00', content: { text: 'Lisbon, ten years of weather' } },
    '/now/lisbon': { price: '0.25', content: { text: 'Lisbon now: clear' } },
  })
  const horoscopes = await open(purser, horoscopesKey, 'horoscopes.example', {
    '/pisces': { price: '0.15', content: { text: 'Pisces should keep their money together' } },
  })
  const doors = [`${weather.url}/forecast/lisbon`, `${horoscopes.url}/pisces`]
  const answers = await Promise.all(doors.map((door) => fetch(door, timeLimit())))
  const statuses = answers.map(({ status }) => status)
  expect('Both ask for money before they deliver: 402.', statuses, [402, 402])
  return { purser, owner, observer, ownerKey, agent, agentId, mandateId, weather, horoscopes }
}

async function purchase(cast: Cast): Promise<Proof> {
  chapter(
    'The agent buys a forecast',
    'It requests the forecast and learns the price: 402 Payment Required. It asks Purser whether it may',
    'pay that (verify-agent, which changes nothing), has the decision recorded (evaluate), and gets a',
    'signed proof, for which 1.50 is held in its budget. It repeats the request with the proof. The merchant',
    'verifies the proof, which charges it (the held amount is now spent), and delivers.',
  )
  const bought = await cast.agent.buy(`${cast.weather.url}/forecast/lisbon`)
  expect('The agent has its forecast.', [bought.status, bought.body['text']], [200, forecast])
  await showBudget(cast, 'Exactly 1.50 was charged.', '1.50 spent, 0.00 held, 1 payment')
  return bought.proof ?? {}
}

async function replay(cast: Cast, proof: Proof): Promise<void> {
  chapter('The same proof again', 'The agent sends a proof that it has already used.')
  const answer = await cast.agent.present(`${cast.weather.url}/forecast/lisbon`, proof)
  refused('A proof pays once', answer, '402 nonce_reused')
  await showBudget(cast, 'Nothing was charged.', '1.50 spent, 0.00 held, 1 payment')
}

async function wrongAmount(cast: Cast): Promise<Proof> {
  chapter(
    'A proof for too little',
    'The forecast costs 1.50. The agent requests a proof for 0.10, and tries to pay with it.',
  )
  const { agent, weather } = cast
  const challenge = await agent.askPrice(`${weather.url}/forecast/lisbon`)
  const granted = await agent.requestProof({ ...challenge, amount: '0.10' })
  expect('It gets its proof: 0.10 is well within the mandate.', granted.status, 201)
  const proof = granted.body['proof'] as Proof
  const answer = await agent.present(`${weather.url}/forecast/lisbon`, proof)
  refused('The amount must equal the price exactly', answer, '402 amount_mismatch')
  await showBudget(
    cast,
    'Nothing was charged; 0.10 stays held until the unused proof expires.',
    '1.50 spent, 0.10 held, 1 payment',
  )
  return proof
}

async function tampering(cast: Cast, cheapProof: Proof): Promise<void> {
  chapter(
    'A forged proof',
    'The agent changes the 0.10 in that proof to 1.50. Then it sends it for another resource: the',
    'merchant notices that itself, because a proof names its resource.',
  )
  const forged = { ...cheapProof, amount: '1.50' }
  const answer = await cast.agent.present(`${cast.weather.url}/forecast/lisbon`, forged)
  refused('The signature covers every field', answer, '402 invalid_signature')
  const elsewhere = await cast.agent.present(`${cast.weather.url}/now/lisbon`, cheapProof)
  refused('A proof is for one resource', elsewhere, '402 proof_for_something_else')
  await showBudget(cast, 'Nothing was charged.', '1.50 spent, 0.10 held, 1 payment')
}

async function tooExpensive(cast: Cast): Promise<void> {
  chapter(
    'Too much for one payment',
    'The archive costs 3.00. The budget is sufficient, but a payment may be at most 2.00. A well-behaved agent',
    'asks first and accepts the answer; one that requests a proof directly does not get one either.',
  )
  const { agent, weather } = cast
  const answer = await agent.buy(`${weather.url}/archive/lisbon`)
  refused('The agent learns this before it pays', answer, '403 amount_exceeds_per_transaction_limit')
  const challenge = await agent.askPrice(`${weather.url}/archive/lisbon`)
  const granted = await agent.requestProof(challenge)
  refused('There is no proof over the limit', granted, '402 amount_exceeds_per_transaction_limit')
  await showBudget(cast, 'Nothing was charged.', '1.50 spent, 0.10 held, 1 payment')
}

async function foreignSeller(cast: Cast): Promise<void> {
  chapter(
    'A seller that is not allowed',
    'The mandate is for weather.example. The agent wants a horoscope: cheap, but not allowed. It ignores the',
    'denial and requests a proof for 0.15. A proof does not name the seller, so Purser',
    'checks it when it is collected.',
  )
  const { agent, horoscopes } = cast
  const challenge = await agent.askPrice(`${horoscopes.url}/pisces`)
  refused('Purser denies the seller', await agent.evaluate(challenge), '402 merchant_not_allowed')
  const granted = await agent.requestProof(challenge)
  const answer = await agent.present(`${horoscopes.url}/pisces`, granted.body['proof'] as Proof)
  refused('A seller that is not allowed cannot collect', answer, '402 merchant_not_allowed')
  await showBudget(
    cast,
    'Nothing was charged; another 0.15 is held until the proof expires.',
    '1.50 spent, 0.25 held, 1 payment',
  )
}

async function outage(cast: Cast): Promise<void> {
  chapter(
    'Purser is down for a moment',
    'The agent has a valid proof when Purser stops. The merchant retries, and delivers nothing',
    'unverified. Then Purser restarts with all its data, and the proof is still valid.',
  )
  const { agent, weather, purser } = cast
  const challenge = await agent.askPrice(`${weather.url}/forecast/lisbon`)
  const granted = await agent.requestProof(challenge)
  const proof = granted.body['proof'] as Proof
  await purser.stop()
  print('\n    Purser has stopped.\n')
  const answer = await agent.present(`${weather.url}/forecast/lisbon`, proof)
  refused('No verification, no goods', answer, '503 payment_could_not_be_verified')
  await purser.restart()
  print('\n    Purser is back.\n')
  await showBudget(cast, 'Nothing was charged; 1.50 is still held.', '1.50 spent, 1.75 held, 1 payment')
  const bought = await agent.present(`${weather.url}/forecast/lisbon`, proof)
  expect('The agent has its forecast after all.', bought.status, 200)
  await showBudget(cast, 'Exactly 1.50 was charged, once.', '3.00 spent, 0.25 held, 2 payments')
}

async function spentBudget(cast: Cast): Promise<void> {
  chapter(
    'The budget runs out',
    'One more forecast fits (the two unused proofs still hold 0.25 for a few minutes). The next',
    'would bring the total to 6.00 of 5.00, and is refused at every step.',
  )
  const { agent, weather } = cast
  const third = await agent.buy(`${weather.url}/forecast/lisbon`)
  expect('The third forecast is paid.', third.status, 200)
  await showBudget(cast, 'Exactly 1.50 was charged.', '4.50 spent, 0.25 held, 3 payments')
  const fourth = await agent.buy(`${weather.url}/forecast/lisbon`)
  refused('The pre-flight check denies it', fourth, '403 total_budget_exceeded')
  const challenge = await agent.askPrice(`${weather.url}/forecast/lisbon`)
  refused('The evaluation denies it', await agent.evaluate(challenge), '402 total_budget_exceeded')
  refused('No proof is issued', await agent.requestProof(challenge), '402 total_budget_exceeded')
  await showBudget(cast, 'Nothing was charged.', '4.50 spent, 0.25 held, 3 payments')
}

async function revocation(cast: Cast): Promise<void> {
  chapter(
    'The owner stops the agent',
    'The agent gets a valid proof for 0.25. Before it is used, the owner revokes the agent. Stop',
    'means stop: the proof becomes invalid, and the held amount is released.',
  )
  const { agent, weather, owner } = cast
  const address = `${weather.url}/now/lisbon`
  const granted = await agent.requestProof(await agent.askPrice(address))
  expect('The agent has its proof.', granted.status, 201)
  const proof = granted.body['proof'] as Proof
  await showBudget(cast, 'The last 0.25 is held for it.', '4.50 spent, 0.50 held, 3 payments')
  expect('The agent is revoked.', (await owner.revokeAgent(cast.agentId)).status, 'revoked')
  refused('The proof is no longer valid', await agent.present(address, proof), '402 proof_expired')
  refused('The agent is refused', await agent.buy(address), '403 agent_revoked')
  expect('The proof is voided.', (await owner.readProof(proof['nonce'] ?? '')).status, 'voided')
  await showBudget(cast, 'Nothing was charged; nothing is held.', '4.50 spent, 0.00 held, 3 payments')
}

async function summary({ observer, mandateId, purser, ownerKey }: Cast): Promise<void> {
  const mandate = await observer.readMandate(mandateId)
  const payments = await observer.listPayments()
  const events = await observer.listPaymentEvents()
  chapter('The bottom line')
  const sum = payments.reduce((cents, { amount }) => cents + toCents(amount), 0n)
  print(`     Budget     ${mandate.max_spend_total} USDC
     Spent      ${mandate.spent_total}
     Held       ${mandate.held_total}
     Left       ${leftOf(mandate)}
     Payments   ${payments.length}
     Refusals   ${refusals}
`)
  expect('The payments add up to the spent total.', fromCents(sum), mandate.spent_total)
  expect('Each payment is in the audit log, once.', events.length, payments.length)
  expect('14 refusals, and none of them cost anything.', [refusals, mandate.spent_total], [14, '4.50'])
  howToLook(purser.url, ownerKey, mandateId)
}

function howToLook(url: string, ownerKey: string, mandateId: string): void {
  if (!process.argv.includes('--stay')) {
    print(`
    Try it yourself:

      npm run demo -- --stay       the same, but Purser keeps running
      npm start                    your own Purser; http://127.0.0.1:8080/docs has the reference
      examples/demo/merchant.ts    how a merchant charges; agent.ts and owner.ts are next to it
`)
    return
  }
  print(`
    Purser runs until you press Ctrl-C. Try it yourself:

      open ${url}/docs
      curl -H 'Authorization: Bearer ${ownerKey}' ${url}/mandates/${mandateId}
      curl -H 'Authorization: Bearer ${ownerKey}' ${url}/v1/transactions
      curl -H 'Authorization: Bearer ${ownerKey}' ${url}/v1/audit-log
`)
}

async function startPurser(): Promise<ServiceProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-demo-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const starting = startServiceProcess(folder)
  cleanups.push(async () => (await starting.catch(() => undefined))?.stop())
  const purser = await starting
  narrator.introduce(purser.url, 'Purser')
  return purser
}

async function openAccount(operator: Owner, name: string): Promise<string> {
  const word = name.toLowerCase().replace(' ', '-')
  const { api_keys: keys } = await operator.createAccount({
    name,
    email: `${word}@example.com`,
    idp_user_id: word,
  })
  return keys.find(({ environment }) => environment === 'sandbox')?.key ?? ''
}

async function open(
  { url: serviceUrl }: ServiceProcess,
  accountKey: string,
  domain: string,
  goods: Parameters<typeof openMerchant>[0]['goods'],
): Promise<Merchant> {
  const name = domain.replace('.example', '')
  const owner = createOwner({ serviceUrl, key: accountKey, fetch: narrator.watch(name) })
  const prices = Object.fromEntries(Object.entries(goods).map(([path, { price }]) => [path, price]))
  await owner.registerSeller({ name: domain, domain, price_config: prices })
  const { key } = await owner.issueKey({ role: 'merchant' })
  const merchant = await openMerchant({ domain, goods, serviceUrl, key, fetch: narrator.watch(name) })
  cleanups.push(() => merchant.close())
  narrator.introduce(merchant.url, name)
  return merchant
}

/** Expects a refusal: the status and the reason. */
function refused(sentence: string, { status, body }: Answer, expected: string): void {
  const reason = body['error'] ?? body['reason_code']
  const found = `${status} ${typeof reason === 'string' ? reason : 'without a reason'}`
  expect(`${sentence}: ${expected}.`, found, expected)
  refusals++
}

/** Shows the budget, and compares it with the ledger. */
async function showBudget(
  { observer, mandateId }: Pick<Cast, 'observer' | 'mandateId'>,
  sentence: string,
  expected: string,
): Promise<void> {
  const mandate = await observer.readMandate(mandateId)
  const count = (await observer.listPayments()).length
  const payments = `${count} ${count === 1 ? 'payment' : 'payments'}`
  expect(sentence, `${mandate.spent_total} spent, ${mandate.held_total} held, ${payments}`, expected)
  narrator.budget(mandate)
}

function timeLimit(): RequestInit {
  return { signal: AbortSignal.timeout(5_000) }
}
