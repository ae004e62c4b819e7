import type { Environment } from '@purser/wire/fields'

import type { MicroUsdc } from '../../domain/money.ts'

/**
 * The console's sums are stored per quarter of an hour: the offset of every time zone is a multiple of it, so every
 * day starts with one.
 */
export const quarterMs = 15 * 60_000

/** Revenue is shown for months, so whole days are enough. */
const dayMs = 24 * 60 * 60_000

/**
 * The dimensions of the sums; `subject` identifies the item. `domain` counts everything that a list can show,
 * by merchant and, with an empty subject, in total, so that a list knows where to look. `agent`, `payee` and
 * `category` break down an account's spending; their sums by UTC day find the largest subjects.
 */
export const activityDimensions = [
  'all',
  'mandate',
  'reason',
  'domain',
  'seller',
  'seller_total',
  'agent',
  'agent_day',
  'payee',
  'payee_day',
  'category',
  'category_day',
] as const

export type ActivityDimension = (typeof activityDimensions)[number]

/** The breakdowns of spending. */
export type SplitDimension = 'agent' | 'payee' | 'category'

/**
 * `received` and `refund_sent` are for payments between two accounts; `more_denied` counts denials without their own records.
 */
export type EntryKind =
  'approved' | 'denied' | 'paid' | 'received' | 'refunded' | 'refund_sent' | 'more_denied'

/** Whether an entry concerns an agent of another account. */
export function isOfOtherAccount(kind: EntryKind): boolean {
  return kind === 'received' || kind === 'refund_sent'
}

/** Whether an entry counts in what the account spends. */
export function isSpending(kind: EntryKind): boolean {
  return kind === 'paid' || kind === 'refunded'
}

/**
 * What some entries of one kind add to the sums, by mandate: its id (empty if none), the count, and the amount in
 * millionths.
 */
export type ActivityPart = readonly [
  environment: Environment,
  quarterStartsAtMs: number,
  kind: EntryKind,
  /** Why the payment was denied. */
  reason: string | null,
  merchantDomain: string | null,
  /** Whether the payments are revenue of the account. */
  isRevenue: boolean,
  mandates: readonly MandatePart[],
  /** The category of the payments, if they have one. */
  category?: string,
]

/** The agent is given for payments of the account and their refunds. */
export type MandatePart = readonly [mandateId: string, count: number, micro: string, agentId?: string]

export interface ActivitySum {
  readonly environment: Environment
  readonly dimension: ActivityDimension
  readonly subject: string
  readonly startsAtMs: number
  paidCount: number
  paidMicro: bigint
  approvedCount: number
  deniedCount: number
  refundedCount: number
  refundedMicro: bigint
}

/** The sums of parts, in the order of environment, dimension, subject and time. */
export function sumsOfParts(parts: Iterable<ActivityPart>): ActivitySum[] {
  // By environment, dimension and time, then by subject: a part has one time and many mandates.
  const groups = new Map<string, Map<string, ActivitySum>>()

  function groupOf(environment: Environment, dimension: ActivityDimension, startsAtMs: number): Group {
    const name = `${environment}\0${dimension}\0${startsAtMs}`
    let sums = groups.get(name)
    if (!sums) groups.set(name, (sums = new Map<string, ActivitySum>()))
    return { environment, dimension, startsAtMs, sums }
  }

  /** The groups of a quarter of an hour, and of its day. */
  function withDays(dimension: SplitDimension, environment: Environment, startsAtMs: number): Group[] {
    return [
      groupOf(environment, dimension, startsAtMs),
      groupOf(environment, `${dimension}_day`, startsAtMs - (startsAtMs % dayMs)),
    ]
  }

  for (const part of parts) {
    const [environment, startsAtMs, kind, reason, merchantDomain, isRevenue, mandates, category] = part
    const byMandate = isOfOtherAccount(kind) ? undefined : groupOf(environment, 'mandate', startsAtMs)
    const all = { count: 0, micro: 0n }
    const byAgent = isSpending(kind) ? withDays('agent', environment, startsAtMs) : []
    for (const [mandateId, count, text, agentId] of mandates) {
      const micro = BigInt(text)
      all.count += count
      all.micro += micro
      if (byMandate && mandateId !== '') addTo(byMandate, mandateId, kind, count, micro)
      if (agentId === undefined) continue
      for (const group of byAgent) addTo(group, agentId, kind, count, micro)
    }
    const add = (dimension: ActivityDimension, subject: string, atMs = startsAtMs) =>
      addTo(groupOf(environment, dimension, atMs), subject, kind, all.count, all.micro)
    const addWithDay = (dimension: SplitDimension, subject: string) => {
      for (const group of withDays(dimension, environment, startsAtMs))
        addTo(group, subject, kind, all.count, all.micro)
    }
    if (!isOfOtherAccount(kind)) add('all', '')
    if (kind === 'more_denied') continue
    add('domain', '')
    if (reason !== null) add('reason', reason)
    if (merchantDomain === null) continue
    add('domain', merchantDomain)
    if (isSpending(kind)) {
      addWithDay('payee', merchantDomain)
      if (category !== undefined) addWithDay('category', category)
    }
    if (isRevenue) {
      add('seller', merchantDomain, startsAtMs - (startsAtMs % dayMs))
      add('seller_total', merchantDomain, 0)
    }
  }
  return [...groups.values()].flatMap((sums) => [...sums.values()]).sort(compareSums)
}

