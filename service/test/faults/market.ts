// Longer than 400 lines: every way in which clients trade is here, since they share their retries and their chances.
import { approvalWindowMs } from '../../src/domain/approval.ts'
import { validityWindowMs } from '../../src/domain/proof.ts'
import type { SeededRandom } from '../../testing/seeded-random.ts'
import { captureSeconds, type Answer, type Request } from './history.ts'
import type { Send } from './recorder.ts'

/** Agents and merchants that trade: the same over HTTP and against the model of the ledger. */
export interface Market {
  readonly send: Send
  /** Waits this many milliseconds of the service's clock. */
  readonly sleep: (ms: number) => Promise<void>
  readonly random: SeededRandom
  /** Whether new purchases may begin; those in progress are always completed. */
  readonly isOpen: () => boolean
  /** The owner of the agents and mandates. */
  readonly ownerKeyId: string
  /** A merchant of another account, which sells under `collectorDomain`. */
  readonly collectorKeyId: string
  /**
   * Who may disable accounts and release domains; if undefined, nobody does, and nobody stops all mandates.
   */
  readonly operatorKeyId?: string | undefined
  /** Whether agents also buy orders, and repeat their requests for proofs with idempotency keys. */
  readonly hasOrders?: boolean
  /** Whether agents are assigned to shared budgets, these are changed, and the account that pays is disabled. */
  readonly hasChanges?: boolean
}

/** The domains of the owner's own merchant, and of the merchant in another account. */
export const ownDomain = 'api.example.com'
export const collectorDomain = 'shop.example.net'

interface Team {
  readonly agentId: string
  readonly keyId: string
  readonly mandateIds: string[]
}

interface Shops {
  readonly teams: Team[]
  merchantKeyId: string
  /** The shared budget that new mandates may count in. */
  budgetId: string
  /** Purchases that are collected late, concurrently with the others. */
  readonly late: Promise<void>[]
}

/** Runs buyers and owners until the market closes; resolves when every purchase is complete. */
export async function trade(
  market: Market,
  { buyers, owners, teams }: { readonly buyers: number; readonly owners: number; readonly teams: number },
): Promise<void> {
  const [merchantKeyId, budgetId] = [await issueKey(market, null), await createBudget(market)]
  const shops: Shops = { teams: [], merchantKeyId, budgetId, late: [] }
  for (let team = 0; team < teams; team++) shops.teams.push(await openTeam(market, shops))
  await Promise.all([
    ...Array.from({ length: buyers }, () => buyUntilClosed(market, shops)),
    ...Array.from({ length: owners }, () => governUntilClosed(market, shops)),
  ])
  await Promise.all(shops.late)
}

async function buyUntilClosed(market: Market, shops: Shops): Promise<void> {
  const { random, sleep, send } = market
  while (market.isOpen()) {
    const { team, mandateId } = pickMandate(market, shops)
    const payment = {
      agentId: team.agentId,
      mandateId,
      amountMicro: BigInt(1_000_000 + random.below(1_000_000)),
      domain: random.pick([ownDomain, ownDomain, collectorDomain]),
    }
    if (market.hasOrders && chance(market, 10)) {
      await buyOrder(market, shops, { team, payment })
      continue
    }
    const asked = await send(team.keyId, { act: 'ask-proof', ...payment })
    if (asked.is === 'denied' && asked.approvalId !== undefined) {
      await buyWithApproval(market, shops, { team, payment, approvalId: asked.approvalId })
      continue
    }
    if (asked.is === 'granted' && chance(market, 12)) {
      await collectInSteps(market, shops, { nonce: asked.nonce, domain: payment.domain })
      continue
    }
    if (asked.is === 'granted') await collect(market, shops, { nonce: asked.nonce, domain: payment.domain })
    else if (isBudgetGone(asked)) {
      await send(team.keyId, { act: 'evaluate', ...payment })
      if (asked.code === 'shared_budget_exceeded') {
        shops.budgetId = await createBudget(market)
        if (market.hasChanges) await assignAgent(market, shops, team)
      }
      await replaceMandate(market, shops, { team, mandateId })
    } else await sleep(1_000 + random.below(4_000))
    if (chance(market, 10)) await send(team.keyId, { act: 'evaluate', ...payment })
    if (chance(market, 2)) await amend(market, mandateId)
    if (chance(market, 2)) await increase(market, team, mandateId)
  }
}

