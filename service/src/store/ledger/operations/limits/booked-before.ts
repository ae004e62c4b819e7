import {
  countBooked,
  windowStartsAtMs,
  type BookedPart,
  type Limit,
  type LimitSubject,
  type Tally,
} from '../../../../domain/limits.ts'
import { bytesFrom } from '../../../../domain/id-time.ts'
import { clockOffsetOf } from '../../../../domain/time/test-clock.ts'
import { subjectOf } from '../../../../domain/subjects.ts'
import { idText } from '../../../../domain/type-id.ts'
import { look, range, type Change, type Facts } from '../../operation.ts'
import {
  accounts,
  authorizations,
  entries,
  payments,
  type MandateRow,
  type MandateUsage,
  type PaymentRow,
} from '../../tables.ts'
import { chargedOf } from '../payment-rows.ts'

// What a limit that is added later counts: earlier payments booked in its current period.

/** Max journal entries, and max open or authorized payments, that an added limit reads, of all its mandates together. */
const maxRows = 20_000

/** Max clock difference between two services, unless the usage of a mandate says that it was more. */
export const maxClockDifferenceMs = 3_600_000

/** A payment that commits an amount. */
export interface Booked extends BookedPart {
  readonly payment: PaymentRow
  readonly isOpen: boolean
}

/** The limits that are new. */
export function addedLimits(
  after: readonly Limit[] | null,
  before: readonly Limit[] | null,
): readonly Limit[] {
  const ids = new Set((before ?? []).map(({ id }) => id))
  return (after ?? []).filter(({ id }) => !ids.has(id))
}

/** The start of the longest current period of some limits. */
export function countsFromMs(limits: readonly Limit[], atMs: number): number {
  return Math.min(...limits.map(({ window }) => windowStartsAtMs(window, atMs) ?? 0))
}

/**
 * How many rows to read of each mandate for its payments since a time, by its id. Undefined if all together have too many,
 * which takes reading about twice as many as allowed.
 */
export function boundRows(
  mandates: readonly MandateRow[],
  fromMs: number,
  facts: Facts,
): ReadonlyMap<string, number> | undefined {
  const limits = new Map<string, number>()
  let left = maxRows
  let unfinished = mandates
  while (unfinished.length > 0) {
    // Twice the average: at most half of the mandates have more, so each round at least halves them.
    const limit = Math.ceil((2 * left) / unfinished.length) + 1
    const longer: MandateRow[] = []
    facts.each(unfinished, (mandate) => {
      const { charged, authorized, open } = rangesOf(mandate, fromMs, limit, facts)
      facts.read([charged, authorized, open])
      const found = Math.max(
        ...[facts.rows(charged), facts.rows(authorized), facts.rows(open)].map(({ length }) => length),
      )
      limits.set(mandate.id, limit)
      if (found >= limit) longer.push(mandate)
      else left -= found
    })
    if (left < 0 || longer.length > unfinished.length / 2) return undefined
    unfinished = longer
  }
  return limits
}

/**
 * The payments of a mandate that commit an amount and may be booked since a time, after what the operation has
 * changed. Undefined if there are too many to read.
 */
export function bookedSince(
  mandate: MandateRow,
  fromMs: number,
  facts: Facts,
  changed: { readonly mandate: MandateRow; readonly changes: readonly Change[] } = { mandate, changes: [] },
  limit = maxRows,
): readonly Booked[] | undefined {
  const ranges = rangesOf(mandate, fromMs, limit, facts)
  facts.read(Object.values(ranges))
  const found = {
    charged: facts.rows(ranges.charged),
    authorized: facts.rows(ranges.authorized),
    open: facts.rows(ranges.open),
  }
  if (Object.values(found).some(({ length }) => length >= limit)) return undefined
  const { accountId } = mandate
  const charged = found.charged.flatMap(({ kind, nonce }) => (kind === 'paid' ? (nonce ?? []) : []))
  const nonces = [...charged, ...found.authorized.map(({ nonce }) => nonce)]
  facts.read(nonces.map((nonce) => look(payments, { accountId, nonce })))
  const booked = [
    ...nonces.flatMap((nonce) => facts.row(payments, { accountId, nonce }) ?? []),
    ...found.open,
  ]
  const rows = new Map(booked.map((payment) => [payment.nonce, payment]))
  for (const { table, row } of changed.changes) {
    if (table === payments) rows.set((row as PaymentRow).nonce, row as PaymentRow)
  }
  return [...rows.values()].flatMap((payment) => partOf(payment, changed.mandate.epoch) ?? [])
}

function rangesOf(mandate: MandateRow, fromMs: number, limit: number, facts: Facts) {
  const { accountId, id: mandateId, environment } = mandate
  // The test clock was ahead by at most this when they were charged; ids are in the time of the machine.
  const offsetMs = clockOffsetOf(facts.row(accounts, { id: accountId }), environment)
  const earlierMs = offsetMs + maxClockDifferenceMs + (mandate.usage?.aheadMs ?? 0)
  const after = idText('transaction', bytesFrom(fromMs - earlierMs))
  const charged = range(entries, { where: { accountId, mandateId }, orderBy: 'id', after, limit })
  return { charged, ...pendingRanges(mandate, limit) }
}

/** The authorized payments of a mandate, by their rows, and the open ones, possibly with others. */
export function pendingRanges(
  { accountId, id: mandateId, epoch, releasedUntilMs: after }: MandateRow,
  limit: number,
) {
  const where = { accountId, mandateId }
  return {
    authorized: range(authorizations, { where, orderBy: 'deadlineMs', limit }),
    open: range(payments, { where: { ...where, epoch }, orderBy: 'expiresAtMs', after, limit }),
  }
}

function partOf(payment: PaymentRow, epochNow: number): Booked | undefined {
  const { status, epoch, amountMicro, bookedAtMs, issuedAtMs } = payment
  const isOpen = status === 'open' && epoch === epochNow
  const part = { payment, isOpen, bookedAtMs: bookedAtMs ?? issuedAtMs, count: 1 }
  if (isOpen || status === 'authorized') return { ...part, amountMicro }
  return status === 'captured' ? { ...part, amountMicro: chargedOf(payment) } : undefined
}

/** The tallies of limits, plus what some payments commit in their current periods. */
export function tallyBooked(
  { counted, open }: Pick<MandateUsage, 'counted' | 'open'>,
  limits: readonly Limit[],
  booked: readonly Booked[],
  atMs: number,
): { readonly counted: Tally; readonly open: Tally } {
  const openOnes = booked.filter(({ isOpen }) => isOpen)
  return limits.reduce(
    (tallies, limit) => ({
      counted: countBooked(tallies.counted, limit, booked, atMs),
      open: countBooked(tallies.open, limit, openOnes, atMs),
    }),
    { counted, open },
  )
}

/** What is kept by limit id, without limits that are no longer there. */
export function ofLimits<Kept>(
  byId: Readonly<Record<string, Kept>>,
  limits: readonly Limit[] | null,
): Readonly<Record<string, Kept>> {
  const ids = new Set((limits ?? []).map(({ id }) => id))
  return Object.fromEntries(Object.entries(byId).filter(([id]) => ids.has(id)))
}

/** Groups payments by their subject. */
export function bookedBySubject(
  per: LimitSubject,
  booked: readonly Booked[],
): ReadonlyMap<string, readonly Booked[]> {
  return Map.groupBy(booked, ({ payment }) => subjectOf(per, payment.resourceUrl))
}
