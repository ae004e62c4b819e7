import type { AuditEventType } from '@purser/wire/audit-log'
import {
  createMandate,
  getMandate,
  listMandates,
  pauseMandate,
  resumeMandate,
  revokeMandate,
  type Mandate as WireMandate,
  type MandateStatus,
} from '@purser/wire/mandates'

import { auditEvent } from '../domain/audit.ts'
import { formatSum, parseAmount, type MicroUsdc } from '../domain/money.ts'
import { remainingBudget } from '../domain/policy.ts'
import type { Caller, Mandate } from '../domain/records.ts'
import { created, ok, refuse, type Answer } from '../http/answers.ts'
import { answerPage } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import { readDateTime } from '../http/validation/date-time.ts'
import { ownAgentOnly, speaksFor, toTimestamp, type RouteContext } from './context.ts'

export function serveMandates(serve: Serve, { store, now, ids }: RouteContext): void {
  serve(createMandate, async ({ caller, body }) => {
    const nowMs = now()
    const expiresAtMs = readDateTime(body.expires_at)
    const mandate: Mandate = {
      accountId: caller.accountId,
      environment: caller.environment,
      id: ids.next('mandate'),
      agentId: body.agent_id,
      purpose: body.purpose,
      maxTotalText: body.max_spend_total,
      maxTotalMicro: parseAmount(body.max_spend_total),
      maxPerTransactionText: body.max_spend_per_transaction,
      maxPerTransactionMicro: parseAmount(body.max_spend_per_transaction),
      currency: body.currency ?? 'USDC',
      allowedSellers: body.allowed_sellers ?? [],
      allowedCategories: body.allowed_categories ?? [],
      expiresAtText: rfc3339.test(body.expires_at) ? body.expires_at : toTimestamp(expiresAtMs),
      expiresAtMs,
      status: 'active',
      spentMicro: 0n as MicroUsdc,
      heldMicro: 0n as MicroUsdc,
      limits: null,
      budgetPath: null,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
    const event = auditEvent(caller, caller, {
      id: ids.next('auditEvent'),
      type: 'mandate.created',
      subjectId: mandate.id,
      data: {
        agent_id: mandate.agentId,
        max_spend_total: mandate.maxTotalText,
        max_spend_per_transaction: mandate.maxPerTransactionText,
        expires_at: mandate.expiresAtText,
      },
      atMs: nowMs,
    })
    const outcome = await store.createMandate(mandate, event)
    return outcome === 'created' ? created(toWire(mandate)) : refuse(outcome)
  })

  serve(listMandates, ({ caller, query, url }) =>
    answerPage(query, url, (page) => store.listMandates(caller, ownAgentOnly(caller), page), toWire),
  )

  serve(getMandate, async ({ caller, params }) => {
    const mandate = await store.findMandate({ ...caller, id: params.mandate_id })
    return mandate && speaksFor(caller, mandate.agentId) ? ok(toWire(mandate)) : refuse('not_found')
  })

  serve(pauseMandate, ({ caller, params }) => move(caller, params.mandate_id, 'paused', 'mandate.paused'))
  serve(resumeMandate, ({ caller, params }) => move(caller, params.mandate_id, 'active', 'mandate.resumed'))
  serve(revokeMandate, ({ caller, params }) => move(caller, params.mandate_id, 'revoked', 'mandate.revoked'))

  async function move(
    caller: Caller,
    mandateId: string,
    to: MandateStatus,
    type: AuditEventType,
  ): Promise<Answer> {
    const event = auditEvent(caller, caller, {
      id: ids.next('auditEvent'),
      type,
      subjectId: mandateId,
      data: {},
      atMs: now(),
    })
    const mandate = await store.moveMandate({ ...caller, id: mandateId }, to, event)
    return typeof mandate === 'string' ? refuse(mandate) : ok(toWire(mandate))
  }
}

/** The time format that is returned unchanged; other accepted formats are normalized to it. */
const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/

/** As the interface writes it. */
export function toWire(mandate: Mandate): WireMandate {
  return {
    id: mandate.id,
    agent_id: mandate.agentId,
    purpose: mandate.purpose,
    max_spend_total: mandate.maxTotalText,
    max_spend_per_transaction: mandate.maxPerTransactionText,
    currency: mandate.currency,
    allowed_sellers: [...mandate.allowedSellers],
    allowed_categories: [...mandate.allowedCategories],
    expires_at: mandate.expiresAtText,
    status: mandate.status,
    spent_total: formatSum(mandate.spentMicro),
    held_total: formatSum(mandate.heldMicro),
    remaining_budget: formatSum(remainingBudget(mandate)),
    created_at: toTimestamp(mandate.createdAtMs),
    updated_at: toTimestamp(mandate.updatedAtMs),
  }
}