interface Purchase {
  readonly team: Team
  readonly payment: Omit<Request & { readonly act: 'ask-proof' }, 'act'>
}

/** Several processes of an agent buy one order, and repeat their requests; sometimes once more when its proof expires. */
async function buyOrder(market: Market, shops: Shops, { team, payment }: Purchase): Promise<void> {
  const { random, sleep } = market
  const orderId = `order ${random.below(1e9)}`
  const buy = async (process?: string, moreMicro = 0n) => {
    const order = { ...payment, amountMicro: payment.amountMicro + moreMicro, orderId }
    const key = process === undefined ? {} : { idempotencyKey: `${process} ${orderId}` }
    const request = { act: 'ask-proof', ...order, ...key } as const
    const asked = await untilTold(market, team.keyId, request)
    if (chance(market, 30)) await untilTold(market, team.keyId, request)
    if (asked.is === 'granted') await collect(market, shops, { nonce: asked.nonce, domain: payment.domain })
  }
  const aroundTheEndMs = validityWindowMs - 30_000 + random.below(100_000)
  if (chance(market, 30)) shops.late.push(sleep(aroundTheEndMs).then(() => buy('late')))
  await Promise.all([buy('one'), buy(random.pick([undefined, 'one', 'other']))])
  if (chance(market, 50)) await buy(random.pick([undefined, 'again']))
  if (chance(market, 20)) await buy(random.pick([undefined, 'one']), 1n)
}

interface Waiting extends Purchase {
  readonly approvalId: string
}

/** A person decides, sometimes twice or late, and the agent uses the approval, sometimes from two processes. */
async function buyWithApproval(market: Market, shops: Shops, waiting: Waiting): Promise<void> {
  const { random, sleep } = market
  if (market.hasChanges && chance(market, 3)) {
    const later = async () => {
      await sleep(random.below(approvalWindowMs))
      await decideAndUse(market, shops, waiting)
    }
    shops.late.push(later())
    return
  }
  await sleep(random.below(3_000))
  await decideAndUse(market, shops, waiting)
}

async function decideAndUse(market: Market, shops: Shops, waiting: Waiting): Promise<void> {
  const { ownerKeyId, random, send, sleep } = market
  const { team, payment, approvalId } = waiting
  const { mandateId } = payment
  const verdict = chance(market, 85) ? 'approved' : 'denied'
  await untilTold(market, ownerKeyId, { act: 'decide', mandateId, approvalId, verdict })
  const use = async () => {
    const asked = await send(team.keyId, { act: 'ask-proof', ...payment, approvalId })
    if (asked.is === 'granted') await collect(market, shops, { nonce: asked.nonce, domain: payment.domain })
  }
  const uses = chance(market, 15) ? [use(), use()] : [use()]
  if (chance(market, 10)) {
    await sleep(random.below(60))
    await untilTold(market, ownerKeyId, { act: 'decide', mandateId, approvalId, verdict: 'denied' })
  }
  await Promise.all(uses)
}

interface Sale {
  readonly nonce: string
  readonly domain: string
}

