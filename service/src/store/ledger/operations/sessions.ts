import type { AuditEvent } from '../../../domain/records.ts'
import type { StoredSession } from '../../console/store.ts'
import { lock, portOperation, put, range, remove, unchanged, type Facts } from '../operation.ts'
import { auditEvents, sessions, type SessionRow } from '../tables.ts'

/** How many ended sessions a new one removes. */
const maxRemoved = 100

export const createSession = portOperation('createSession', {
  reads: ([session, , link]) => [endedUpTo(session), ...(link ? [lock(sessions, link)] : [])],

  decide([session, event, link], facts) {
    if (facts.written(sessions, session)) return unchanged(true)
    const usedUp = link && facts.row(sessions, link)
    // One that has expired may be among the ended sessions, and be removed with them.
    if (link && !(usedUp && usedUp.endsAtMs > session.createdAtMs)) return unchanged(false)
    const removed = [...facts.rows(endedUpTo(session)), ...(usedUp ? [usedUp] : [])]
    return {
      outcome: true,
      changes: [...removed.map((row) => remove(sessions, row)), put(sessions, session), ...recorded(event)],
    }
  },
})

export const touchSession = portOperation('touchSession', {
  reads: ([session]) => [lock(sessions, session)],
  decide([session, usedAtMs], facts) {
    const row = facts.row(sessions, session)
    if (!row || row.usedAtMs >= usedAtMs) return unchanged(undefined)
    return { outcome: undefined, changes: [put(sessions, { ...row, usedAtMs })] }
  },
})

export const endSession = portOperation('endSession', {
  reads: ([session]) => [lock(sessions, session)],
  decide: ([session, event], facts) => end(facts.row(sessions, session), event, facts),
})

export const endSessionById = portOperation('endSessionById', {
  reads: ([session]) => [byId(session)],

  decide([session, event], facts) {
    const [row] = facts.rows(byId(session))
    return end(row, row ? { ...event, environment: row.environment ?? event.environment } : event, facts)
  },
})

function end(row: SessionRow | undefined, event: AuditEvent, facts: Facts) {
  if (!row) return unchanged(facts.written(auditEvents, event) !== undefined)
  return { outcome: true, changes: [remove(sessions, row), put(auditEvents, event)] }
}

function recorded(event: AuditEvent | undefined) {
  return event ? [put(auditEvents, event)] : []
}

function endedUpTo({ accountId, createdAtMs: upTo }: StoredSession) {
  const where = { accountId }
  return range(sessions, { where, orderBy: 'endsAtMs', upTo, limit: maxRemoved, isLocked: true })
}

function byId({ accountId, id }: Pick<SessionRow, 'accountId' | 'id'>) {
  return range(sessions, { where: { accountId, id }, orderBy: 'endsAtMs', limit: 1, isLocked: true })
}
