import { calendarPeriodAt, type CalendarWindow } from './time/calendar.ts'
import { addMicro, formatSum, subtractMicro, type MicroUsdc } from './money.ts'

/** The time over which a limit counts. */
export type LimitWindow = CalendarWindow | { readonly rollingSeconds: number } | 'lifetime'

export type LimitAction = 'deny' | 'require_approval' | 'notify'
export type LimitSubject = 'seller' | 'resource'

/** A limit on what payments may commit in a window. At least one max is set. Stored as JSON. */
export interface Limit {
  readonly id: string
  readonly window: LimitWindow
  /** As provided, and in millionths, as digits: JSON has no bigint. */
  readonly maxAmountText: string | null
  readonly maxAmountMicro: string | null
  readonly maxCount: number | null
  /** Counts separately for each seller or resource. */
  readonly per: LimitSubject | null
  readonly action: LimitAction
}

/** A sum of committed payments. */
export interface Committed {
  readonly amountMicro: MicroUsdc
  readonly count: number
}

/**
 * What was committed in a part of a window: a calendar period by its start, a slice of a rolling window by its number.
 * Amounts are digits. Stored as JSON.
 */
export type Bucket = readonly [key: number, amountMicro: string, count: number]

/** The buckets of some limits, by limit id. Buckets that no longer count are dropped. */
export type Tally = Readonly<Record<string, readonly Bucket[]>>

/** A limit, and the tally that it counts in. */
export interface CountedLimit {
  readonly limit: Limit
  readonly tally: Tally
}

/** What checks 10 and 11 compare. */
export interface LimitFacts {
  /** When the payment would be booked. */
  readonly atMs: number
  /** The limits of the mandate. */
  readonly own: readonly CountedLimit[]
  /** The shared budgets above it, nearest first. */
  readonly budgets: readonly {
    readonly id: string
    readonly name: string
    readonly isFrozen: boolean
    readonly limits: readonly CountedLimit[]
  }[]
}

/** Something below shared budgets: the nearest one and those above it, nearest first; null for none. */
interface BelowBudgets {
  readonly budgetPath: readonly string[] | null
}

/** The shared budgets that a new payment counts in, nearest first. */
export function budgetPathOf(
  { budgetPath }: BelowBudgets,
  agent: BelowBudgets | undefined,
): readonly string[] {
  const ofAgent = agent?.budgetPath ?? []
  if (budgetPath === null || budgetPath.length === 0) return ofAgent
  return ofAgent.length === 0 ? budgetPath : [...new Set([...budgetPath, ...ofAgent])]
}

/** A limit that a payment exceeds. */
export interface ExceededLimit {
  readonly id: string
  readonly scope: 'mandate' | 'budget'
  readonly scopeId: string
  readonly action: LimitAction
  readonly window: LimitWindow
  readonly unit: 'amount' | 'count'
  /** The max and what is committed: decimal text for an amount, digits for a count. */
  readonly max: string
  readonly committed: string
  readonly resetsAtMs: number | null
}

/** The limit if a payment would exceed it; undefined if it fits. */
function checkLimit(
  { limit, tally }: CountedLimit,
  scope: Pick<ExceededLimit, 'scope' | 'scopeId'>,
  payment: { readonly amountMicro: MicroUsdc; readonly atMs: number },
): ExceededLimit | undefined {
  const { amountMicro, atMs } = payment
  const committed = committedAt(tally, limit, atMs)
  const unit = exceeds(limit, committed, amountMicro)
  if (!unit) return undefined
  return {
    id: limit.id,
    ...scope,
    action: limit.action,
    window: limit.window,
    unit,
    max: unit === 'amount' ? (limit.maxAmountText ?? '') : String(limit.maxCount),
    committed: unit === 'amount' ? formatSum(committed.amountMicro) : String(committed.count),
    resetsAtMs: resetsAtMs(tally, limit, atMs, amountMicro),
  }
}

/** Every limit that a payment would exceed: those of the mandate first, then those of its budgets, nearest first. */
export function exceededLimits(
  { atMs, own, budgets }: LimitFacts,
  mandateId: string,
  amountMicro: MicroUsdc,
): readonly ExceededLimit[] {
  const payment = { amountMicro, atMs }
  const ofMandate = own.map((counted) =>
    checkLimit(counted, { scope: 'mandate', scopeId: mandateId }, payment),
  )
  const ofBudgets = budgets.flatMap(({ id, limits }) =>
    limits.map((counted) => checkLimit(counted, { scope: 'budget', scopeId: id }, payment)),
  )
  return [...ofMandate, ...ofBudgets].filter((exceeded) => exceeded !== undefined)
}

