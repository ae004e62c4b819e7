import { resumeAgents, stopAgents } from '@purser/wire/console/stop'

import { dataOfResumption, dataOfStop, toOutstanding } from '../../domain/audit.ts'
import type { Caller } from '../../domain/records.ts'
import { ok, refuse } from '../../http/answers.ts'
import type { Serve } from '../../http/serve.ts'
import { eventBy, type RouteContext } from '../context.ts'

export function serveConsoleStop(
  serve: Serve,
  { store, now, ids }: Pick<RouteContext, 'store' | 'now' | 'ids'>,
): void {
  serve(stopAgents, async ({ caller, idempotencyKey }) => {
    if (idempotencyKey === undefined) return refuse('invalid_idempotency_key')
    // A stop with an idempotency key may be a retry after a lost response.
    const isNamed = idempotencyKey !== null
    const stopId = isNamed ? ids.ofStop(caller, idempotencyKey) : ids.next('stop')
    const outcome = await store.stopMandates(caller, { ...byCaller(caller), stopId })
    if (outcome.pausedNow > 0 || !isNamed || !(await isRecorded(caller, stopId)))
      await store.recordEvent(
        eventBy({ ids, now }, caller, 'agents.stopped', stopId, { data: dataOfStop(outcome) }),
      )
    return ok({
      stop_id: stopId,
      paused_mandates: outcome.mandateIds.length,
      voided_holds: outcome.voidedHolds,
      failed_mandates: outcome.failedIds.length,
      outstanding_authorized: toOutstanding(outcome.outstanding),
    })
  })

  serve(resumeAgents, async ({ caller, body }) => {
    const stopId = body.stop_id ?? null
    const undo = { ...byCaller(caller), stopId, stopNumber: body.stop_number ?? null }
    const { mandateIds, isAnotherStop, failure } = await store.resumeMandates(caller, undo)
    if (isAnotherStop) return refuse('another_stop')
    if (mandateIds.length > 0)
      await store.recordEvent(
        eventBy({ ids, now }, caller, 'agents.resumed', stopId ?? caller.accountId, {
          data: dataOfResumption(mandateIds),
        }),
      )
    if (failure) throw failure
    return ok({ resumed_mandates: mandateIds.length })
  })

  function byCaller({ keyId: actor }: Caller) {
    return { actor, now, nextEventId: () => ids.next('auditEvent') }
  }

  async function isRecorded(caller: Caller, stopId: string): Promise<boolean> {
    const filter = { type: 'agents.stopped', subjectId: stopId } as const
    return (await store.listAuditEvents(caller, filter, { limit: 1 })).items.length > 0
  }
}