/** What a merchant does with a proof; usually it verifies it, once and at once. */
async function collect(market: Market, shops: Shops, sale: Sale): Promise<void> {
  const { random, sleep } = market
  if (market.operatorKeyId !== undefined && chance(market, 10)) {
    void sleep(random.below(150)).then(() =>
      market.send(market.ownerKeyId, { act: 'void-proof', nonce: sale.nonce }),
    )
  }
  const manner = random.below(100)
  if (manner < 8) return // The agent never sends the proof.
  if (manner < 20) {
    // Two processes of one merchant that do not know of each other.
    await Promise.all([verify(market, shops, sale, 'one'), verify(market, shops, sale, 'other')])
    return
  }
  if (manner < 28) {
    const aroundTheEndMs = validityWindowMs - 30_000 + random.below(100_000)
    shops.late.push(sleep(aroundTheEndMs).then(() => verify(market, shops, sale, 'late')))
    return
  }
  await verify(market, shops, sale, 'first')
  if (chance(market, 15)) await verify(market, shops, sale, 'first')
  if (chance(market, 10)) await verify(market, shops, sale, 'second')
  if (chance(market, 20)) await market.send(market.ownerKeyId, { act: 'look-up', nonce: sale.nonce })
}

/** Authorizes a payment and then captures it, fully or partly, voids it, or leaves it to its deadline. */
async function collectInSteps(market: Market, shops: Shops, sale: Sale): Promise<void> {
  const { random, sleep } = market
  const { nonce, domain } = sale
  const ask = (request: Request) => askAsMerchant(market, shops, domain, request)
  const authorize = { act: 'authorize', nonce, domain, idempotencyKey: `authorize ${nonce}` } as const
  const told = await ask(authorize)
  if (told.is !== 'authorized') return
  if (chance(market, 15)) await ask(authorize)
  if (chance(market, 10)) await verify(market, shops, sale, 'besides')
  await sleep(random.below(2_000))
  const amountMicro = random.pick([null, BigInt(1 + random.below(1_000_000))])
  const capture = { act: 'capture-authorized', nonce, domain, amountMicro } as const
  const first = { ...capture, idempotencyKey: `capture ${nonce}` }
  const release = { act: 'void-authorized', nonce, domain } as const
  const manner = random.below(100)
  if (manner < 20) {
    await Promise.all([ask(first), ask({ ...capture, idempotencyKey: `again ${nonce}` }), ask(release)])
  } else if (manner < 35) {
    await ask(release)
  } else if (manner < 45) {
    const aroundTheDeadlineMs = captureSeconds * 1_000 - 10_000 + random.below(20_000)
    shops.late.push(sleep(aroundTheDeadlineMs).then(async () => void (await ask(first))))
  } else if (manner < 92) {
    await payBack(market, shops, sale, await ask(first))
    if (chance(market, 20)) await ask(first)
  }
}

/** Refunds a payment in parts, not all of which may fit. */
async function payBack(market: Market, shops: Shops, { domain }: Sale, paid: Answer): Promise<void> {
  if (paid.is !== 'verified' || !chance(market, 50)) return
  const { transactionId } = paid
  const parts = Array.from({ length: 1 + market.random.below(3) }, async (_, index) => {
    const amountMicro = BigInt(1 + market.random.below(800_000))
    const idempotencyKey = `return ${index} ${transactionId}`
    const request = { act: 'refund', transactionId, domain, amountMicro, idempotencyKey } as const
    await askAsMerchant(market, shops, domain, request)
    if (chance(market, 15)) await askAsMerchant(market, shops, domain, request)
  })
  await Promise.all(parts)
}

/** Calls as the merchant of a domain until it gets an answer; once more if its key was replaced meanwhile. */
async function askAsMerchant(
  market: Market,
  shops: Shops,
  domain: string,
  request: Request,
): Promise<Answer> {
  if (domain === collectorDomain) return untilTold(market, market.collectorKeyId, request)
  const told = await untilTold(market, shops.merchantKeyId, request)
  return told.is === 'unauthorized' ? untilTold(market, shops.merchantKeyId, request) : told
}

