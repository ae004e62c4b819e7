import { resumeAgents, stopAgents } from '@purser/wire/console/stop'

import { auditEvent } from '../../domain/audit.ts'
import type { Caller } from '../../domain/records.ts'
import { ok, refuse } from '../../http/answers.ts'
import { isIdempotencyKey } from '../../http/idempotency-key.ts'
import type { Serve } from '../../http/serve.ts'
import type { MoveProgress, ResumeStep } from '../../store/console/store.ts'
import type { RouteContext } from '../context.ts'

/** Max mandates per transaction, so that no payment waits long for it. */
const movedAtOnce = 100

/** Max rounds of a stop, for mandates created or resumed in the meantime. */
const mostLooks = 10

/** Max mandates listed in the event of a stop; `mandate.paused` events list all of them. */
const mostNamed = 100

function named(mandateIds: readonly string[]) {
  return { mandate_ids: mandateIds.slice(0, mostNamed) }
}

export function serveConsoleStop(
  serve: Serve,
  { store, now, ids }: Pick<RouteContext, 'store' | 'now' | 'ids'>,
): void {
  serve(stopAgents, async ({ caller, header }) => {
    const idempotencyKey = header('idempotency-key') ?? null
    if (idempotencyKey !== null && !isIdempotencyKey(idempotencyKey)) return refuse('invalid_idempotency_key')
    // A stop with an idempotency key may be a retry after a lost response.
    const isNamed = idempotencyKey !== null
    const stopId = isNamed ? ids.ofStop(caller, idempotencyKey) : ids.next('stop')
    const earlier = { mandateIds: [] as string[], holds: 0 }
    const moved = { mandateIds: [] as string[], holds: 0 }
    // Again until a look at all of them finds none that is active: others may be made meanwhile. Who goes on making
    // them, or resuming them, cannot keep the stop from ending: all that were active when it began are paused.
    let isDone = false
    for (let looks = 0; !isDone && looks < mostLooks; looks++) {
      const tellsEarlier = isNamed && looks === 0
      const { mandateIds, holds } = await inSteps(caller, async (step) => {
        const progress = await store.stopMandates(caller, { ...step, stopId, tellsEarlier })
        earlier.mandateIds.push(...progress.earlier.mandateIds)
        earlier.holds += progress.earlier.holds
        return progress
      })
      moved.mandateIds.push(...mandateIds)
      moved.holds += holds
      isDone = mandateIds.length === 0
    }
    // A mandate that was resumed in the meantime is paused twice, but counted once.
    const covered = [...new Set([...earlier.mandateIds, ...moved.mandateIds])]
    const counts = { paused_mandates: covered.length, voided_holds: earlier.holds + moved.holds }
    if (moved.mandateIds.length > 0 || !isNamed || !(await isRecorded(caller, stopId))) {
      const data = { ...counts, ...named(covered) }
      await store.recordEvent(event(caller, 'agents.stopped', stopId, data))
    }
    return ok({ stop_id: stopId, ...counts })
  })

  serve(resumeAgents, async ({ caller, body }) => {
    const stopId = body.stop_id ?? null
    const { mandateIds } = await inSteps(caller, (step) => store.resumeMandates(caller, { ...step, stopId }))
    const counts = { resumed_mandates: mandateIds.length }
    if (mandateIds.length > 0) {
      const data = { ...counts, ...named(mandateIds) }
      await store.recordEvent(event(caller, 'agents.resumed', stopId ?? caller.accountId, data))
    }
    return ok(counts)
  })

  /** Changes all mandates of a scope, a bounded number per transaction. */
  async function inSteps(
    caller: Caller,
    take: (step: Omit<ResumeStep, 'stopId'>) => Promise<MoveProgress>,
  ): Promise<{ readonly mandateIds: readonly string[]; readonly holds: number }> {
    const mandateIds: string[] = []
    let holds = 0
    let afterId: string | undefined = ''
    while (afterId !== undefined) {
      const eventIds = Array.from({ length: movedAtOnce }, () => ids.next('auditEvent'))
      const step: MoveProgress = await take({ actor: caller.keyId, atMs: now(), afterId, eventIds })
      mandateIds.push(...step.movedIds)
      holds += step.voidedHolds
      afterId = step.lastId
    }
    return { mandateIds, holds }
  }

  async function isRecorded(caller: Caller, stopId: string): Promise<boolean> {
    const filter = { type: 'agents.stopped', subjectId: stopId } as const
    return (await store.listAuditEvents(caller, filter, { limit: 1 })).items.length > 0
  }

  function event(
    caller: Caller,
    type: 'agents.stopped' | 'agents.resumed',
    subjectId: string,
    data: Readonly<Record<string, unknown>>,
  ) {
    return auditEvent(caller, caller, { id: ids.next('auditEvent'), type, subjectId, data, atMs: now() })
  }
}
