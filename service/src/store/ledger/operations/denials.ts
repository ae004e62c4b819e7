import type { Environment } from '@purser/wire/fields'

import type { MicroUsdc } from '../../../domain/money.ts'
import type { PolicyDecision } from '../../../domain/policy.ts'
import type { Hold } from '../../../domain/records.ts'
import { idBytes, idText } from '../../../domain/type-id.ts'
import { lock, look, put, unchanged, type Change, type Operation } from '../operation.ts'
import { evaluations, strayDenials, type MandateRow } from '../tables.ts'
import { decisionEntry, evaluationOf, strayOf, type LookedAt } from './evaluation-rows.ts'

/** How many denied proofs of a mandate are recorded per minute; those beyond are counted in one entry. */
export const maxDenialsPerMinute = 10
const minuteMs = 60_000
/** A clock that was set back by more than this starts a new minute. */
const maxClockSkewMs = 10 * minuteMs

/** The number of denied proofs in a minute: columns of a row that the operation has locked. */
export interface DenialCount {
  readonly denialsFromMs: number
  readonly denials: number
  /** The last minute with denials that were only counted. */
  readonly fullMinuteMs: number | null
}

/** The mandate or scope whose denials are counted together. */
interface Counted {
  readonly accountId: string
  readonly environment: Environment
  /** Undefined for denials without a mandate of the scope. */
  readonly mandate: { readonly id: string; readonly agentId: string } | undefined
}

export type Denial = Extract<PolicyDecision, { readonly decision: 'denied' }>

/** The rows that a denied proof adds. */
export interface DeniedProof {
  readonly hold: Hold
  readonly denial: Denial
  /** Undefined if the mandate is not the agent's. */
  readonly mandate: LookedAt | undefined
}

/**
 * Counts a denied proof, and records it if it is one of the first of its minute. Only the row with the count is read.
 * On a rerun, a denial of a minute that has reached the limit is not counted, because an earlier attempt may have counted it.
 */
export function recordDenial<Count extends DenialCount>(
  count: Count,
  counted: Counted,
  denied: DeniedProof,
  { isRerun }: { readonly isRerun: boolean },
): { readonly count: Count; readonly changes: readonly Change[] } {
  const { hold, denial } = denied
  const nowMs = hold.issuedAtMs
  const closed = closeMinute(count, counted, nowMs, () => denialCountId(hold))
  const isRecorded = closed.count.denials < maxDenialsPerMinute
  const { fullMinuteMs } = closed.count
  const wasFull = fullMinuteMs !== null && isInMinute(nowMs, fullMinuteMs)
  if (isRerun && (wasFull || !isRecorded)) return closed
  const denials = closed.count.denials + 1
  const denialsFromMs = closed.count.denials === 0 ? minuteOf(nowMs) : closed.count.denialsFromMs
  const raised = { ...closed.count, denials, denialsFromMs }
  if (!isRecorded) return { count: raised, changes: closed.changes }
  const id = denialId(hold)
  const row = evaluationOf(
    {
      ...hold,
      id,
      merchantDomain: hostOf(hold.resourceUrl),
      createdAtMs: nowMs,
    },
    denial,
    { subject: 'proof', seller: undefined, mandate: denied.mandate },
  )
  const entry = decisionEntry(counted, {
    id,
    kind: 'denied',
    mandateId: counted.mandate?.id ?? null,
    amountMicro: hold.amountMicro,
    count: 1,
    atMs: nowMs,
  })
  const changes = [put(evaluations, row), ...strayOf(row, counted.mandate), entry]
  return { count: raised, changes: [...closed.changes, ...changes] }
}

/** The count without a minute that has ended, and the entry for its unrecorded denials. */
function closeMinute<Count extends DenialCount>(
  count: Count,
  scope: Counted,
  nowMs: number,
  entryId: (() => string) | undefined,
): { readonly count: Count; readonly changes: readonly Change[] } {
  const { denialsFromMs, denials } = count
  const more = denials - maxDenialsPerMinute
  if (denials === 0 || isInMinute(nowMs, denialsFromMs) || (more > 0 && !entryId))
    return { count, changes: [] }
  const emptied = { ...count, denials: 0 }
  if (!(more > 0) || !entryId) return { count: emptied, changes: [] }
  const entry = decisionEntry(scope, {
    id: entryId(),
    kind: 'more_denied',
    mandateId: scope.mandate?.id ?? null,
    amountMicro: 0n as MicroUsdc,
    count: more,
    atMs: denialsFromMs,
  })
  return { count: { ...emptied, fullMinuteMs: denialsFromMs }, changes: [entry] }
}

/** Like `closeMinute`, for the denials of a mandate. */
export function closeMinuteOf(mandate: MandateRow, nowMs: number, entryId: (() => string) | undefined) {
  const { accountId, environment } = mandate
  return closeMinute(mandate, { accountId, environment, mandate }, nowMs, entryId)
}

/** The id of the record of a denied proof: the bytes of its nonce, which no payment uses. */
export function denialId({ nonce }: Pick<Hold, 'nonce'>): string {
  return idText('transaction', nonceBytes(nonce))
}

/**
 * The id of the entry for unrecorded denials of the previous minute: the proof's nonce with a different
 * random byte.
 */
export function denialCountId({ nonce }: Pick<Hold, 'nonce'>): string {
  const bytes = nonceBytes(nonce)
  bytes[15]! ^= 0x80
  return idText('transaction', bytes)
}

function nonceBytes(nonce: string): Buffer {
  const bytes = idBytes('nonce', nonce)
  if (!bytes) throw new TypeError(`not a nonce: ${nonce}`)
  return bytes
}

export interface StrayDenial {
  readonly hold: Hold
  readonly denial: Denial
}

/**
 * Records a denied proof without a mandate of its scope in a separate transaction, so that no other proof
 * waits for the row with the count.
 */
export const recordStrayDenial: Operation<StrayDenial, 'recorded'> = {
  name: 'recordStrayDenial',

  reads: ({ hold }, { isRerun }) => [
    lock(strayDenials, hold),
    ...(isRerun ? [look(evaluations, { accountId: hold.accountId, id: denialId(hold) })] : []),
  ],

  decide({ hold, denial }, facts) {
    const { accountId, environment } = hold
    if (facts.isRerun && facts.row(evaluations, { accountId, id: denialId(hold) }))
      return unchanged('recorded')
    const row = facts.row(strayDenials, hold) ?? { accountId, environment, ...noDenials }
    const counted = { accountId, environment, mandate: undefined }
    const recorded = recordDenial(row, counted, { hold, denial, mandate: undefined }, facts)
    return { outcome: 'recorded', changes: [...recorded.changes, put(strayDenials, recorded.count)] }
  },
}

const noDenials: DenialCount = { denialsFromMs: 0, denials: 0, fullMinuteMs: null }

/** Whether a time counts in the minute that begins then. */
function isInMinute(nowMs: number, fromMs: number): boolean {
  return nowMs < fromMs + minuteMs && nowMs >= fromMs - maxClockSkewMs
}

function minuteOf(nowMs: number): number {
  return nowMs - (nowMs % minuteMs)
}

/** A proof names no seller: the payee is the host of its resource. */
function hostOf(resourceUrl: string): string | null {
  return URL.canParse(resourceUrl) ? new URL(resourceUrl).hostname : null
}
