import type { AuditEvent } from '../../../domain/records.ts'
import type { StoredSession } from '../../console/store.ts'
import { lock, portOperation, put, range, remove, unchanged, type Facts } from '../operation.ts'
import { auditEvents, sessions, type SessionRow } from '../tables.ts'

/** How many ended sessions a new one removes. */
const maxRemoved = 100

export const createSession = portOperation('createSession', {
  reads: ([session]) => [endedUpTo(session)],

  decide([session, event], facts) {
    if (facts.written(sessions, session)) return unchanged(undefined)
    const ended = facts.rows(endedUpTo(session))
    return {
      outcome: undefined,
      changes: [...ended.map((row) => remove(sessions, row)), put(sessions, session), ...recorded(event)],
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

/**
 * Without an event, a rerun cannot know whether an earlier attempt ended the session, and returns false: a one-time link signs
 * in at most once.
 */
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

function end(row: SessionRow | undefined, event: AuditEvent | undefined, facts: Facts) {
  if (!row) return unchanged(event !== undefined && facts.written(auditEvents, event) !== undefined)
  return { outcome: true, changes: [remove(sessions, row), ...recorded(event)] }
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
