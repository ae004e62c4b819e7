import { keepIds } from '../../../domain/limit-terms.ts'
import type { Limit } from '../../../domain/limits.ts'
import { maxProofLifeMs } from '../../../domain/proof.ts'
import { changesOfTerms, widensTerms, wireTermsOf } from '../../../domain/mandate-terms.ts'
import type { ApprovalTerms, AuditEvent } from '../../../domain/records.ts'
import { subjectOf, subjectOfSeller } from '../../../domain/subjects.ts'
import type { Amendment, AmendmentOutcome } from '../../store.ts'
import {
  lock,
  look,
  portOperation,
  put,
  refused,
  unchanged,
  type Change,
  type Decision,
  type Facts,
} from '../operation.ts'
import { toMandate } from '../reads/records.ts'
import {
  approvals,
  auditEvents,
  knownSellers,
  mandates,
  mandateVersions,
  openApprovals,
  payments,
  type MandateRow,
  type MandateVersionRow,
} from '../tables.ts'
import { longestWaiting, maxNonces, openOf, openRowOf } from './approvals.ts'
import { Bookings, isEndedByBudget } from './bookings.ts'
import { endPayments, releaseExpired } from './ended-payments.ts'
import { addedLimits, bookedSince, countsFromMs, pendingRanges } from './limits/booked-before.ts'
import { endedBelowLeft, pathBelow } from './limits/budgets.ts'
import { committedOf } from './payment-rows.ts'

/** The earlier terms are kept. */
export const amendMandate = portOperation('amendMandate', {
  reads: ([key]) => [lock(mandates, key)],

  decide([key, { agentId }, amendment, event], facts) {
    const mandate = facts.row(mandates, key)
    if (mandate?.environment !== key.environment) return refused('not_found')
    if (agentId !== undefined && mandate.agentId !== agentId) return refused('not_found')
    if (facts.written(auditEvents, event)) return unchanged(amendedTo(mandate))
    if (mandate.status === 'revoked') return refused('mandate_revoked')
    return amendTerms(mandate, amendment, event, facts)
  },
})

/** The limits that an amendment leaves. */
function limitsOf({ limits }: MandateRow, { terms }: Amendment): readonly Limit[] | null {
  if (terms.limits === undefined) return limits
  return terms.limits === null || terms.limits.length === 0 ? null : keepIds(terms.limits, limits ?? [])
}

/**
 * The decision on an amendment of a mandate that is locked and not revoked. The event gets the version, what has changed, and
 * how many open payments have ended.
 */
export function amendTerms(
  mandate: MandateRow,
  amendment: Amendment,
  event: AuditEvent,
  facts: Facts,
): Decision<AmendmentOutcome> {
  const { terms, expectedVersion, mayWiden, endsHolds } = amendment
  const budgetPath =
    terms.budgetPath === undefined ? mandate.budgetPath : pathBelow(terms.budgetPath?.[0], mandate, facts)
  if (budgetPath === 'budget_not_found') return refused(budgetPath)
  const wanted = { ...mandate, ...terms, limits: limitsOf(mandate, amendment), budgetPath }
  const changed = changesOfTerms(mandate, wanted)
  const endsOpen = endsHolds && mandate.openPayments > 0
  // Also the answer to a retry: RFC 9110 allows it whatever the version. It never says that open proofs have ended.
  if (!changed && !endsOpen) return unchanged(amendedTo(mandate))
  if (mandate.version !== expectedVersion) return refused('version_mismatch')
  if (!mayWiden && widensTerms(mandate, wanted)) return refused('widening_needs_owner')
  const bookings = new Bookings(mandate, facts)
  const nowMs = event.createdAtMs
  const endedAtMs = endedBelowLeft(mandate.budgetPath, budgetPath, { ...mandate, nowMs }, facts)
  const leavesEnded = nowMs - endedAtMs < maxProofLifeMs
  const ended = makeRoom(bookings, { terms, endsHolds: endsHolds || leavesEnded }, nowMs, facts)
  if (!(committedOf(bookings.mandate) <= wanted.maxTotalMicro)) {
    const { spentMicro, heldMicro, authorizedMicro } = mandate
    return unchanged({ outcome: 'below_committed', spentMicro, heldMicro, authorizedMicro })
  }
  if (!countEarlier(bookings, mandate, wanted.limits, nowMs, facts)) return refused('history_too_long')
  const version = mandate.version + 1
  const { limits } = wanted
  const now = { version, updatedAtMs: nowMs }
  const amended = { ...bookings.mandate, ...terms, limits, budgetPath, ...now }
  bookings.mandate = amended
  // An amendment that only ends open proofs changes no terms.
  const { before, after } = changed ?? { before: {}, after: {} }
  const data = { ...event.data, version, before, after, voided_holds: ended }
  return {
    outcome: amendedTo(amended),
    changes: [
      ...bookings.changes,
      ...(mandate.version === 1 ? [put(mandateVersions, versionOf(mandate, null, mandate.createdAtMs))] : []),
      put(mandateVersions, versionOf(amended, event.actor, nowMs)),
      ...sellersPaidBefore(mandate, amended, amendment.paidDomains, facts),
      ...(asksMorePeople(mandate, terms) ? approvalChanges(amended, facts) : []),
      put(auditEvents, { ...event, data }),
    ],
  }
}

