import type { MicroUsdc } from '../../../domain/money.ts'
import type { PolicyDecision } from '../../../domain/policy.ts'
import type { Hold } from '../../../domain/records.ts'
import { clockOffsetOf } from '../../../domain/time/test-clock.ts'
import { idOfNonce } from '../../../domain/type-id.ts'
import { lock, look, operation, put, unchanged, type Change } from '../operation.ts'
import {
  accounts,
  evaluations,
  strayDenials,
  type AgentRow,
  type MandateRow,
  type StrayDenialRow,
} from '../tables.ts'
import { decisionEntry, recordDecision } from './evaluation-rows.ts'

/** How many denied proofs of a mandate are recorded per minute; those beyond are counted in one entry. */
export const maxDenialsPerMinute = 10
const minuteMs = 60_000
/** A clock that was set back by more than this starts a new minute. */
const maxClockSkewMs = 10 * minuteMs

/** The row that counts the denied proofs of a mandate, or those of a scope without a mandate. It is locked. */
type Counter = MandateRow | StrayDenialRow

interface Counted<Count> {
  readonly count: Count
  readonly changes: readonly Change[]
}

export type Denial = Extract<PolicyDecision, { readonly decision: 'denied' }>

export interface DeniedProof {
  readonly hold: Hold
  readonly denial: Denial
  readonly agent: Pick<AgentRow, 'budgetPath'> | undefined
}

/**
 * Counts a denied proof, and records it if it is one of the first of its minute. Only the row with the count is read.
 * On a rerun, a denial of a minute that has reached the limit is not counted, because an earlier attempt may have counted it.
 */
export function recordDenial<Count extends Counter>(
  count: Count,
  { hold, denial, agent }: DeniedProof,
  { isRerun }: { readonly isRerun: boolean },
): Counted<Count> {
  const nowMs = hold.issuedAtMs
  const closed = closeMinute(count, nowMs, () => denialCountId(hold))
  const isRecorded = closed.count.denials < maxDenialsPerMinute
  const { fullMinuteMs } = closed.count
  const wasFull = fullMinuteMs !== null && isInMinute(nowMs, fullMinuteMs)
  if (isRerun && (wasFull || !isRecorded)) return closed
  const denials = closed.count.denials + 1
  const denialsFromMs = closed.count.denials === 0 ? minuteOf(nowMs) : closed.count.denialsFromMs
  const raised = { ...closed.count, denials, denialsFromMs }
  if (!isRecorded) return { count: raised, changes: closed.changes }
  const merchantDomain = hostOf(hold.resourceUrl)
  const asked = { ...hold, id: denialId(hold), merchantDomain, createdAtMs: nowMs }
  const about = { subject: 'proof', seller: undefined, mandate: mandateOf(count), agent } as const
  return { count: raised, changes: [...closed.changes, ...recordDecision(asked, denial, about)] }
}

/** The count without a minute that has ended, and the entry for its unrecorded denials. */
export function closeMinute<Count extends Counter>(
  count: Count,
  nowMs: number,
  entryId: (() => string) | undefined,
): Counted<Count> {
  const { denialsFromMs, denials } = count
  const more = denials - maxDenialsPerMinute
  if (denials === 0 || isInMinute(nowMs, denialsFromMs) || (more > 0 && !entryId))
    return { count, changes: [] }
  const emptied = { ...count, denials: 0 }
  if (!(more > 0) || !entryId) return { count: emptied, changes: [] }
  const entry = decisionEntry(count, {
    id: entryId(),
    kind: 'more_denied',
    mandateId: mandateOf(count)?.id ?? null,
    amountMicro: 0n as MicroUsdc,
    count: more,
    atMs: denialsFromMs,
  })
  return { count: { ...emptied, fullMinuteMs: denialsFromMs }, changes: [entry] }
}

function mandateOf(count: Counter): MandateRow | undefined {
  return 'id' in count ? count : undefined
}

/** The id of the record of a denied proof: the bytes of its nonce, which no payment uses. */
export function denialId({ nonce }: Pick<Hold, 'nonce'>): string {
  return idOfNonce('transaction', nonce)
}

/** The id of the entry for unrecorded denials of the previous minute. */
export function denialCountId({ nonce }: Pick<Hold, 'nonce'>): string {
  return idOfNonce('transaction', nonce, { byte: 15, bits: 0x80 })
}

/**
 * Records a denied proof without a mandate of its scope in a separate transaction, so that no other proof
 * waits for the row with the count.
 */
export const recordStrayDenial = operation<Omit<DeniedProof, 'agent'>, 'recorded'>('recordStrayDenial', {
  reads: ({ hold }) => [lock(strayDenials, hold)],

  decide({ hold, denial }, facts) {
    const { accountId, environment } = hold
    if (facts.written(evaluations, { accountId, id: denialId(hold) })) return unchanged('recorded')
    const row = facts.row(strayDenials, hold) ?? { accountId, environment, ...noDenials }
    const recorded = recordDenial(row, { hold, denial, agent: undefined }, facts)
    return { outcome: 'recorded', changes: [...recorded.changes, put(strayDenials, recorded.count)] }
  },
})

/** Adds the entry for the unrecorded denials of a minute that has ended, which belong to no mandate. */
export const closeStrayMinute = operation<
  Pick<StrayDenialRow, 'accountId' | 'environment'> & { readonly nowMs: number; readonly countId: string },
  undefined
>('closeStrayMinute', {
  reads: (call) => [look(accounts, { id: call.accountId }), lock(strayDenials, call)],

  decide({ nowMs, countId, ...key }, facts) {
    const row = facts.row(strayDenials, key)
    if (!row) return unchanged(undefined)
    const offsetMs = clockOffsetOf(facts.row(accounts, { id: key.accountId }), key.environment)
    const { count, changes } = closeMinute(row, nowMs + offsetMs, () => countId)
    return { outcome: undefined, changes: count === row ? [] : [...changes, put(strayDenials, count)] }
  },
})

const noDenials = { denialsFromMs: 0, denials: 0, fullMinuteMs: null }

/** Whether a time counts in the minute that begins then. */
function isInMinute(nowMs: number, fromMs: number): boolean {
  return nowMs < fromMs + minuteMs && nowMs >= fromMs - maxClockSkewMs
}

function minuteOf(nowMs: number): number {
  return nowMs - (nowMs % minuteMs)
}

/** The longest name that fits the wire format of DNS. */
const maxHostLength = 253

/**
 * A proof names no seller: the payee is the host of its resource. A URL can have a longer host than DNS, in IDNA even longer
 * than the URL; it belongs to nobody, and would not fit into every index.
 */
function hostOf(resourceUrl: string): string | null {
  const host = URL.canParse(resourceUrl) ? new URL(resourceUrl).hostname : ''
  return host === '' || host.length > maxHostLength ? null : host
}