/** How far a limit is used up at a time. */
export interface LimitUsage {
  readonly limit: Limit
  readonly scope: 'mandate' | 'budget'
  readonly scopeId: string
  readonly startsAtMs: number | null
  readonly resetsAtMs: number | null
  /** Null for a limit per subject. */
  readonly committed: Committed | null
}

export function usageOf(
  { limit, tally }: CountedLimit,
  scope: Pick<LimitUsage, 'scope' | 'scopeId'>,
  atMs: number,
): LimitUsage {
  const isTogether = limit.per === null
  return {
    limit,
    ...scope,
    startsAtMs: windowStartsAtMs(limit.window, atMs),
    resetsAtMs: isTogether || isCalendar(limit.window) ? nextResetAtMs(tally, limit, atMs) : null,
    committed: isTogether ? committedAt(tally, limit, atMs) : null,
  }
}

function isCalendar(window: LimitWindow): boolean {
  return typeof window === 'object' && 'calendar' in window
}

/** When the next counted payment stops counting; null if none will. */
function nextResetAtMs(tally: Tally, { id, window }: Limit, atMs: number): number | null {
  if (window === 'lifetime') return null
  if ('calendar' in window) return calendarPeriodAt(window, atMs).endsAtMs
  const first = firstBucketAt(window, atMs)
  const oldest = (tally[id] ?? []).find(
    ([key, amount, count]) => key >= first && (count > 0 || amount !== '0'),
  )
  return oldest ? sliceStartsAtMs(window.rollingSeconds, oldest[0] + slices + 1) : null
}

const none: Committed = { amountMicro: 0n as MicroUsdc, count: 0 }

/**
 * A rolling window consists of this many slices and the current one. So it never counts less than its time, and at most
 * one slice more.
 */
const slices = 24

/** The bucket of a payment that was booked at this time. */
export function bucketAt(window: LimitWindow, atMs: number): number {
  if (window === 'lifetime') return 0
  if ('rollingSeconds' in window) return Math.floor((atMs * slices) / (window.rollingSeconds * 1_000))
  return calendarPeriodAt(window, atMs).startsAtMs
}

/** The first bucket that counts at this time. */
export function firstBucketAt(window: LimitWindow, atMs: number): number {
  const current = bucketAt(window, atMs)
  return typeof window === 'object' && 'rollingSeconds' in window ? current - slices : current
}

/** The number of the period in which an exceeded limit is reported once. */
export function reportPeriodAt(window: LimitWindow, atMs: number): number {
  const isRolling = typeof window === 'object' && 'rollingSeconds' in window
  return isRolling ? Math.floor(atMs / (window.rollingSeconds * 1_000)) : bucketAt(window, atMs)
}

/** When the part of a window that counts at this time starts; null for `lifetime`. */
export function windowStartsAtMs(window: LimitWindow, atMs: number): number | null {
  if (window === 'lifetime') return null
  const first = firstBucketAt(window, atMs)
  return 'rollingSeconds' in window ? sliceStartsAtMs(window.rollingSeconds, first) : first
}

/** The tally with a payment that is booked at this time. Without buckets that no longer count. */
export function addToTally(
  tally: Tally,
  { id, window }: Pick<Limit, 'id' | 'window'>,
  atMs: number,
  { amountMicro, count }: Committed,
): Tally {
  const kept = tally[id] ?? []
  // The time never moves back, even if the rules of a time zone change.
  const key = Math.max(bucketAt(window, atMs), kept.at(-1)?.[0] ?? -Infinity)
  const first = firstBucketAt(window, atMs)
  const others = kept.filter(([own]) => own >= first && own !== key)
  const own = bucketOf(kept, key)
  const sum: Bucket = [key, String(addMicro(own.amountMicro, amountMicro)), own.count + count]
  return { ...tally, [id]: [...others, sum] }
}

/** What a payment commits, and when it was booked. */
export interface BookedPart extends Committed {
  readonly bookedAtMs: number
}

/** The tally with payments that were booked before their limit was added, as far as they count at this time. */
export function countBooked(
  tally: Tally,
  { id, window }: Pick<Limit, 'id' | 'window'>,
  booked: readonly BookedPart[],
  atMs: number,
): Tally {
  const first = firstBucketAt(window, atMs)
  const sums = new Map((tally[id] ?? []).map((bucket) => [bucket[0], bucketOf([bucket], bucket[0])]))
  for (const { bookedAtMs, amountMicro, count } of booked) {
    const key = bucketAt(window, bookedAtMs)
    if (key < first) continue
    const own = sums.get(key) ?? none
    sums.set(key, { amountMicro: addMicro(own.amountMicro, amountMicro), count: own.count + count })
  }
  if (sums.size === 0) return tally
  const buckets = [...sums].sort(([one], [other]) => one - other)
  return {
    ...tally,
    [id]: buckets.map(([key, { amountMicro, count }]): Bucket => [key, String(amountMicro), count]),
  }
}