/** Verifies and, as a merchant must, retries with the same key until it gets an answer. */
async function verify(market: Market, shops: Shops, sale: Sale, attempt: string): Promise<void> {
  const { nonce, domain } = sale
  const request = { act: 'verify', nonce, domain, idempotencyKey: `${attempt} ${nonce}` } as const
  if (domain === collectorDomain) return void (await untilTold(market, market.collectorKeyId, request))
  const told = await untilTold(market, shops.merchantKeyId, request)
  // Its key was replaced meanwhile.
  if (told.is === 'unauthorized') await untilTold(market, shops.merchantKeyId, request)
}

async function governUntilClosed(market: Market, shops: Shops): Promise<void> {
  const { ownerKeyId, random, send, sleep } = market
  while (market.isOpen()) {
    await sleep(2_000 + random.below(20_000))
    if (market.operatorKeyId !== undefined && chance(market, 30)) {
      await governAll(market, market.operatorKeyId)
      continue
    }
    const { team, mandateId } = pickMandate(market, shops)
    if (market.hasChanges && chance(market, 35)) {
      // Its merchant verifies a proof only after the change.
      const payment = { agentId: team.agentId, mandateId, amountMicro: 1_000_000n }
      const domain = random.pick([ownDomain, collectorDomain])
      const asked = await send(team.keyId, { act: 'ask-proof', ...payment, domain })
      await changeSomething(market, shops, { team, mandateId })
      if (asked.is === 'granted') await verify(market, shops, { nonce: asked.nonce, domain }, 'after')
      continue
    }
    const act = random.below(100)
    if (act < 10) {
      await send(ownerKeyId, { act: 'read-mandate', mandateId })
    } else if (act < 30) {
      const { budgetId } = shops
      await untilTold(market, ownerKeyId, { act: 'freeze-budget', budgetId })
      await sleep(random.below(4_000))
      await untilTold(market, ownerKeyId, { act: 'unfreeze-budget', budgetId })
    } else if (act < 38) {
      await amend(market, mandateId)
    } else if (act < 42) {
      await increase(market, team, mandateId)
    } else if (act < 70) {
      await untilTold(market, ownerKeyId, { act: 'pause-mandate', mandateId })
      await sleep(random.below(4_000))
      await untilTold(market, ownerKeyId, { act: 'resume-mandate', mandateId })
    } else if (act < 82) {
      await replaceMandate(market, shops, { team, mandateId })
      await untilTold(market, ownerKeyId, { act: 'revoke-mandate', mandateId })
      await buyInVain(market, team, mandateId)
    } else if (act < 92) {
      shops.teams.splice(shops.teams.indexOf(team), 1, await openTeam(market, shops))
      await untilTold(market, ownerKeyId, { act: 'revoke-agent', agentId: team.agentId })
      await buyInVain(market, team, mandateId)
    } else {
      const keyId = shops.merchantKeyId
      shops.merchantKeyId = await issueKey(market, null)
      await untilTold(market, ownerKeyId, { act: 'revoke-key', keyId })
    }
  }
}

/** Changes where payments count, ends open proofs, or disables the account that pays. */
async function changeSomething(
  market: Market,
  shops: Shops,
  { team, mandateId }: { readonly team: Team; readonly mandateId: string },
): Promise<void> {
  const { ownerKeyId, operatorKeyId, random, sleep } = market
  const { budgetId } = shops
  const act = random.below(100)
  if (act < 30) {
    await assignAgent(market, shops, team)
  } else if (act < 50) {
    // The agent joins a frozen budget, or leaves it.
    await untilTold(market, ownerKeyId, { act: 'freeze-budget', budgetId })
    await assignAgent(market, shops, team, budgetId)
    if (chance(market, 50)) await assignAgent(market, shops, team, null)
    await untilTold(market, ownerKeyId, { act: 'unfreeze-budget', budgetId })
    if (chance(market, 50)) await assignAgent(market, shops, team)
  } else if (act < 75) {
    const maxMicro = BigInt(10 + random.below(40)) * 1_000_000n
    const endsHolds = chance(market, 50)
    const window = random.pick(['lifetime', 'lifetime', 'month'] as const)
    await untilTold(market, ownerKeyId, { act: 'change-budget', budgetId, maxMicro, window, endsHolds })
  } else if (act < 85 || operatorKeyId === undefined) {
    await amend(market, mandateId, { endsHolds: true })
  } else {
    await untilTold(market, operatorKeyId, { act: 'disable-payer' })
    await sleep(random.below(5_000))
    await untilTold(market, operatorKeyId, { act: 'enable-payer' })
  }
}

