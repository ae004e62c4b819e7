/**
 * A hostile tenant next to an honest one, in a separate process: the service and the attackers are its
 * children, and together they can get priority over everything else on the machine.
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { inParallel, makePurchase, openLoadClient, type LoadClient } from '../testing/load.ts'
import type { Purchase } from '../testing/service.ts'
import type { Bound } from './hostile-service.ts'
import type { Order, Sightings, Target } from './hostile-tenant.ts'
import { makeFolder, startProcess, type ReadyProcess } from './process.ts'

/** What to measure. */
export interface Plan {
  readonly database?: string | undefined
  /** The protection that the service lacks. */
  readonly without: Bound
  /** The number and duration of alternating quiet and hostile windows. */
  readonly windows: number
  readonly windowMs: number
  /** Memory growth after which there is nothing more to show: the scenario ends. */
  readonly enoughMiB?: number | undefined
  /** Likewise for an honest request that waits this many times longer than any in the quiet time. */
  readonly enoughRatio?: number | undefined
}

/** The result of a scenario. */
export interface Figures {
  /** Milliseconds from the scheduled time of each honest request to its answer, in ascending order. */
  readonly quietMs: readonly number[]
  readonly hostileMs: readonly number[]
  /** Unexpected answers to the honest tenant. */
  readonly wrong: readonly string[]
  /** The number of purchases reported as paid, and the cents charged, unless it ended early; each costs one. */
  readonly paid: number
  readonly chargedCents: number | undefined
  /** The memory of the service before the first attack, and its peak after that. */
  readonly restingMiB: number
  readonly peakMiB: number
  /** How often each answer was given to each kind of attack. */
  readonly seen: Sightings
  readonly stderr: string
}

type Context = { readonly after: (stop: () => Promise<void>) => void }

/** Purchases of three requests that the honest tenant starts per second. */
const purchasesPerSecond = 40
/** How long an attack runs before it is measured. */
const rampMs = 300
/** A wait below this counts as this where a scenario ends early. */
const leastWaitMs = 100
const operatorKey = 'svc_sand_2f0c5d7e9b1a4c6d8e0f1a2b3c4d5e6f'

/** Lets an honest tenant buy at a fixed rate, alternately alone and next to a hostile one. */
async function runScenario(context: Context, plan: Plan): Promise<Figures> {
  const service = await startService(context, plan)
  const operator = openLoadClient(service.url, operatorKey, 2)
  const honest = openLoadClient(service.url, await addTenant(operator, 'honest'), 64)
  const hostileKey = await addTenant(operator, 'hostile')
  const purchases = await Promise.all(Array.from({ length: 8 }, () => makePurchase(honest)))
  const attackers = await startAttackers(context, await prepareTarget(service.url, hostileKey))
  const shop = openShop(honest, purchases)
  await shop.sell(1_000)

  const restingMiB = memoryMiB(service)
  let peakMiB = restingMiB
  const quietMs: number[] = []
  const hostileMs: number[] = []
  const enough = new AbortController()
  const watch = setInterval(() => {
    peakMiB = Math.max(peakMiB, memoryMiB(service))
    if (peakMiB - restingMiB > (plan.enoughMiB ?? Infinity)) enough.abort()
    const enoughMs = Math.max(leastWaitMs, ...quietMs) * (plan.enoughRatio ?? Infinity)
    if (quietMs.length > 0 && shop.longestWaitMs() > enoughMs) enough.abort()
  }, 50)
  for (let window = 0; window < plan.windows && !enough.signal.aborted; window++) {
    await untilIdle(service)
    quietMs.push(...(await shop.sell(plan.windowMs)))
    await attackers.begin()
    await sleep(rampMs)
    hostileMs.push(...(await shop.sell(plan.windowMs, enough.signal)))
    // The service is still busy with the attack, which ends with it.
    if (!enough.signal.aborted) await attackers.end()
  }
  clearInterval(watch)
  const figures = {
    quietMs: quietMs.sort((left, right) => left - right),
    hostileMs: hostileMs.sort((left, right) => left - right),
    wrong: [...shop.wrong],
    paid: shop.paid(),
    chargedCents: enough.signal.aborted ? undefined : await countCents(honest, purchases),
    restingMiB,
    peakMiB,
    seen: attackers.seen,
    stderr: service.stderr(),
  }
  operator.close()
  honest.close()
  return figures
}

