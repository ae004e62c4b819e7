import type { AuditEventType } from '@purser/wire/audit-log'
import {
  amendMandate,
  captureSeconds,
  createMandate,
  getMandate,
  listMandates,
  listMandateVersions,
  pauseMandate,
  resumeMandate,
  revokeMandate,
  type CategoryCheck,
  type ApprovalTerms as WireApprovalTerms,
  type Mandate as WireMandate,
  type MandateAmendment,
  type MandateStatus,
  type MandateVersion as WireVersion,
} from '@purser/wire/mandates'

import { creationAttempt } from '../domain/creation-attempt.ts'
import { wireTermsOf } from '../domain/mandate-terms.ts'
import { formatSum, parseAmount } from '../domain/money.ts'
import { mandateDefaults } from '../domain/new-records.ts'
import { remainingBudget } from '../domain/policy.ts'
import type { ApprovalTerms, Caller, Mandate, MandateTerms } from '../domain/records.ts'
import { timeIn } from '../domain/time/test-clock.ts'
import { created, ok, refuse, replayed, unprocessable, type Answer } from '../http/answers.ts'
import { answerPage, type PageRequest } from '../http/pagination.ts'
import type { Serve } from '../http/serve.ts'
import { readDateTime } from '../domain/time/date-time.ts'
import type { MandateVersion } from '../store/store.ts'
import {
  eventBy,
  isOwner,
  metadataOf,
  ownAgentOnly,
  speaksFor,
  toTimestamp,
  type RouteContext,
} from './context.ts'
import { limitFaults, toLimits, toWireUsage } from './limits.ts'
import { okVersioned, readIfMatch } from './versions.ts'

