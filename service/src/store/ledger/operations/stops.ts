import { auditEvent } from '../../../domain/audit.ts'
import type { Scope } from '../../../domain/records.ts'
import type { MoveProgress, ResumeStep, StopStep } from '../../console-store.ts'
import { put, type Change, type Operation, type RangeRead } from '../operation.ts'
import { auditEvents, mandates, type MandateRow } from '../tables.ts'
import { endPayments, expiredReads } from './mandates.ts'

export interface StopCall {
  readonly scope: Scope
  readonly step: Omit<StopStep, 'tellsEarlier'>
}

/**
 * One bounded step of a stop: it pauses active mandates and takes over those that an earlier stop has paused, so that an
 * undo of the earlier one leaves them paused. A step that is repeated moves what it has moved no more.
 */
export const stopMandates: Operation<StopCall, MoveProgress> = {
  name: 'stopMandates',

  reads({ scope, step }, facts) {
    const range = mandatesAfter(scope, step)
    const found = facts.knows(range) ? facts.rows(mandates, range) : []
    return [range, ...found.flatMap((mandate) => expiredReads(mandate, step.atMs))]
  },

  decide({ scope, step }, facts) {
    const { stopId, actor, atMs, eventIds } = step
    const found = facts.rows(mandates, mandatesAfter(scope, step))
    const changes: Change[] = []
    const movedIds: string[] = []
    let voidedHolds = 0
    for (const [index, mandate] of found.entries()) {
      if (mandate.stoppedBy !== null && mandate.stoppedBy !== stopId) {
        changes.push(put(mandates, { ...mandate, stoppedBy: stopId }))
      }
      if (mandate.status !== 'active' || !(mandate.expiresAtMs > atMs)) continue
      const ended = endPayments(mandate, facts, atMs)
      movedIds.push(mandate.id)
      voidedHolds += ended.voided
      const data = { voided_holds: ended.voided, stop_id: stopId }
      changes.push(
        ...ended.changes,
        put(mandates, { ...ended.mandate, status: 'paused', stoppedBy: stopId, updatedAtMs: atMs }),
        put(
          auditEvents,
          eventOf('mandate.paused', scope, { id: eventIds[index], actor, mandate, data, atMs }),
        ),
      )
    }
    return { outcome: { movedIds, voidedHolds, lastId: found.at(-1)?.id }, changes }
  },
}

export interface ResumeCall {
  readonly scope: Scope
  readonly step: ResumeStep
}

/** One bounded step that resumes what a stop has paused, or what any stop has, when no stop is named. */
export const resumeMandates: Operation<ResumeCall, MoveProgress> = {
  name: 'resumeMandates',

  reads: ({ scope, step }) => [mandatesAfter(scope, step)],

  decide({ scope, step }, facts) {
    const { stopId, actor, atMs, eventIds } = step
    const found = facts.rows(mandates, mandatesAfter(scope, step))
    const stopped = found.filter(
      ({ status, stoppedBy }) =>
        status === 'paused' && stoppedBy !== null && (stopId === null || stoppedBy === stopId),
    )
    const changes = stopped.flatMap((mandate, index) => [
      put(mandates, { ...mandate, status: 'active', stoppedBy: null, updatedAtMs: atMs }),
      put(
        auditEvents,
        eventOf('mandate.resumed', scope, {
          id: eventIds[index],
          actor,
          mandate,
          data: { voided_holds: 0, stop_id: stopId },
          atMs,
        }),
      ),
    ])
    const movedIds = stopped.map(({ id }) => id)
    return { outcome: { movedIds, voidedHolds: 0, lastId: found.at(-1)?.id }, changes }
  },
}

/** The next mandates of a scope: as many as a step has ids for events. */
function mandatesAfter(
  { accountId, environment }: Scope,
  { afterId, eventIds }: Pick<StopStep, 'afterId' | 'eventIds'>,
): RangeRead {
  return {
    kind: 'range',
    table: mandates,
    where: { accountId, environment },
    orderBy: 'id',
    after: afterId === '' ? undefined : afterId,
    limit: eventIds.length,
    isLocked: true,
  }
}

function eventOf(
  type: 'mandate.paused' | 'mandate.resumed',
  scope: Scope,
  about: {
    readonly id: string | undefined
    readonly actor: string
    readonly mandate: MandateRow
    readonly data: Readonly<Record<string, unknown>>
    readonly atMs: number
  },
) {
  const { id = '', actor, mandate, data, atMs } = about
  return auditEvent({ keyId: actor }, scope, { id, type, subjectId: mandate.id, data, atMs })
}
