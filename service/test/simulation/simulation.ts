import { auditEvent } from '../../src/domain/audit.ts'
import { holdGraceMs, validityWindowMs } from '../../src/domain/proof.ts'
import type { Caller } from '../../src/domain/records.ts'
import { createIds, type Ids } from '../../src/ids.ts'
import { KeyMap } from '../../src/store/ledger/key-map.ts'
import { Ledger } from '../../src/store/ledger/ledger.ts'
import { StoreUnavailableError } from '../../src/store/store.ts'
import { MemoryDatabase } from '../../testing/memory/memory-database.ts'
import { createAccount } from '../../src/store/ledger/operations/accounts.ts'
import { createSeller } from '../../src/store/ledger/operations/sellers.ts'
import {
  accounts,
  activityParts,
  mandates,
  payments,
  runningStops,
  type MandateRow,
  type PaymentRow,
  type RunningStop,
} from '../../src/store/ledger/tables.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import type { Answer, Evidence, Request } from '../faults/history.ts'
import { trade } from '../faults/market.ts'
import { record } from '../faults/recorder.ts'
import { createFaultyDriver } from './faulty-driver.ts'
import { environment, findRow, newKey, newSeller } from './simulated-records.ts'
import { SimulatedService, type World } from './simulated-service.ts'
import { readActivity } from '../faults/read-activity.ts'
import { readContent } from '../faults/read-content.ts'
import { VirtualTime } from './virtual-time.ts'

export interface SimulationOptions extends Partial<Pick<World, 'changeOperation' | 'changeDriver'>> {
  readonly seed: number
  /** How many of a hundred transactions are affected. */
  readonly faultPercent?: number
  /** How long the clients trade, by the simulation's clock. */
  readonly openMs?: number
  /** They continue until the services have run this many operations of the ledger. */
  readonly minOperations?: number
  /** Max duration of everything; what is still running then is aborted. */
  readonly maxMs?: number
  readonly buyers?: number
  readonly owners?: number
  readonly teams?: number
}

/** What happened, with the number of the ledger's operations that the services ran. */
export interface SimulatedHistory extends Evidence {
  readonly operations: number
}

/**
 * The result of two services and their clients on one ledger, whose connections fail and which crash and
 * restart. Deterministic for each seed.
 */
