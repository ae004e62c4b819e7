import { resumeAgents, stopAgents } from '@purser/wire/console-stop'

import { auditEvent } from '../domain/audit.ts'
import type { Caller } from '../domain/records.ts'
import { ok, refuse } from '../http/answers.ts'
import { isIdempotencyKey } from '../http/idempotency-key.ts'
import type { Serve } from '../http/serve.ts'
import type { MoveProgress, ResumeStep } from '../store/console-store.ts'
import type { RouteContext } from './context.ts'

/** How many mandates one transaction moves, so that no payment waits long for it. */
const movedAtOnce = 100

/** How often a stop looks for mandates that were made or resumed while it went through the others. */
const mostLooks = 10

export function serveConsoleStop(
  serve: Serve,
  { store, now, ids }: Pick<RouteContext, 'store' | 'now' | 'ids'>,
): void {
  serve(stopAgents, async ({ caller, header }) => {
    const idempotencyKey = header('idempotency-key') ?? null
    if (idempotencyKey !== null && !isIdempotencyKey(idempotencyKey)) return refuse('invalid_idempotency_key')
    // A stop that has a name may have been heard before, by one whose answer was lost.
    const isNamed = idempotencyKey !== null
    const stopId = isNamed ? ids.ofStop(caller, idempotencyKey) : ids.next('stop')
    const earlier = { mandates: 0, holds: 0 }
    const moved = { mandates: 0, holds: 0 }
    // Again until a look at all of them finds none that is active: others may be made meanwhile. Who goes on making
    // them, or resuming them, cannot keep the stop from ending: all that were active when it began are paused.
    let isDone = false
    for (let looks = 0; !isDone && looks < mostLooks; looks++) {
      const tellsEarlier = isNamed && looks === 0
      const { mandates, holds } = await inSteps(caller, async (step) => {
        const progress = await store.stopMandates(caller, { ...step, stopId, tellsEarlier })
        earlier.mandates += progress.earlier.mandates
        earlier.holds += progress.earlier.holds
        return progress
      })
      moved.mandates += mandates
      moved.holds += holds
      isDone = mandates === 0
    }
    const data = {
      paused_mandates: earlier.mandates + moved.mandates,
      voided_holds: earlier.holds + moved.holds,
    }
    if (moved.mandates > 0 || !isNamed || !(await isRecorded(caller, stopId))) {
      await store.recordEvent(event(caller, 'agents.stopped', stopId, data))
    }
    return ok({ stop_id: stopId, ...data })
  })

  serve(resumeAgents, async ({ caller, body }) => {
    const stopId = body.stop_id ?? null
    const { mandates } = await inSteps(caller, (step) => store.resumeMandates(caller, { ...step, stopId }))
    const data = { resumed_mandates: mandates }
    if (mandates > 0)
      await store.recordEvent(event(caller, 'agents.resumed', stopId ?? caller.accountId, data))
    return ok(data)
  })

  /** Moves the mandates of a scope from the first to the last, a bounded number in each transaction. */
  async function inSteps(
    caller: Caller,
    take: (step: Omit<ResumeStep, 'stopId'>) => Promise<MoveProgress>,
  ): Promise<{ readonly mandates: number; readonly holds: number }> {
    let mandates = 0
    let holds = 0
    let afterId: string | undefined = ''
    while (afterId !== undefined) {
      const eventIds = Array.from({ length: movedAtOnce }, () => ids.next('auditEvent'))
      const step: MoveProgress = await take({ actor: caller.keyId, atMs: now(), afterId, eventIds })
      mandates += step.moved
      holds += step.voidedHolds
      afterId = step.lastId
    }
    return { mandates, holds }
  }

  async function isRecorded(caller: Caller, stopId: string): Promise<boolean> {
    const filter = { type: 'agents.stopped', subjectId: stopId } as const
    return (await store.listAuditEvents(caller, filter, { limit: 1 })).items.length > 0
  }

  function event(
    caller: Caller,
    type: 'agents.stopped' | 'agents.resumed',
    subjectId: string,
    data: Readonly<Record<string, number>>,
  ) {
    return auditEvent(caller, caller, { id: ids.next('auditEvent'), type, subjectId, data, atMs: now() })
  }
}
