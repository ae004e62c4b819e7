import type { Mandate, Scope } from '../../../domain/records.ts'
import { lock, look, operation, portOperation, put, range, unchanged } from '../operation.ts'
import { toMandate } from '../reads/records.ts'
import { agents, auditEvents, mandateAccounts, mandates, type MandateRow } from '../tables.ts'
import { bookingReads, Bookings, isEndedByBudget } from './bookings.ts'
import { pathBelow } from './limits/budgets.ts'
import { creationOf, creationReads, earlierCreation } from './creations.ts'
import { closeMinute } from './denials.ts'
import { endPayments, expiredReads, releaseExpired, type Released } from './ended-payments.ts'

export const createMandate = portOperation('createMandate', {
  // A concurrent revocation of the agent must see the mandate.
  reads: ([mandate, , attempt]) => [
    lock(agents, { accountId: mandate.accountId, id: mandate.agentId }),
    ...creationReads(mandate, attempt),
  ],

  decide([mandate, event, attempt], facts) {
    if (facts.written(mandates, mandate)) return unchanged('created')
    const earlierId = earlierCreation(mandate, attempt, facts)
    if (earlierId === 'idempotency_key_reused') return unchanged(earlierId)
    const earlier = earlierId && facts.row(mandates, { accountId: mandate.accountId, id: earlierId })
    if (earlier) return unchanged({ replayed: toMandate(earlier) })
    const agent = facts.row(agents, { accountId: mandate.accountId, id: mandate.agentId })
    if (agent?.environment !== mandate.environment) return unchanged('not_found')
    const budgetPath = pathBelow(mandate.budgetPath?.[0], mandate, facts)
    if (budgetPath === 'budget_not_found') return unchanged(budgetPath)
    if (agent.status !== 'active') return unchanged('agent_revoked')
    const { id: mandateId, accountId } = mandate
    return {
      outcome: 'created',
      changes: [
        put(mandates, newRowOf({ ...mandate, budgetPath })),
        put(mandateAccounts, { mandateId, accountId }),
        put(auditEvents, event),
        ...creationOf(mandate, attempt),
      ],
    }
  },
})

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

export const moveMandate = portOperation('moveMandate', {
  reads: ([key]) => [lock(mandates, key)],

  decide([key, to, event], facts) {
    const mandate = facts.row(mandates, key)
    if (mandate?.environment !== key.environment) return unchanged('not_found')
    if (facts.written(auditEvents, event)) return unchanged(toMandate(mandate))
    if (mandate.status === to) {
      if (mandate.stoppedBy === null) return unchanged(toMandate(mandate))
      // Pausing a mandate that a stop has already paused keeps it paused after the stop is undone.
      const kept = put(mandates, { ...mandate, stoppedBy: null })
      const paused = put(auditEvents, { ...event, data: { ...event.data, voided_holds: 0 } })
      return { outcome: toMandate(mandate), changes: [kept, paused] }
    }
    if (mandate.status === 'revoked') return unchanged('mandate_revoked')
    const bookings = new Bookings(mandate, facts)
    const voided = to === 'active' ? 0 : endPayments(bookings, facts, event.createdAtMs)
    const now = { status: to, stoppedBy: null, updatedAtMs: event.createdAtMs }
    bookings.mandate = { ...bookings.mandate, ...now }
    const data = { ...event.data, voided_holds: voided }
    const changes = [...bookings.changes, put(auditEvents, { ...event, data })]
    return { outcome: toMandate(bookings.mandate), changes }
  },
})

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
export const releaseExpiredPayments = operation<ReleaseCall, Released>('releaseExpiredPayments', {
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
    const endsAll = (isRevoked && found.openPayments > 0) || isEndedByBudget(found, facts)
    if (endsAll) endPayments(bookings, facts, nowMs)
    const outcome = endsAll
      ? { released: found.openPayments, isMoreLeft: false }
      : releaseExpired(bookings, facts, nowMs)
    return { outcome, changes: [...closed.changes, ...bookings.changes] }
  },
})

/** Ends all open payments of a mandate in a restored ledger; returns how many. Its status stays as it is. */
export const endOpenPayments = operation<Pick<MandateRow, 'accountId' | 'id'>, number>('endOpenPayments', {
  reads: (key) => [lock(mandates, key)],

  decide(key, facts) {
    const mandate = facts.row(mandates, key)
    if (!mandate || mandate.openPayments === 0) return unchanged(0)
    facts.read(bookingReads(mandate, []))
    const bookings = new Bookings(mandate, facts)
    bookings.endAll()
    return { outcome: mandate.openPayments, changes: bookings.changes }
  },
})

export interface MandatePage {
  readonly of: Scope | { readonly accountId: string; readonly agentId: string }
  /** Empty for the first page. */
  readonly afterId: string
  readonly limit: number
}

/** The next mandates of a scope or of an agent, without locks. */
export const listMandatesOf = operation<MandatePage, readonly MandateRow[]>('listMandatesOf', {
  reads: (page) => [mandatesIn(page)],
  decide: (page, facts) => unchanged(facts.rows(mandatesIn(page))),
})

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
