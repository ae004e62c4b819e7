import { listOf, type List } from '../list.ts'
import type { CallOptions } from '../options.ts'
import type { Send } from '../send.ts'
import type { AuditEvent, ListAuditEventsQuery } from '../wire-types.ts'

export type AuditLog = ReturnType<typeof auditLog>

export function auditLog(send: Send) {
  return {
    /**
     * The audit events of the account, newest first (Events).
     *
     * @example
     * const changes = purser.auditLog.list({ type: 'mandate.amended', subject_id: mandateId })
     * for await (const { created_at, actor, data } of changes) console.log(created_at, actor, data)
     */
    list: (query?: ListAuditEventsQuery, options?: CallOptions): List<AuditEvent> =>
      listOf(send, '/v1/audit-log', query, options),
  }
}
