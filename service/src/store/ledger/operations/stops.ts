import { auditEvent } from '../../../domain/audit.ts'
import type { AuditEvent, Scope } from '../../../domain/records.ts'
import type { RecordKey } from '../../store.ts'
import { lock, look, operation, put, remove, unchanged, type Facts } from '../operation.ts'
import type { TableRow } from '../table.ts'
import {
  agents,
  auditEvents,
  mandates,
  runningStops,
  stops,
  type MandateRow,
  type RunningStop,
} from '../tables.ts'
import { Bookings } from './bookings.ts'
import { endPayments } from './ended-payments.ts'

// A stop of all agents is recorded, then goes through the mandates of its scope one by one, so that a failing
// one does not block the others. See `stop-all.ts`.

/** If a stop has not finished after this long, another service continues it. */
const stopLeaseMs = 30_000

/** When mandates that could not be stopped are retried. */
export const stopRetryMs = 2_000

interface StopPress {
  readonly scope: Scope
  readonly stopId: string
  readonly actor: string
  readonly atMs: number
}

/** Records the start of a stop; returns its number. From then on, undos that began earlier resume nothing. */
export const pressStop = operation<StopPress, number>('pressStop', {
  reads: ({ scope }) => [lock(stops, scope), lock(runningStops, scope)],
  decide({ scope: { accountId, environment }, stopId, actor, atMs }, facts) {
    const { presses, undonePress } = facts.row(stops, { accountId, environment }) ?? noStop
    const press = presses + 1
    const row = { accountId, environment, presses: press, stopId, undonePress }
    const running = { accountId, environment, press, stopId, actor, tryAtMs: atMs + stopLeaseMs }
    return { outcome: press, changes: [put(stops, row), put(runningStops, running)] }
  },
})

/** A stop of a scope, by its number. */
interface Press {
  readonly scope: Scope
  readonly press: number
}

/** Whether the caller should continue a stop: no other service does so for a while. */
export const takeStop = operation<Press & { readonly atMs: number }, boolean>('takeStop', {
  reads: ({ scope }) => [lock(runningStops, scope)],
  decide({ scope, press, atMs }, facts) {
    const row = facts.row(runningStops, scope)
    if (row?.press !== press) return unchanged(false)
    const tryAtMs = atMs + stopLeaseMs
    if (facts.isRerun && row.tryAtMs === tryAtMs) return unchanged(true)
    if (!isDue(row, atMs)) return unchanged(false)
    return { outcome: true, changes: [put(runningStops, { ...row, tryAtMs })] }
  },
})

/** Whether it is time to continue a stop. If the clock was set back, a stop due much later is due now. */
export function isDue({ tryAtMs }: Pick<RunningStop, 'tryAtMs'>, nowMs: number): boolean {
  return tryAtMs <= nowMs || tryAtMs > nowMs + 2 * stopLeaseMs
}

/**
 * Records that a stop has gone through every mandate, and when to retry those that could not be stopped; null if none is left.
 */
export const endStop = operation<Press & { readonly tryAtMs: number | null }, 'ended'>('endStop', {
  reads: ({ scope }) => [lock(runningStops, scope)],
  decide({ scope, press, tryAtMs }, facts) {
    const row = facts.row(runningStops, scope)
    if (row?.press !== press) return unchanged('ended')
    const change = tryAtMs === null ? remove(runningStops, row) : put(runningStops, { ...row, tryAtMs })
    return { outcome: 'ended', changes: [change] }
  },
})

const noStop = { presses: 0, stopId: null, undonePress: 0 }

/** The current stops of a scope. */
export const readStops = operation<Scope, TableRow<typeof stops> | typeof noStop>('readStops', {
  reads: (scope) => [look(stops, scope)],
  decide: (scope, facts) => unchanged(facts.row(stops, scope) ?? noStop),
})

interface Undo extends Press {
  /** Whether the caller named the stop. */
  readonly isNamed: boolean
  readonly atMs: number
}

/**
 * Records that the stop that was the last when the undo began is undone; false if there was another in the
 * meantime. An undo that names no stop does not undo one in progress: somebody may have started it at the
 * same moment.
 */
export const undoStop = operation<Undo, boolean>('undoStop', {
  reads: ({ scope }) => [lock(stops, scope), lock(runningStops, scope)],
  decide({ scope, press, isNamed, atMs }, facts) {
    const row = facts.row(stops, scope)
    if (row?.presses !== press) return unchanged(false)
    const running = facts.row(runningStops, scope)
    if (!isNamed && running && running.tryAtMs > atMs + stopRetryMs) return unchanged(false)
    const changes = [put(stops, { ...row, undonePress: press })]
    return { outcome: true, changes: running ? [...changes, remove(runningStops, running)] : changes }
  },
})

/** What stops and undos do to a mandate. */
interface MandateCall {
  readonly mandate: RecordKey
  readonly actor: string
  readonly atMs: number
  readonly eventId: string
}