/**
 * The tally without what is given back for a payment that was booked at this time. Unchanged if its bucket is
 * gone.
 */
export function takeFromTally(
  tally: Tally,
  { id, window }: Pick<Limit, 'id' | 'window'>,
  atMs: number,
  back: Committed,
): Tally {
  return takeFromBucket(tally, id, bucketAt(window, atMs), back)
}

function takeFromBucket(tally: Tally, id: string, key: number, { amountMicro, count }: Committed): Tally {
  const kept = tally[id]
  const index = kept?.findIndex(([own]) => own === key) ?? -1
  if (!kept || index < 0) return tally
  const own = bucketOf(kept, key)
  const left: Bucket = [key, String(subtractMicro(own.amountMicro, amountMicro)), own.count - count]
  return { ...tally, [id]: kept.with(index, left) }
}

/** The tally without everything in another, as far as its buckets are still there. */
export function takeTally(tally: Tally, taken: Tally): Tally {
  let left = tally
  for (const [id, buckets] of Object.entries(taken)) {
    for (const [key] of buckets) left = takeFromBucket(left, id, key, bucketOf(buckets, key))
  }
  return left
}

function bucketOf(buckets: readonly Bucket[], key: number): Committed {
  const found = buckets.find(([own]) => own === key)
  return found ? { amountMicro: BigInt(found[1]) as MicroUsdc, count: found[2] } : none
}

/** What counts towards a limit at this time. */
export function committedAt(
  tally: Tally,
  { id, window }: Pick<Limit, 'id' | 'window'>,
  atMs: number,
): Committed {
  const first = firstBucketAt(window, atMs)
  let { amountMicro, count } = none
  for (const [key, amount, payments] of tally[id] ?? []) {
    if (key < first) continue
    amountMicro = addMicro(amountMicro, BigInt(amount) as MicroUsdc)
    count += payments
  }
  return { amountMicro, count }
}

/** Which max of a limit a payment would exceed; undefined if it fits. */
export function exceeds(
  limit: Pick<Limit, 'maxAmountMicro' | 'maxCount'>,
  { amountMicro, count }: Committed,
  ofPaymentMicro: MicroUsdc,
): ExceededLimit['unit'] | undefined {
  return exceedsMax(limit, { amountMicro: addMicro(amountMicro, ofPaymentMicro), count: count + 1 })
}

/** Whether a limit admits no payment at a time, however small. One `per` subject may admit others. */
export function isFull({ limit, tally }: CountedLimit, atMs: number): boolean {
  if (limit.action !== 'deny' || limit.per !== null) return false
  return exceeds(limit, committedAt(tally, limit, atMs), 1n as MicroUsdc) !== undefined
}

/** Which max of a limit is below what is committed; undefined if none is. */
export function exceedsMax(
  { maxAmountMicro, maxCount }: Pick<Limit, 'maxAmountMicro' | 'maxCount'>,
  { amountMicro, count }: Committed,
): ExceededLimit['unit'] | undefined {
  if (maxAmountMicro !== null && !(amountMicro <= BigInt(maxAmountMicro))) return 'amount'
  return maxCount !== null && !(count <= maxCount) ? 'count' : undefined
}

/** When a limit has room for a payment that exceeds it, if nothing else is booked; null if never. */
export function resetsAtMs(tally: Tally, limit: Limit, atMs: number, amountMicro: MicroUsdc): number | null {
  const { window } = limit
  if (window === 'lifetime' || exceeds(limit, none, amountMicro)) return null
  if (!('rollingSeconds' in window)) return calendarPeriodAt(window, atMs).endsAtMs
  const first = firstBucketAt(window, atMs)
  const counted = (tally[limit.id] ?? []).filter(([key]) => key >= first)
  let left = committedAt(tally, limit, atMs)
  let key = bucketAt(window, atMs)
  for (const bucket of counted) {
    key = bucket[0]
    const { amountMicro: ended, count } = bucketOf(counted, key)
    left = { amountMicro: subtractMicro(left.amountMicro, ended), count: left.count - count }
    if (!exceeds(limit, left, amountMicro)) break
  }
  return sliceStartsAtMs(window.rollingSeconds, key + slices + 1)
}

/** The first millisecond of a slice. */
function sliceStartsAtMs(rollingSeconds: number, slice: number): number {
  return Math.ceil((slice * rollingSeconds * 1_000) / slices)
}