interface Group extends Pick<ActivitySum, 'environment' | 'dimension' | 'startsAtMs'> {
  readonly sums: Map<string, ActivitySum>
}

function addTo(
  { sums, environment, dimension, startsAtMs }: Group,
  subject: string,
  kind: EntryKind,
  count: number,
  micro: bigint,
): void {
  let sum = sums.get(subject)
  if (!sum) {
    const paid = { paidCount: 0, paidMicro: 0n, refundedCount: 0, refundedMicro: 0n }
    const none = { ...paid, approvedCount: 0, deniedCount: 0 }
    sums.set(subject, (sum = { environment, dimension, subject, startsAtMs, ...none }))
  }
  switch (kind) {
    case 'paid':
    case 'received':
      sum.paidCount += count
      sum.paidMicro += micro
      return
    case 'refunded':
    case 'refund_sent':
      sum.refundedCount += count
      sum.refundedMicro += micro
      return
    case 'approved':
      sum.approvedCount += count
      return
    case 'denied':
    case 'more_denied':
      sum.deniedCount += count
      return
    default:
      return kind satisfies never
  }
}

function compareSums(one: ActivitySum, other: ActivitySum): number {
  return (
    compareTexts(one.environment, other.environment) ||
    compareTexts(one.dimension, other.dimension) ||
    compareTexts(one.subject, other.subject) ||
    one.startsAtMs - other.startsAtMs
  )
}

function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** Which sellers were paid under which mandates. */
export function sellersPaidIn(
  parts: Iterable<ActivityPart>,
): { readonly mandateId: string; readonly merchantDomain: string }[] {
  const found = new Map<string, Set<string>>()
  for (const [, , kind, , merchantDomain, , mandates] of parts) {
    if (kind !== 'paid' || merchantDomain === null) continue
    let ids = found.get(merchantDomain)
    if (!ids) found.set(merchantDomain, (ids = new Set<string>()))
    for (const [mandateId] of mandates) ids.add(mandateId)
  }
  return [...found].flatMap(([merchantDomain, ids]) =>
    [...ids].map((mandateId) => ({ mandateId, merchantDomain })),
  )
}

/** A sum of amounts may exceed 63 bits, so it is stored in two halves; the lower one has 32 bits. */
export function halvesOf(sumMicro: bigint): { readonly high: number; readonly low: number } {
  return { high: Number(sumMicro >> 32n), low: Number(sumMicro & 0xffff_ffffn) }
}

/** A sum of amounts in millionths, from its two halves. */
export function sumOfHalves(high: bigint | number | string, low: bigint | number | string): MicroUsdc {
  return ((BigInt(high) << 32n) + BigInt(low)) as MicroUsdc
}