interface MandateStop extends MandateCall {
  readonly stopId: string
  /** Stops only while this stop is the last and is not undone; null stops always. */
  readonly press: number | null
}

export interface StoppedMandate {
  /**
   * `earlier`: the same stop had already paused it. `left`: it was not active, or had been paused by someone else.
   */
  readonly outcome: 'stopped' | 'taken_over' | 'earlier' | 'left' | 'superseded'
  /** How many payments it has ended, in all attempts. */
  readonly voided: number
}

/**
 * Pauses a mandate for a stop, and takes it over if an earlier stop paused it, so that undoing that one
 * leaves it paused. An expired mandate, or one of a revoked agent, keeps its status; its open payments end too.
 */
export const stopMandate = operation<MandateStop, StoppedMandate>('stopMandate', {
  reads: ({ mandate, press }) => [...(press === null ? [] : [look(stops, mandate)]), lock(mandates, mandate)],

  decide(call, facts) {
    const { mandate: key, stopId, atMs, press } = call
    if (press !== null && !isLastPress(key, press, facts)) return unchanged(nothing('superseded'))
    const mandate = facts.row(mandates, key)
    if (mandate?.environment !== key.environment) return unchanged(nothing('left'))
    const earlier = facts.written(auditEvents, eventKey(call))
    if (earlier) {
      const outcome = earlier.type === 'mandate.paused' ? 'stopped' : 'left'
      return unchanged({ outcome, voided: Number(earlier.data['voided_holds']) })
    }
    if (mandate.status === 'paused' && mandate.stoppedBy !== null) {
      if (mandate.stoppedBy === stopId) {
        return unchanged({ outcome: 'earlier', voided: mandate.stoppedPayments })
      }
      const taken = { ...mandate, stoppedBy: stopId, stoppedPayments: 0 }
      return { outcome: nothing('taken_over'), changes: [put(mandates, taken)] }
    }
    if (mandate.status !== 'active') return unchanged(nothing('left'))
    const agent = { accountId: mandate.accountId, id: mandate.agentId }
    facts.read([look(agents, agent)])
    const bookings = new Bookings(mandate, facts)
    const voided = endPayments(bookings, facts, atMs)
    const isActive = mandate.expiresAtMs > atMs && facts.row(agents, agent)?.status !== 'revoked'
    if (!isActive && voided === 0) return unchanged(nothing('left'))
    if (isActive) {
      const paused = { status: 'paused', stoppedBy: stopId, stoppedPayments: voided } as const
      bookings.mandate = { ...bookings.mandate, ...paused, updatedAtMs: atMs }
    }
    const data = { voided_holds: voided, stop_id: stopId }
    const event = eventOf(isActive ? 'mandate.paused' : 'proofs.voided', call, data)
    return {
      outcome: { outcome: isActive ? 'stopped' : 'left', voided },
      changes: [...bookings.changes, put(auditEvents, event)],
    }
  },
})

interface MandateResume extends MandateCall {
  /** The stop that is undone; null means any. */
  readonly stopId: string | null
  /** Resumes only while this stop is the last. */
  readonly press: number
}

/** Resumes a mandate that a stop has paused; returns whether it did. */
export const resumeMandate = operation<MandateResume, boolean>('resumeMandate', {
  // The stop is read after the mandate is locked: a later stop will find the mandate resumed, and pause it.
  reads: ({ mandate }) => [look(stops, mandate), lock(mandates, mandate)],

  decide(call, facts) {
    const { mandate: key, stopId, press, atMs } = call
    if (facts.written(auditEvents, eventKey(call))) return unchanged(true)
    const last = facts.row(stops, key)
    if (last?.presses !== press || (stopId !== null && last.stopId !== stopId)) return unchanged(false)
    const mandate = facts.row(mandates, key)
    if (mandate?.environment !== key.environment || mandate.status !== 'paused') return unchanged(false)
    if (mandate.stoppedBy === null || (stopId !== null && mandate.stoppedBy !== stopId)) {
      return unchanged(false)
    }
    const active: MandateRow = { ...mandate, status: 'active', stoppedBy: null, updatedAtMs: atMs }
    const event = eventOf('mandate.resumed', call, { voided_holds: 0, stop_id: stopId })
    return { outcome: true, changes: [put(mandates, active), put(auditEvents, event)] }
  },
})

function isLastPress(scope: Scope, press: number, facts: Facts): boolean {
  const row = facts.row(stops, scope)
  return row?.presses === press && row.undonePress !== press
}

function nothing(outcome: StoppedMandate['outcome']): StoppedMandate {
  return { outcome, voided: 0 }
}

function eventKey({ mandate, eventId }: MandateCall) {
  return { accountId: mandate.accountId, id: eventId }
}

function eventOf(
  type: 'mandate.paused' | 'mandate.resumed' | 'proofs.voided',
  { mandate, actor, eventId, atMs }: MandateCall,
  data: AuditEvent['data'],
): AuditEvent {
  return auditEvent({ keyId: actor }, mandate, { id: eventId, type, subjectId: mandate.id, data, atMs })
}