function amendedTo(mandate: MandateRow) {
  return { outcome: 'amended' as const, mandate: toMandate(mandate) }
}

/** Counts earlier payments in limits that are added; whether there were few enough. Forgets limits that are removed. */
function countEarlier(
  bookings: Bookings,
  before: MandateRow,
  limits: readonly Limit[] | null,
  nowMs: number,
  facts: Facts,
): boolean {
  bookings.keepCountsOf(limits)
  const added = addedLimits(limits, before.limits)
  if (added.length === 0) return true
  const booked = bookedSince(before, countsFromMs(added, nowMs), facts, bookings)
  if (!booked) return false
  const lastMs = booked.reduce((last, { bookedAtMs }) => Math.max(last, bookedAtMs), nowMs)
  bookings.countEarlier(added, booked, Math.max(lastMs, before.usage?.bookedAtMs ?? 0))
  return true
}

/** Whether an amendment requires more people than before to approve a payment. */
function asksMorePeople(before: MandateRow, { approval }: Amendment['terms']): boolean {
  return approval !== undefined && peopleOf(approval) > peopleOf(before.approval)
}

function peopleOf(approval: ApprovalTerms | null): number {
  return approval?.required ?? 1
}

/** Unused approvals need as many people as the mandate does now: an approval by too few of them waits for more. */
function approvalChanges(mandate: MandateRow, facts: Facts): readonly Change[] {
  const required = peopleOf(mandate.approval)
  const open = facts.rows(openOf(mandate))
  const unused = open.filter(({ status, amountMicro }) => amountMicro !== null && status !== 'denied')
  facts.read(unused.map((open) => look(approvals, open)))
  return unused.flatMap((open) => {
    const approval = facts.row(approvals, open)
    if (!approval || approval.required >= required) return []
    const row = { ...approval, required, status: 'pending' as const }
    return [put(approvals, row), put(openApprovals, openRowOf(row, open.question))]
  })
}

/** Sellers that were already paid, or may yet be, need no approval if first purchases begin to need it. */
function sellersPaidBefore(
  before: MandateRow,
  { accountId, id: mandateId, approval }: MandateRow,
  domains: readonly string[] = [],
  facts: Facts,
): readonly Change[] {
  if (before.approval?.firstPurchaseAtSeller || !approval?.firstPurchaseAtSeller) return []
  const paid = new Set(domains.map(subjectOfSeller))
  const pending = Map.groupBy(pendingOf(before, facts), ({ resourceUrl }) => subjectOf('seller', resourceUrl))
  const subjects = [...new Set([...paid, ...pending.keys()])]
  const keys = subjects.map((subject) => ({ accountId, mandateId, subject }))
  // They may be recorded already, if first purchases needed approval before.
  facts.read(keys.map((key) => look(knownSellers, key)))
  return keys.flatMap((key) => {
    const known = facts.row(knownSellers, key)
    if (known?.nonces === null) return []
    if (paid.has(key.subject)) return put(knownSellers, { ...key, nonces: null })
    const waiting = [...(known?.nonces ?? []), ...longestWaiting(pending.get(key.subject) ?? [])]
    return put(knownSellers, { ...key, nonces: [...new Set(waiting)].slice(-maxNonces) })
  })
}

/** Max payments of each kind that `pendingOf` finds. */
const maxPending = 1_000

/** The payments of a mandate that are open or authorized. */
function pendingOf(mandate: MandateRow, facts: Facts) {
  const { authorized, open } = pendingRanges(mandate, maxPending)
  facts.read([authorized, open])
  const promised = facts.rows(authorized)
  facts.read(promised.map((row) => look(payments, row)))
  return [...promised.flatMap((row) => facts.row(payments, row) ?? []), ...facts.rows(open)]
}

/** Ends all open payments, or only expired ones that block the amendment; returns how many unexpired ones it ended. */
function makeRoom(
  bookings: Bookings,
  { terms, endsHolds }: Pick<Amendment, 'terms' | 'endsHolds'>,
  nowMs: number,
  facts: Facts,
): number {
  if (endsHolds) return endPayments(bookings, facts, nowMs)
  const { maxTotalMicro = bookings.mandate.maxTotalMicro } = terms
  if (committedOf(bookings.mandate) <= maxTotalMicro) return 0
  if (isEndedByBudget(bookings.mandate, facts)) endPayments(bookings, facts, nowMs)
  else releaseExpired(bookings, facts, nowMs)
  return 0
}

function versionOf(mandate: MandateRow, changedBy: string | null, createdAtMs: number): MandateVersionRow {
  const { accountId, id: mandateId, version } = mandate
  return { accountId, mandateId, version, terms: wireTermsOf(mandate), changedBy, createdAtMs }
}