function startService(context: Context, { without, database }: Plan): Promise<ReadyProcess> {
  return startProcess(context, {
    folder: makeFolder(context),
    script: join(import.meta.dirname, 'hostile-service.ts'),
    flags: [without],
    settings: {
      PURSER_BOOTSTRAP_SANDBOX_KEY: operatorKey,
      PURSER_WORKERS: '1',
      // So that key guessing reaches its limit while it is measured.
      PURSER_RATE_LIMIT_ADDRESS: '100/40',
      // Like `npm start`.
      NODE_OPTIONS: '--max-semi-space-size=32',
      ...(database === undefined ? {} : { PURSER_DATABASE: database }),
    },
  })
}

async function addTenant(operator: LoadClient, name: string): Promise<string> {
  const body = { name, email: `${name}@example.com`, idp_user_id: `idp_${name}` }
  const answer = await operator.send('POST', '/accounts', { body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.api_keys[0].key as string
}

/** Gives the hostile tenant records of the max size. */
async function prepareTarget(url: string, key: string): Promise<Target> {
  const client = openLoadClient(url, key, 8)
  const label = `${'s'.repeat(60)}.`
  const large = {
    purpose: 'x'.repeat(5_000),
    allowed_sellers: Array.from({ length: 200 }, (_, number) => `${label.repeat(3)}s${number}.example`),
  }
  const { agentId, mandateId } = await makePurchase(client, large)
  const make = (path: string, body: object, status: number) => async () => {
    const answer = await client.send('POST', path, { body })
    assert.equal(answer.status, status, answer.text)
  }
  const denied = {
    agent_id: agentId,
    mandate_id: mandateId,
    merchant_domain: 'not-allowed.example',
    amount: '1.00',
    resource_url: `https://not-allowed.example/${'x'.repeat(2_000)}`,
  }
  await inParallel(8, [
    ...Array(200).fill(make('/v1/policy/evaluate', denied, 402)),
    ...Array(20).fill(async () => void (await makePurchase(client, large))),
    ...Array(100).fill(make('/agents', { name: 'large', description: 'x'.repeat(5_000) }, 201)),
  ])
  client.close()
  return { port: Number(new URL(url).port), key, agentId, mandateId }
}

/**
 * The honest tenant, who starts purchases at a fixed rate, whether or not earlier ones have been answered.
 */
function openShop(client: LoadClient, purchases: readonly Purchase[]) {
  const wrong: string[] = []
  let paid = 0
  let started = 0
  let latencies: number[] = []
  /** When each request that has no answer yet was due. */
  const unanswered = new Map<symbol, number>()
  const waitsMs = () => [...unanswered.values()].map((dueMs) => performance.now() - dueMs)

  async function timed<Answer extends { readonly status: number; readonly text: string }>(
    asking: Promise<Answer>,
    { dueMs, status }: { readonly dueMs: number; readonly status: number },
  ): Promise<Answer> {
    const request = Symbol('request')
    unanswered.set(request, dueMs)
    const answer = await asking.finally(() => unanswered.delete(request))
    latencies.push(performance.now() - dueMs)
    if (answer.status !== status) wrong.push(`${answer.status} ${answer.text.slice(0, 200)}`)
    return answer
  }

  async function buy(dueMs: number): Promise<void> {
    const purchase = purchases[started++ % purchases.length] as Purchase
    await Promise.all([timed(client.evaluate(purchase), { dueMs, status: 200 }), pay(purchase, dueMs)])
  }

  async function pay(purchase: Purchase, dueMs: number): Promise<void> {
    const { body } = await timed(client.askForProof(purchase, '0.01'), { dueMs, status: 201 })
    const verified = await timed(client.verify(body.proof), { dueMs: performance.now(), status: 200 })
    if (verified.body.verified === true) paid += 1
  }

  return {
    wrong,
    paid: () => paid,
    longestWaitMs: () => Math.max(0, ...waitsMs()),
    /**
     * Trades for this long; resolves to the latencies of all requests once the last one has been answered, or at the
     * signal, with the waits of those that are not answered yet.
     */
    async sell(forMs: number, enough?: AbortSignal): Promise<number[]> {
      latencies = []
      const underWay: Promise<void>[] = []
      const startMs = performance.now()
      for (let count = 0; count < (forMs * purchasesPerSecond) / 1_000; count++) {
        if (enough?.aborted === true) break
        const dueMs = startMs + (count * 1_000) / purchasesPerSecond
        await sleep(Math.max(0, dueMs - performance.now()))
        underWay.push(buy(dueMs).catch((error: unknown) => void wrong.push(String(error))))
      }
      const answered = Promise.all(underWay)
      await (enough ? Promise.race([answered, aborted(enough)]) : answered)
      return [...latencies, ...waitsMs()]
    },
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

async function countCents(client: LoadClient, purchases: readonly Purchase[]): Promise<number> {
  let cents = 0
  for (const { mandateId } of purchases) {
    const { body } = await client.send('GET', `/mandates/${mandateId}`)
    cents += Math.round(Number(body.spent_total) * 100)
  }
  return cents
}

/** The attackers in a separate process, idle until they begin. */
async function startAttackers(context: Context, target: Target) {
  const child = fork(join(import.meta.dirname, 'hostile-tenant.ts'), { stdio: 'inherit' })
  context.after(async () => void child.kill('SIGKILL'))
  const seen: Sightings = {}
  const order = async (what: Order): Promise<unknown> => {
    child.send(what)
    const [reply] = (await once(child, 'message', { signal: AbortSignal.timeout(20_000) })) as unknown[]
    return reply
  }
  await order({ target })
  return {
    seen,
    begin: async () => void (await order('begin')),
    async end(): Promise<void> {
      for (const [kind, counts] of Object.entries((await order('end')) as Sightings)) {
        const all = (seen[kind] ??= {})
        for (const [what, count] of Object.entries(counts)) all[what] = (all[what] ?? 0) + count
      }
    },
  }
}

/** The resident memory of a process. */
function memoryMiB({ pid }: ReadyProcess): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1_024
}

/** Waits until the service has handled what was left of an attack. */
async function untilIdle({ pid }: ReadyProcess): Promise<void> {
  const everyMs = 100
  const deadlineMs = performance.now() + 10_000
  let before = ticksOf(pid)
  for (;;) {
    await sleep(everyMs)
    const now = ticksOf(pid)
    // A tick is 10 ms of processor time.
    if (now - before <= 1 || performance.now() > deadlineMs) return
    before = now
  }
}

/** The processor time of a process. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return Number(fields[11]) + Number(fields[12])
}

/**
 * Gives this process, which leads its own session, and its children priority over everything else on the
 * machine; without permission, it measures as is.
 */
function preferThis(): void {
  const attempts = [
    () => setPriority(constants.priority.PRIORITY_HIGHEST),
    () => writeFileSync('/proc/self/autogroup', String(constants.priority.PRIORITY_HIGHEST + 1)),
  ]
  for (const attempt of attempts) {
    try {
      attempt()
    } catch {
      // Not permitted, or not available.
    }
  }
}

process.once('message', (plan: Plan) => {
  const stops: (() => Promise<void>)[] = []
  const tidyUp = async () => {
    for (const stop of stops.toReversed()) await stop()
  }
  // The parent is gone.
  process.once('disconnect', () => void tidyUp().finally(() => process.exit(1)))
  preferThis()
  void runScenario({ after: (stop) => void stops.push(stop) }, plan)
    .then(
      (figures) => ({ figures }),
      (error: unknown) => ({
        failure: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
    )
    .then((outcome) => tidyUp().then(() => process.send?.(outcome)))
})
