import type { MandateStatus } from '@purser/wire/mandates'

import type { AuditEvent, Mandate, Scope } from '../../../domain/records.ts'
import type { RecordKey } from '../../store.ts'
import { lock, look, put, range, unchanged, type Operation } from '../operation.ts'
import { agents, auditEvents, mandateAccounts, mandates, type MandateRow } from '../tables.ts'
import { Bookings, isEndedByBudget } from './bookings.ts'
import { pathOf } from './limits/budgets.ts'
import { closeMinute } from './denials.ts'
import { endPayments, expiredReads, releaseExpired, type Released } from './ended-payments.ts'

export interface NewMandate {
  readonly mandate: Mandate
  readonly event: AuditEvent
}

export type NewMandateOutcome = 'created' | 'not_found' | 'budget_not_found' | 'agent_revoked'

/** Creates a mandate. Its `budgetPath` names only its budget; the budgets above it are added. */
export const createMandate: Operation<NewMandate, NewMandateOutcome> = {
  name: 'createMandate',

  // A concurrent revocation of the agent must see the mandate.
  reads: ({ mandate: { accountId, agentId } }) => [lock(agents, { accountId, id: agentId })],

  decide({ mandate, event }, facts) {
    if (facts.isRerun && facts.row(mandates, mandate)) return unchanged('created')
    const agent = facts.row(agents, { accountId: mandate.accountId, id: mandate.agentId })
    if (agent?.environment !== mandate.environment) return unchanged('not_found')
    const budgetPath = pathOf(mandate, facts)
    if (budgetPath === 'budget_not_found') return unchanged(budgetPath)
    if (agent.status !== 'active') return unchanged('agent_revoked')
    const { id: mandateId, accountId } = mandate
    return {
      outcome: 'created',
      changes: [
        put(mandates, newRowOf({ ...mandate, budgetPath })),
        put(mandateAccounts, { mandateId, accountId }),
        put(auditEvents, event),
      ],
    }
  },
}

function newRowOf(mandate: Mandate): MandateRow {
  return {
    ...mandate,
    stoppedBy: null,
    stoppedPayments: 0,
    epoch: 0,
    openPayments: 0,
    authorizedPayments: 0,
    releasedUntilMs: 0,
    denialsFromMs: 0,
    denials: 0,
    fullMinuteMs: null,
    usage: null,
  }
}

export interface MandateMove {
  readonly mandate: RecordKey
  readonly to: MandateStatus
  readonly event: AuditEvent
}

/** Changes the status of a mandate. Leaving `active` ends its open payments; `revoked` is permanent. */
export const moveMandate: Operation<MandateMove, MandateRow | 'not_found' | 'mandate_revoked'> = {
  name: 'moveMandate',

  reads: ({ mandate }) => [lock(mandates, mandate)],

  decide({ mandate: key, to, event }, facts) {
    const mandate = facts.row(mandates, key)
    if (mandate?.environment !== key.environment) return unchanged('not_found')
    // Changed by an earlier attempt whose response was lost.
    if (facts.isRerun && facts.row(auditEvents, event)) return unchanged(mandate)
    if (mandate.status === to) {
      // Pausing a mandate that a stop has already paused keeps it paused after the stop is undone.
      const kept = { ...mandate, stoppedBy: null }
      return mandate.stoppedBy === null
        ? unchanged(mandate)
        : { outcome: kept, changes: [put(mandates, kept)] }
    }
    if (mandate.status === 'revoked') return unchanged('mandate_revoked')
    const bookings = new Bookings(mandate, facts)
    const voided = to === 'active' ? 0 : endPayments(bookings, facts, event.createdAtMs)
    const moved = { ...bookings.mandate, status: to, stoppedBy: null, updatedAtMs: event.createdAtMs }
    bookings.mandate = moved
    const data = { ...event.data, voided_holds: voided }
    return { outcome: moved, changes: [...bookings.changes, put(auditEvents, { ...event, data })] }
  },
}

export interface ReleaseCall {
  readonly accountId: string
  readonly mandateId: string
  readonly nowMs: number
  /** The id of the entry for denied proofs that are only counted. */
  readonly countId?: string | undefined
}

/**
 * Releases expired payments of a mandate, a bounded number of them; returns how many. If the agent is
 * revoked, all open payments end, which completes an interrupted revocation. The same applies if a shared
 * budget has ended them.
 */
export const releaseExpiredPayments: Operation<ReleaseCall, Released> = {
  name: 'releaseExpiredPayments',

  reads: ({ accountId, mandateId }) => [lock(mandates, { accountId, id: mandateId })],

  decide({ accountId, mandateId, nowMs, countId }, facts) {
    const found = facts.row(mandates, { accountId, id: mandateId })
    if (!found) return unchanged({ released: 0, isMoreLeft: false })
    const agent = { accountId, id: found.agentId }
    facts.read([look(agents, agent), ...expiredReads(found, nowMs)])
    const closed = closeMinute(found, nowMs, countId === undefined ? undefined : () => countId)
    const bookings = new Bookings(found, facts)
    bookings.mandate = closed.count
    const isRevoked = facts.row(agents, agent)?.status === 'revoked'
    if ((isRevoked && found.openPayments > 0) || isEndedByBudget(found, facts)) {
      endPayments(bookings, facts, nowMs)
      const outcome = { released: found.openPayments, isMoreLeft: false }
      return { outcome, changes: [...closed.changes, ...bookings.changes] }
    }
    const outcome = releaseExpired(bookings, facts, nowMs)
    return { outcome, changes: [...closed.changes, ...bookings.changes] }
  },
}

export interface MandatePage {
  readonly of: Scope | { readonly accountId: string; readonly agentId: string }
  /** Empty for the first page. */
  readonly afterId: string
  readonly limit: number
}

/** The next mandates of a scope or of an agent, without locks. */
export const listMandatesOf: Operation<MandatePage, readonly MandateRow[]> = {
  name: 'listMandatesOf',
  reads: (page) => [mandatesIn(page)],
  decide: (page, facts) => unchanged(facts.rows(mandatesIn(page))),
}

/** A page of mandates, in the order of their ids. */
export function mandatesIn({ of, afterId, limit }: MandatePage, { isLocked = false } = {}) {
  const { accountId } = of
  return range(mandates, {
    // A scope may be a caller, which has an agent too.
    where:
      'environment' in of ? { accountId, environment: of.environment } : { accountId, agentId: of.agentId },
    orderBy: 'id',
    after: afterId === '' ? undefined : afterId,
    limit,
    isLocked,
  })
}