export async function simulate(options: SimulationOptions): Promise<SimulatedHistory> {
  const {
    seed,
    faultPercent = 10,
    openMs = 60_000,
    maxMs = 3_600_000,
    minOperations = 0,
    buyers = 3,
    owners = 2,
    teams = 2,
  } = options
  const random = seededRandom(seed)
  const time = new VirtualTime(Date.UTC(2026, 10, 20, 12))
  const database = new MemoryDatabase()
  const earlierRows = new KeyMap<Readonly<Record<string, unknown>>>()
  const { changeOperation = (operation) => operation, changeDriver = (driver) => driver } = options
  const moments = {
    madeAtMs: new Map<string, number>(),
    writtenAtMs: new Map<string, number>(),
    releasedAtMs: new Map<string, number>(),
    deniedNonces: new Set<string>(),
  }
  let payerId = ''
  const clockOffsetMs = () => findRow(database, accounts, { id: payerId })?.clockOffsetMs ?? 0
  const injected = { changeOperation, changeDriver }
  const simulated = { random, time, database, earlierRows, faultPercent }
  const world: World = { ...simulated, ...injected, clockOffsetMs, ...moments, operations: { count: 0 } }
  const ids = createIds(() => time.nowMs, random.bytes)
  const services = [new SimulatedService(world, ids), new SimulatedService(world, ids)] as const
  const closesAtMs = time.nowMs + openMs
  const isOpen = () => time.nowMs < closesAtMs || world.operations.count < minOperations
  const owner = await time.runUntil(openAccount(world, ids, 'owner'))
  payerId = owner.accountId
  const collector = await time.runUntil(openAccount(world, ids, 'merchant'))
  const operator = await time.runUntil(openAccount(world, ids, 'operator'))
  const parties = { owner, collector, operator }

  /** The round trip of a request to one of the services. */
  async function send(keyId: string, request: Request): Promise<Answer> {
    await time.sleep(random.below(20))
    const service = random.pick(services)
    const answered = service.answer(keyId, request, parties)
    // A client gives up if no answer arrives.
    const answer = await Promise.race([answered, time.sleep(12_000).then((): Answer => ({ is: 'unknown' }))])
    await time.sleep(random.below(20))
    return random.below(100) < 2 ? { is: 'unknown' } : answer
  }

  // A client that gives up has found an impossible answer.
  const broken: unknown[] = []
  // All times are judged on the clock of the account that pays.
  const payerMs = () => time.nowMs + clockOffsetMs()
  const recorder = record(send, payerMs)
  const market = {
    send: recorder.send,
    sleep: time.sleep,
    random,
    isOpen,
    ownerKeyId: owner.keyId,
    collectorKeyId: collector.keyId,
    operatorKeyId: operator.keyId,
    hasOrders: true,
    hasChanges: true,
  }
  void crashNowAndThen(services, world, isOpen)
  void moveClocks(services, world)
  /** A service that cannot reach the ledger tries again later. */
  const whenFailed = (error: unknown) => {
    if (!(error instanceof StoreUnavailableError)) broken.push(error)
  }
  void advanceClocks(services, world, { owner, isOpen, whenFailed })
  void sweepForEver(services, world, { isOpen, whenFailed })
  void rollUpForEver(services, world, whenFailed)
  const trading = trade(market, { buyers, owners, teams }).catch((error: unknown) => broken.push(error))
  await time.runUntil(Promise.race([trading, time.sleep(maxMs)]))
  // Everything in progress completes, and expired holds are released.
  await time.runUntil(time.sleep(validityWindowMs + holdGraceMs + 60_000))
  const endedMs = payerMs()
  const gaveUp = broken.map((error) => ({
    keyId: owner.keyId,
    request: { act: 'create-agent' } as const,
    beganMs: endedMs,
    endedMs,
    answer: { is: 'broken', text: String(error) } as const,
  }))
  return {
    operations: world.operations.count,
    calls: [...recorder.calls, ...gaveUp],
    content: {
      ...readContent((table) => database.rowsOf(table), {
        readAtMs: endedMs,
        sweptUntilMs: endedMs,
        statusAtMs: endedMs,
        clockSkewMs: maxClockSkewMs,
        madeAtMs: world.madeAtMs,
        writtenAtMs: world.writtenAtMs,
        releasedAtMs: world.releasedAtMs,
      }),
      activity: readActivity((table) => database.rowsOf(table)),
      deniedNonces: [...world.deniedNonces],
      runningStops: (database.rowsOf(runningStops) as unknown as RunningStop[]).map(({ stopId }) => stopId),
    },
  }
}

interface Listeners {
  readonly isOpen: () => boolean
  readonly whenFailed: (error: unknown) => void
}

/** Max error of a service's clock. */
const maxClockSkewMs = 3_000

/** Sets the services' clocks back and forth. */
async function moveClocks(
  services: readonly [SimulatedService, SimulatedService],
  { random, time, faultPercent }: World,
): Promise<void> {
  if (faultPercent === 0) return
  for (;;) {
    await time.sleep(random.below(20_000))
    random.pick(services).clockSkewMs = random.below(2 * maxClockSkewMs) - maxClockSkewMs
  }
}

/** Advances the test clock of the account that pays, at times past the windows of its proofs. */
async function advanceClocks(
  services: readonly [SimulatedService, SimulatedService],
  { random, time, faultPercent }: World,
  { owner, isOpen, whenFailed }: Listeners & { readonly owner: Caller },
): Promise<void> {
  if (faultPercent === 0) return
  for (;;) {
    await time.sleep(1_000 + random.below(10_000))
    if (!isOpen()) return
    const byMs = random.below(5) === 0 ? validityWindowMs + holdGraceMs : 1 + random.below(30_000)
    random.pick(services).advanceClock({ accountId: owner.accountId, environment }, byMs).catch(whenFailed)
  }
}

