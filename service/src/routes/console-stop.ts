import { resumeAgents, stopAgents } from '@purser/wire/console-stop'

import { auditEvent } from '../domain/audit.ts'
import type { Caller } from '../domain/records.ts'
import { ok } from '../http/answers.ts'
import type { Serve } from '../http/serve.ts'
import type { StopProgress, StopStep } from '../store/console-store.ts'
import type { RouteContext } from './context.ts'

/** How many mandates one transaction moves, so that no payment waits long for it. */
const movedAtOnce = 100

/** How often a stop looks for mandates that were made or resumed while it went through the others. */
const mostLooks = 10

export function serveConsoleStop(
  serve: Serve,
  { store, now, ids }: Pick<RouteContext, 'store' | 'now' | 'ids'>,
): void {
  serve(stopAgents, async ({ caller }) => {
    const stopId = ids.next('stop')
    const moved = { mandates: 0, holds: 0 }
    // Again until a look at all of them finds none that is active: others may be made meanwhile. Who goes on making
    // them, or resuming them, cannot keep the stop from ending: all that were active when it began are paused.
    let isDone = false
    for (let looks = 0; !isDone && looks < mostLooks; looks++) {
      const { mandates, holds } = await inSteps(caller, (step) =>
        store.stopMandates(caller, { ...step, stopId }),
      )
      moved.mandates += mandates
      moved.holds += holds
      isDone = mandates === 0
    }
    const data = { paused_mandates: moved.mandates, voided_holds: moved.holds }
    await store.recordEvent(event(caller, 'agents.stopped', stopId, data))
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
    take: (step: Omit<StopStep, 'stopId'>) => Promise<StopProgress>,
  ): Promise<{ readonly mandates: number; readonly holds: number }> {
    let mandates = 0
    let holds = 0
    let afterId: string | undefined = ''
    while (afterId !== undefined) {
      const eventIds = Array.from({ length: movedAtOnce }, () => ids.next('auditEvent'))
      const step: StopProgress = await take({ actor: caller.keyId, atMs: now(), afterId, eventIds })
      mandates += step.moved
      holds += step.voidedHolds
      afterId = step.moved < movedAtOnce ? undefined : step.lastId
    }
    return { mandates, holds }
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