async function assignAgent(
  market: Market,
  shops: Shops,
  { agentId }: Team,
  budgetId = market.random.pick([null, shops.budgetId]),
): Promise<void> {
  await untilTold(market, market.ownerKeyId, { act: 'assign-agent', agentId, budgetId })
}

/** Changes the max of one payment of a mandate, unless someone else was first. */
async function amend(
  { random, ...market }: Market,
  mandateId: string,
  ends: { readonly endsHolds?: boolean } = {},
): Promise<void> {
  const { ownerKeyId, send } = market
  const read = await send(ownerKeyId, { act: 'read-mandate', mandateId })
  if (read.is !== 'mandate') return
  const { version } = read
  const acts = Array.from({ length: 1 + random.below(2) }, () => {
    const maxPaymentMicro = random.pick([1_700_000n, 2_000_000n])
    const request = { act: 'amend-mandate', mandateId, version, maxPaymentMicro, ...ends } as const
    return untilTold({ random, ...market }, ownerKeyId, request)
  })
  await Promise.all(acts)
}

/** An agent requests a larger budget, and its owner grants it. */
async function increase(market: Market, { keyId }: Team, mandateId: string): Promise<void> {
  const maxTotalMicro = BigInt(60 + market.random.below(60)) * 1_000_000n
  const asked = await untilTold(market, keyId, { act: 'request-increase', mandateId, maxTotalMicro })
  if (asked.is !== 'requested') return
  const { approvalId } = asked
  const verdict = chance(market, 80) ? 'approved' : 'denied'
  await untilTold(market, market.ownerKeyId, { act: 'decide', mandateId, approvalId, verdict })
}

/** Operations on all mandates, or on the collector. */
async function governAll(market: Market, operatorKeyId: string): Promise<void> {
  const { ownerKeyId, collectorKeyId, random, sleep } = market
  const [first, second] = [`stop ${random.below(1e9)}`, `stop ${random.below(1e9)}`]
  const owner = (request: Request) => untilTold(market, ownerKeyId, request)
  switch (random.below(5)) {
    case 0:
      await owner({ act: 'stop-all', name: first })
      await sleep(random.below(3_000))
      await owner({ act: 'undo-stop', name: first })
      break
    case 1: {
      // An undo is running when the next stop begins.
      await owner({ act: 'stop-all', name: first })
      const undoing = sleep(random.below(300)).then(() => owner({ act: 'undo-stop', name: first }))
      await sleep(random.below(300))
      await owner({ act: 'stop-all', name: second })
      await undoing
      await owner({ act: 'undo-stop', name: first })
      await sleep(1_000 + random.below(3_000))
      break
    }
    case 2:
      // Nobody presses again if it was interrupted: another service must continue it.
      await market.send(ownerKeyId, { act: 'stop-all', name: first })
      await sleep(20_000 + random.below(60_000))
      if (!market.isOpen()) return
      await owner({ act: 'undo-stop', name: first })
      break
    case 3:
      await untilTold(market, operatorKeyId, { act: 'disable-collector' })
      await sleep(random.below(5_000))
      await untilTold(market, operatorKeyId, { act: 'enable-collector' })
      return
    default:
      await untilTold(market, operatorKeyId, { act: 'release-domain' })
      await sleep(random.below(5_000))
      await untilTold(market, collectorKeyId, { act: 'register-seller' })
      return
  }
  await owner({ act: 'undo-stop', name: null })
}