async function crashNowAndThen(
  services: readonly [SimulatedService, SimulatedService],
  { random, time, faultPercent }: World,
  isOpen: () => boolean,
): Promise<void> {
  if (faultPercent === 0) return
  while (isOpen()) {
    await time.sleep(5_000 + random.below(20_000))
    random.pick(services).crash()
  }
}

/**
 * Each service releases expired holds and continues stops, like it does every second. While the clients trade, also of
 * mandates without expired holds, so that sweeps and payments meet.
 */
async function sweepForEver(
  services: readonly [SimulatedService, SimulatedService],
  { random, time, database, clockOffsetMs }: World,
  { isOpen, whenFailed }: Listeners,
): Promise<void> {
  for (;;) {
    await time.sleep(15_000)
    const endedBeforeMs = isOpen() ? Infinity : time.nowMs + clockOffsetMs()
    const ended = (database.rowsOf(payments) as unknown as PaymentRow[]).filter(
      ({ captureDeadlineMs, expiresAtMs }) => (captureDeadlineMs ?? expiresAtMs) <= endedBeforeMs,
    )
    const mandateIds = new Set(ended.map(({ mandateId }) => mandateId))
    for (const { accountId, id: mandateId, heldMicro, authorizedMicro } of database.rowsOf(
      mandates,
    ) as unknown as MandateRow[]) {
      if (!mandateIds.has(mandateId) || (heldMicro === 0n && authorizedMicro === 0n)) continue
      const swept = random.pick(services).sweep({ accountId, mandateId })
      swept.catch(whenFailed)
    }
    for (const running of database.rowsOf(runningStops) as unknown as RunningStop[]) {
      for (const service of services) service.continueStop(running).catch(whenFailed)
    }
  }
}

/** Every service adds up entries, all at once. */
async function rollUpForEver(
  services: readonly [SimulatedService, SimulatedService],
  { random, time, database }: World,
  whenFailed: Listeners['whenFailed'],
): Promise<void> {
  for (;;) {
    await time.sleep(2_000 + random.below(4_000))
    if (database.rowsOf(activityParts).length === 0) continue
    for (const service of services) service.addUpActivity().catch(whenFailed)
  }
}

async function openAccount(
  { time, database, earlierRows }: World,
  ids: Ids,
  role: 'owner' | 'merchant' | 'operator',
): Promise<Caller> {
  const ledger = new Ledger({
    driver: createFaultyDriver({
      database,
      earlierRows,
      random: seededRandom(0),
      sleep: time.sleep,
      nowMs: () => time.nowMs,
      faultPercent: 0,
      isCrashed: () => false,
    }),
    stopwatch: { nowMs: () => time.nowMs, sleep: time.sleep },
    random: () => 0,
  })
  const accountId = ids.next('account')
  const scope = { accountId, environment } as const
  const keyId = ids.next('apiKey')
  const account = {
    id: accountId,
    name: role,
    email: `${role}@example.com`,
    idpUserId: `idp_${role}`,
    disabledAtMs: null,
  }
  await ledger.run(createAccount, [
    { ...account, createdAtMs: time.nowMs },
    [newKey(scope, keyId, role, time.nowMs)],
    [],
  ])
  const caller: Caller = { ...scope, keyId, role, agentId: null }
  if (role !== 'merchant') return caller
  const id = ids.next('seller')
  const seller = newSeller(scope, id, time.nowMs)
  const details = {
    id: ids.next('auditEvent'),
    type: 'seller.created',
    subjectId: id,
    data: {},
    atMs: time.nowMs,
  } as const
  await ledger.run(createSeller, [seller, auditEvent(caller, caller, details)])
  return caller
}
