import type { Environment } from '@purser/wire/fields'

import type { MicroUsdc } from '../../domain/money.ts'

/**
 * The sums that the console shows are kept by quarter of an hour: every time zone is a whole number of them away from UTC, so
 * any day begins with one.
 */
export const quarterMs = 15 * 60_000

/** Revenue is shown of months, so whole days will do. */
const dayMs = 24 * 60 * 60_000

/**
 * What the sums are kept of; `subject` says of which one. `domain` has all that a list may show, by merchant and, with an empty
 * subject, together: so a list knows where to look.
 */
export const activityDimensions = ['all', 'mandate', 'reason', 'domain', 'seller', 'seller_total'] as const

type Dimension = (typeof activityDimensions)[number]

/** `received` is of a payment between two accounts; `more_denied` counts denials without records of their own. */
export type EntryKind = 'approved' | 'denied' | 'paid' | 'received' | 'more_denied'

/**
 * What some entries of one kind add to the sums, by mandate: of each its id (empty where there is none), how many, and the
 * amount in millionths.
 */
export type ActivityPart = readonly [
  environment: Environment,
  quarterStartsAtMs: number,
  kind: EntryKind,
  /** Why it was denied. */
  reason: string | null,
  merchantDomain: string | null,
  /** Whether the payments are revenue of the account. */
  isRevenue: boolean,
  mandates: readonly (readonly [mandateId: string, count: number, micro: string])[],
]

export interface ActivitySum {
  readonly environment: Environment
  readonly dimension: Dimension
  readonly subject: string
  readonly startsAtMs: number
  paidCount: number
  paidMicro: bigint
  approvedCount: number
  deniedCount: number
}

interface Amount {
  readonly count: number
  readonly micro: bigint
}

/** What parts add up to, in the order of environment, dimension, subject and time. */
export function sumsOfParts(parts: Iterable<ActivityPart>): ActivitySum[] {
  const sums = new Map<string, ActivitySum>()

  function add(
    [environment, , kind]: ActivityPart,
    dimension: Dimension,
    subject: string,
    startsAtMs: number,
    { count, micro }: Amount,
  ): void {
    const key = `${environment}\0${dimension}\0${subject}\0${startsAtMs}`
    let sum = sums.get(key)
    if (!sum) {
      const none = { paidCount: 0, paidMicro: 0n, approvedCount: 0, deniedCount: 0 }
      sums.set(key, (sum = { environment, dimension, subject, startsAtMs, ...none }))
    }
    switch (kind) {
      case 'paid':
      case 'received':
        sum.paidCount += count
        sum.paidMicro += micro
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

  for (const part of parts) {
    const [, startsAtMs, kind, reason, merchantDomain, isRevenue, mandates] = part
    const all = { count: 0, micro: 0n }
    for (const [mandateId, count, text] of mandates) {
      const micro = BigInt(text)
      all.count += count
      all.micro += micro
      if (kind !== 'received' && mandateId !== '')
        add(part, 'mandate', mandateId, startsAtMs, { count, micro })
    }
    if (kind !== 'received') add(part, 'all', '', startsAtMs, all)
    if (kind === 'more_denied') continue
    add(part, 'domain', '', startsAtMs, all)
    if (reason !== null) add(part, 'reason', reason, startsAtMs, all)
    if (merchantDomain === null) continue
    add(part, 'domain', merchantDomain, startsAtMs, all)
    if (isRevenue) {
      add(part, 'seller', merchantDomain, startsAtMs - (startsAtMs % dayMs), all)
      add(part, 'seller_total', merchantDomain, 0, all)
    }
  }
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum)
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

/** A sum of amounts exceeds what 63 bits hold: it is kept in two halves, of which the lower has 32 bits. */
export function halvesOf(sumMicro: bigint): { readonly high: number; readonly low: number } {
  return { high: Number(sumMicro >> 32n), low: Number(sumMicro & 0xffff_ffffn) }
}

/** The sum of amounts, in millionths, from its two halves. */
export function sumOfHalves(high: bigint | number | string, low: bigint | number | string): MicroUsdc {
  return ((BigInt(high) << 32n) + BigInt(low)) as MicroUsdc
}