/** An agent that does not know of the revocation yet. */
async function buyInVain(market: Market, { agentId, keyId }: Team, mandateId: string): Promise<void> {
  const payment = { agentId, mandateId, amountMicro: 1_000_000n, domain: ownDomain }
  await market.send(keyId, { act: 'ask-proof', ...payment })
  await market.send(keyId, { act: 'evaluate', ...payment })
}

async function openTeam(market: Market, shops: Pick<Shops, 'budgetId'>): Promise<Team> {
  const agentId = await create(market, { act: 'create-agent' })
  const keyId = await issueKey(market, agentId)
  const mandateIds = [
    await createMandate(market, shops, agentId),
    await createMandate(market, shops, agentId),
  ]
  return { agentId, keyId, mandateIds }
}

async function replaceMandate(
  market: Market,
  shops: Shops,
  { team, mandateId }: { readonly team: Team; readonly mandateId: string },
): Promise<void> {
  const told = await untilTold(market, market.ownerKeyId, newMandate(market, shops, team.agentId))
  const at = team.mandateIds.indexOf(mandateId)
  if (told.is === 'created' && at !== -1) team.mandateIds[at] = told.id
}

function createMandate(market: Market, shops: Pick<Shops, 'budgetId'>, agentId: string): Promise<string> {
  return create(market, newMandate(market, shops, agentId))
}

function createBudget(market: Market): Promise<string> {
  return create(market, { act: 'create-budget', maxMicro: 40_000_000n })
}

/** A budget for a few dozen purchases, so that it runs out during the run. */
function newMandate({ random }: Market, shops: Pick<Shops, 'budgetId'>, agentId: string): Request {
  const maxTotalMicro = BigInt(20 + random.below(60)) * 1_000_000n
  const approveAboveMicro = random.pick([null, null, 1_500_000n])
  const limitMicro = random.pick([null, null, 18_000_000n])
  const budgetId = random.pick([null, null, shops.budgetId])
  const limits = { maxTotalMicro, maxPaymentMicro: 2_000_000n, approveAboveMicro, limitMicro, budgetId }
  return { act: 'create-mandate', agentId, ...limits }
}

function issueKey(market: Market, agentId: string | null): Promise<string> {
  return create(market, { act: 'issue-key', agentId })
}

async function create(market: Market, request: Request): Promise<string> {
  const told = await untilTold(market, market.ownerKeyId, request)
  if (told.is !== 'created') throw new Error(`${request.act} was answered ${JSON.stringify(told)}`)
  return told.id
}

/** Retries until an answer reports the outcome, each time with a longer timeout. */
async function untilTold(
  { send, sleep, ownerKeyId }: Market,
  keyId: string,
  request: Request,
): Promise<Answer> {
  for (let patienceMs = 500; ; patienceMs = Math.min(patienceMs * 2, 8_000)) {
    const answer = await send(keyId, request)
    // The owner's key works again when its account is enabled.
    const isRefused = answer.is === 'unauthorized' && keyId === ownerKeyId
    if (answer.is !== 'unknown' && answer.is !== 'unavailable' && !isRefused) return answer
    await sleep(patienceMs)
  }
}

function pickMandate({ random }: Market, { teams }: Shops): { team: Team; mandateId: string } {
  const team = random.pick(teams as [Team, ...Team[]])
  return { team, mandateId: random.pick(team.mandateIds as [string, ...string[]]) }
}

const budgetIsGone = ['total_budget_exceeded', 'velocity_limit_exceeded', 'shared_budget_exceeded'] as const

function isBudgetGone(answer: Answer): answer is Answer & { readonly is: 'denied' } {
  return answer.is === 'denied' && budgetIsGone.some((code) => code === answer.code)
}

function chance({ random }: Market, percent: number): boolean {
  return random.below(100) < percent
}
