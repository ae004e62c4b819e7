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
  | 'approved'
  | 'denied'
  | 'paid'
  | 'received'
  | 'refunded'
  | 'refund_sent'
  | 'more_denied'

/** Whether an entry concerns an agent of another account. */
export function isOfOtherAccount(kind: EntryKind): boolean {
  return kind === 'received' || kind === 'refund_sent'
}

/** Whether an entry counts in what the account spends. */
function isSpending(kind: EntryKind): boolean {
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
  /** That of the payments, if they have one. */
  category?: string,
]

/** The agent is given for payments of the account and their refunds. */
export type MandatePart = readonly [mandateId: string, count: number, micro: string, agentId?: string]

/** The same sums in fewer parts: one for all that differ only in their mandates, with each mandate once. */
export function mergeParts(parts: Iterable<ActivityPart>): ActivityPart[] {
  const alike = Map.groupBy(
    parts,
    ([environment, startsAtMs, kind, reason, merchantDomain, isRevenue, , category]) =>
      JSON.stringify([environment, startsAtMs, kind, reason, merchantDomain, isRevenue, category]),
  )
  return [...alike.values()].map((same) => {
    const [environment, startsAtMs, kind, reason, merchantDomain, isRevenue, , ...category] = same[0]!
    const mandates = mergeMandates(same.flatMap(([, , , , , , mandates]) => mandates))
    return [environment, startsAtMs, kind, reason, merchantDomain, isRevenue, mandates, ...category]
  })
}

function mergeMandates(mandates: readonly MandatePart[]): MandatePart[] {
  const merged = new Map<string, Added & { readonly agent: readonly [agentId?: string] }>()
  for (const [id, count, micro, ...agent] of mandates) {
    addSum(merged, id, { count, micro: BigInt(micro), agent })
  }
  return [...merged].map(([id, { count, micro, agent }]) => [id, count, String(micro), ...agent])
}

export type ActivitySum = Sums & {
  readonly environment: Environment
  readonly dimension: ActivityDimension
  readonly subject: string
  readonly startsAtMs: number
}

/** The counts of some entries, and what they paid and refunded: a sum of amounts may exceed 63 bits, so it has two halves. */
const noSums = {
  paidCount: 0,
  paidHigh: 0n,
  paidLow: 0n,
  approvedCount: 0,
  deniedCount: 0,
  refundedCount: 0,
  refundedHigh: 0n,
  refundedLow: 0n,
}

type Sums = typeof noSums

/** The sums of parts, in the order of environment, dimension, subject and time. */
export function sumsOfParts(parts: Iterable<ActivityPart>): ActivitySum[] {
  const sums = new Map<string, ActivitySum>()
  for (const part of parts) {
    const [environment, startsAtMs, kind, reason, merchantDomain, isRevenue, mandates, category] = part
    const dayStartsAtMs = startsAtMs - (startsAtMs % dayMs)
    const [quarter, day] = [sortable(startsAtMs), sortable(dayStartsAtMs)]
    const add = (dimension: ActivityDimension, subject: string, added: Added, at = quarter) => {
      // No text of the ledger contains NUL, so the keys sort like their parts.
      const key = `${environment}\0${dimension}\0${subject}\0${at.text}`
      let sum = sums.get(key)
      if (!sum) sums.set(key, (sum = { environment, dimension, subject, startsAtMs: at.ms, ...noSums }))
      addTo(sum, kind, added)
    }
    const addWithDay = (dimension: SplitDimension, subject: string, added: Added) => {
      add(dimension, subject, added)
      add(`${dimension}_day`, subject, added, day)
    }
    const all = { count: 0, micro: 0n }
    const agents = new Map<string, Added>()
    for (const [mandateId, count, text, agentId] of mandates) {
      const added = { count, micro: BigInt(text) }
      all.count += count
      all.micro += added.micro
      if (!isOfOtherAccount(kind) && mandateId !== '') add('mandate', mandateId, added)
      if (isSpending(kind) && agentId !== undefined) addSum(agents, agentId, added)
    }
    for (const [agentId, added] of agents) addWithDay('agent', agentId, added)
    if (!isOfOtherAccount(kind)) add('all', '', all)
    if (kind === 'more_denied') continue
    add('domain', '', all)
    if (reason !== null) add('reason', reason, all)
    if (merchantDomain === null) continue
    add('domain', merchantDomain, all)
    if (isSpending(kind)) {
      addWithDay('payee', merchantDomain, all)
      if (category !== undefined) addWithDay('category', category, all)
    }
    if (isRevenue) {
      add('seller', merchantDomain, all, day)
      add('seller_total', merchantDomain, all, always)
    }
  }
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum)
}

/** A time as text that sorts like it. */
function sortable(ms: number): { readonly ms: number; readonly text: string } {
  return { ms, text: String(ms).padStart(16, '0') }
}

const always = sortable(0)

interface Added {
  count: number
  micro: bigint
}

function addSum<Sum extends Added>(sums: Map<string, Sum>, id: string, added: Sum): void {
  const sum = sums.get(id)
  if (!sum) {
    sums.set(id, added)
    return
  }
  sum.count += added.count
  sum.micro += added.micro
}

function addTo(sum: ActivitySum, kind: EntryKind, { count, micro }: Added): void {
  switch (kind) {
    case 'paid':
    case 'received':
      sum.paidCount += count
      sum.paidHigh += micro >> 32n
      sum.paidLow += micro & 0xffff_ffffn
      return
    case 'refunded':
    case 'refund_sent':
      sum.refundedCount += count
      sum.refundedHigh += micro >> 32n
      sum.refundedLow += micro & 0xffff_ffffn
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

/** Which sellers were paid under which mandates. */
export function sellersPaidIn(
  parts: Iterable<ActivityPart>,
): { readonly mandateId: string; readonly merchantDomain: string }[] {
  const found = new Map<string, { readonly mandateId: string; readonly merchantDomain: string }>()
  for (const [, , kind, , merchantDomain, , mandates] of parts) {
    if (kind !== 'paid' || merchantDomain === null) continue
    for (const [mandateId] of mandates) {
      found.set(`${mandateId}\0${merchantDomain}`, { mandateId, merchantDomain })
    }
  }
  return [...found.values()]
}

/** A sum of amounts in millionths, from its two halves: the bits beyond 32, and the lower ones. */
export function sumOfHalves(high: bigint | number | string, low: bigint | number | string): MicroUsdc {
  return ((BigInt(high) << 32n) + BigInt(low)) as MicroUsdc
}

/** The counts of a sum, and its amounts in millionths. */
export function totalsOf({ paidCount, approvedCount, deniedCount, refundedCount, ...sum }: Readonly<Sums>) {
  const paidMicro = sumOfHalves(sum.paidHigh, sum.paidLow)
  const refundedMicro = sumOfHalves(sum.refundedHigh, sum.refundedLow)
  return { paidCount, paidMicro, approvedCount, deniedCount, refundedCount, refundedMicro }
}