export function serveMandates(serve: Serve, { store, now, ids }: RouteContext): void {
  serve(createMandate, async ({ caller, body, idempotencyKey }) => {
    if (idempotencyKey === undefined) return refuse('invalid_idempotency_key')
    const faults = limitFaults(body.limits ?? [], { maySplit: true })
    if (faults.length > 0) return unprocessable(faults)
    const limits = toLimits(body.limits ?? [], () => ids.next('limit'))
    const nowMs = timeIn(caller, now)
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
      ...expiryOf(body.expires_at),
      ...mandateDefaults,
      limits: limits.length === 0 ? null : limits,
      budgetPath: typeof body.budget_id === 'string' ? [body.budget_id] : null,
      approval: body.approval ? approvalTermsOf(body.approval) : null,
      allowedResources: listOrNull(body.allowed_resources),
      categoryCheck: checkOrNull(body.category_check),
      metadata: metadataOf(body),
      maxCaptureSeconds: body.max_capture_seconds ?? captureSeconds.default,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
    const event = eventBy({ ids, now }, caller, 'mandate.created', mandate.id, {
      data: {
        agent_id: mandate.agentId,
        max_spend_total: mandate.maxTotalText,
        max_spend_per_transaction: mandate.maxPerTransactionText,
        expires_at: mandate.expiresAtText,
      },
      atMs: nowMs,
    })
    const outcome = await store.createMandate(
      mandate,
      event,
      creationAttempt('mandate', idempotencyKey, body),
    )
    if (outcome === 'created') return created(toWire(mandate))
    return typeof outcome === 'string' ? refuse(outcome) : created(toWire(outcome.replayed), replayed)
  })

  serve(listMandates, ({ caller, query, url }) =>
    answerPage(
      query,
      url,
      (page) => store.listMandates(caller, { ...ownAgentOnly(caller), metadata: query.metadata }, page),
      toWire,
    ),
  )

  serve(getMandate, async ({ caller, params }) => {
    const mandate = await store.findMandate({ ...caller, id: params.mandate_id })
    if (!mandate || !speaksFor(caller, mandate.agentId)) return refuse('not_found')
    const usage = await store.readMandateUsage(mandate, timeIn(caller, now))
    const shown = usage.length === 0 ? {} : { usage: usage.map(toWireUsage) }
    const body: WireMandate = { ...toWire(mandate), ...shown }
    return okVersioned(body)
  })

  serve(amendMandate, async ({ caller, params, body, header, changeLimits }) => {
    const expectedVersion = readIfMatch(header('if-match'))
    if (typeof expectedVersion !== 'number') return expectedVersion
    const { end_holds: endsHolds = false, limits, ...changes } = body
    const faults = limitFaults(limits ?? [], { maySplit: true })
    if (faults.length > 0) return unprocessable(faults)
    const amend = async (): Promise<Answer> => {
      const event = eventBy({ ids, now }, caller, 'mandate.amended', params.mandate_id)
      const key = { ...caller, id: params.mandate_id }
      const amendment = {
        terms: { ...termsOf(changes), ...(limits && { limits: toLimits(limits, () => ids.next('limit')) }) },
        paidDomains: body.approval?.first_purchase_at_seller ? await store.listPaidDomains(key) : [],
        expectedVersion,
        mayWiden: isOwner(caller),
        endsHolds,
      }
      const outcome = await store.amendMandate(key, ownAgentOnly(caller), amendment, event)
      switch (outcome.outcome) {
        case 'amended':
          return okVersioned(toWire(outcome.mandate))
        case 'refused':
          return refuse(outcome.code)
        case 'below_committed':
          return {
            status: 409,
            body: {
              detail: 'budget_below_committed',
              max_spend_total: body.max_spend_total,
              spent_total: formatSum(outcome.spentMicro),
              held_total: formatSum(outcome.heldMicro),
              authorized_total: formatSum(outcome.authorizedMicro),
            },
          }
        default:
          return outcome satisfies never
      }
    }
    return limits ? changeLimits(amend) : amend()
  })

  serve(listMandateVersions, async ({ caller, params, query, url }) => {
    const key = { ...caller, id: params.mandate_id }
    const mandate = await store.findMandate(key)
    if (!mandate || !speaksFor(caller, mandate.agentId)) return refuse('not_found')
    const load = async ({ limit, olderThan }: PageRequest) => {
      const below = olderThan === undefined ? undefined : Number(olderThan)
      const found = await store.listMandateVersions(key, { limit: limit + 1, below })
      const isUnamended = found.length === 0 && below === undefined
      const items = (isUnamended ? [firstVersionOf(mandate)] : found)
        .slice(0, limit)
        .map((one) => ({ ...one, id: String(one.version) }))
      return { items, next: found.length > limit ? items.at(-1)?.id : undefined }
    }
    return answerPage(query, url, load, toWireVersion, /^[1-9]\d{0,9}$/)
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
    const event = eventBy({ ids, now }, caller, type, mandateId)
    const mandate = await store.moveMandate({ ...caller, id: mandateId }, to, event)
    return typeof mandate === 'string' ? refuse(mandate) : ok(toWire(mandate))
  }
}

/** The given terms, without those that are left out. */
export function termsOf(body: Omit<MandateAmendment, 'end_holds' | 'limits'>): Partial<MandateTerms> {
  return {
    ...(body.purpose !== undefined && { purpose: body.purpose }),
    ...(body.max_spend_total !== undefined && {
      maxTotalText: body.max_spend_total,
      maxTotalMicro: parseAmount(body.max_spend_total),
    }),
    ...(body.max_spend_per_transaction !== undefined && {
      maxPerTransactionText: body.max_spend_per_transaction,
      maxPerTransactionMicro: parseAmount(body.max_spend_per_transaction),
    }),
    ...(body.allowed_sellers !== undefined && { allowedSellers: body.allowed_sellers }),
    ...(body.allowed_categories !== undefined && { allowedCategories: body.allowed_categories }),
    ...(body.allowed_resources !== undefined && { allowedResources: listOrNull(body.allowed_resources) }),
    ...(body.category_check !== undefined && { categoryCheck: checkOrNull(body.category_check) }),
    ...(body.metadata !== undefined && { metadata: metadataOf(body) }),
    ...(body.budget_id !== undefined && { budgetPath: body.budget_id === null ? null : [body.budget_id] }),
    ...(body.expires_at !== undefined && expiryOf(body.expires_at)),
    ...(body.approval !== undefined && { approval: body.approval && approvalTermsOf(body.approval) }),
  }
}

/** What is not used is stored as null. */
function listOrNull(list: readonly string[] = []): readonly string[] | null {
  return list.length === 0 ? null : list
}

function checkOrNull(check: CategoryCheck | undefined): MandateTerms['categoryCheck'] {
  return check === 'enforced' ? check : null
}

function approvalTermsOf(terms: WireApprovalTerms): ApprovalTerms {
  const { above = null, first_purchase_at_seller: firstPurchaseAtSeller = false, required = 1 } = terms
  return { above, firstPurchaseAtSeller, required }
}

/** A time as it came, if it is RFC 3339, and in milliseconds. */
export function expiryOf(text: string): Pick<MandateTerms, 'expiresAtText' | 'expiresAtMs'> {
  const expiresAtMs = readDateTime(text)
  return { expiresAtText: rfc3339.test(text) ? text : toTimestamp(expiresAtMs), expiresAtMs }
}

function firstVersionOf(mandate: Mandate): MandateVersion {
  const { version, createdAtMs } = mandate
  return { version, terms: wireTermsOf(mandate), changedBy: null, createdAtMs }
}

function toWireVersion({ version, terms, changedBy, createdAtMs }: MandateVersion): WireVersion {
  return { version, ...terms, changed_by: changedBy, created_at: toTimestamp(createdAtMs) }
}

/** The time format that is returned unchanged; other accepted formats are normalized to it. */
const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/

/** As the interface writes it. */
export function toWire(mandate: Mandate): WireMandate {
  return {
    id: mandate.id,
    agent_id: mandate.agentId,
    ...wireTermsOf(mandate),
    currency: mandate.currency,
    status: mandate.status,
    version: mandate.version,
    spent_total: formatSum(mandate.spentMicro),
    held_total: formatSum(mandate.heldMicro),
    authorized_total: formatSum(mandate.authorizedMicro),
    remaining_budget: formatSum(remainingBudget(mandate)),
    max_capture_seconds: mandate.maxCaptureSeconds,
    created_at: toTimestamp(mandate.createdAtMs),
    updated_at: toTimestamp(mandate.updatedAtMs),
  }
}
