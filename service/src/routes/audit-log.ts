import { listAuditEvents, type AuditEvent as WireAuditEvent } from '@purser/wire/audit-log'

import type { AuditEvent } from '../domain/records.ts'
import { answerPage } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import { toTimestamp, type RouteContext } from './context.ts'

export function serveAuditLog(serve: Serve, { store }: Pick<RouteContext, 'store'>): void {
  serve(listAuditEvents, ({ caller, query, url }) => {
    const filter = { type: query.type, subjectId: query.subject_id }
    return answerPage(query, url, (page) => store.listAuditEvents(caller, filter, page), toWire)
  })
}

function toWire(event: AuditEvent): WireAuditEvent {
  return {
    id: event.id,
    type: event.type,
    actor: event.actor,
    subject_id: event.subjectId,
    data: { ...event.data },
    created_at: toTimestamp(event.createdAtMs),
  }
}
