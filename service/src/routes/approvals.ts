import {
  approveRequest,
  denyRequest,
  getApproval,
  listApprovals,
  requestIncrease,
  type ApprovalReference,
  type ApprovalRequest,
  type ApprovalVerdict,
  type IncreasedTerms,
  type IncreaseRequest,
} from '@purser/wire/approvals'

import { approvalStatusAt, type Approval, type Increase } from '../domain/approval.ts'
import { toWireLimit } from '../domain/limit-terms.ts'
import type { Caller } from '../domain/records.ts'
import { timeIn } from '../domain/time/test-clock.ts'
import { created, ok, refuse, unprocessable, type Answer } from '../http/answers.ts'
import type { CallerSession } from '../http/authentication.ts'
import { answerPage } from '../http/pagination.ts'
import type { Call, Serve } from '../http/serve.ts'
import { isSecureRequest, type SiteOptions } from '../http/session-cookie.ts'
import type { AskedApproval, Requester } from '../store/store.ts'
import { eventBy, isOwner, ownAgentOnly, speaksFor, toTimestamp, type RouteContext } from './context.ts'
import { limitFaults, toLimits } from './limits.ts'
import { expiryOf } from './mandates.ts'

export function serveApprovals(serve: Serve, { store, now, ids, site }: RouteContext): void {
  serve(listApprovals, ({ caller, query, url, header }) => {
    const nowMs = timeIn(caller, now)
    const filter = { ...ownAgentOnly(caller), mandateId: query.mandate_id, status: query.status, nowMs }
    return answerPage(
      query,
      url,
      (page) => store.listApprovals(caller, filter, page),
      (approval) => toWire(approval, nowMs, consoleUrl(site, header)),
    )
  })

  serve(getApproval, async ({ caller, params, header }) => {
    const approval = await store.findApproval({ ...caller, id: params.approval_id })
    if (!approval || !speaksFor(caller, approval.agentId)) return refuse('not_found')
    return ok(toWire(approval, timeIn(caller, now), consoleUrl(site, header)))
  })

  serve(approveRequest, (call) => decide(call, 'approved'))
  serve(denyRequest, (call) => decide(call, 'denied'))

  async function decide(
    { caller, session, params, body, header, changeLimits }: Deciding,
    verdict: ApprovalVerdict,
  ): Promise<Answer> {
    const approvalId = params.approval_id
    const key = { ...caller, id: approvalId }
    const found = await store.findApproval(key)
    if (!found) return refuse('not_found')
    const record = async (): Promise<Answer> => {
      const nowMs = timeIn(caller, now)
      const call = {
        ...requesterOf(caller, session),
        verdict,
        note: body.note ?? null,
        isOwner: isOwner(caller),
      }
      const { mandateId } = found
      const outcome = await store.decideApproval({ ...key, mandateId }, call, {
        decided: eventBy({ ids, now }, caller, `approval.${verdict}`, approvalId, { atMs: nowMs }),
        amended: eventBy({ ids, now }, caller, 'mandate.amended', mandateId, { atMs: nowMs }),
      })
      return typeof outcome === 'string'
        ? refuse(outcome)
        : ok(toWire(outcome, nowMs, consoleUrl(site, header)))
    }
    return found.change?.limits ? changeLimits(record) : record()
  }

  serve(requestIncrease, async ({ caller, session, params, body, header }) => {
    const nowMs = timeIn(caller, now)
    const { reason: message, ...terms } = body
    const faults = limitFaults(terms.limits ?? [], { maySplit: true })
    if (faults.length > 0) return unprocessable(faults)
    const approvalId = ids.next('approval')
    const event = eventBy({ ids, now }, caller, 'approval.requested', approvalId, {
      data: { change: terms },
      atMs: nowMs,
    })
    const request = {
      approvalId,
      increase: increaseOf(terms, () => ids.next('limit')),
      message,
      requester: requesterOf(caller, session),
    }
    const key = { ...caller, id: params.mandate_id }
    const outcome = await store.requestIncrease(key, ownAgentOnly(caller), request, event)
    if (typeof outcome === 'string') return refuse(outcome)
    return created(toWire(outcome, nowMs, consoleUrl(site, header)))
  })
}

type Deciding = Call<
  NonNullable<typeof approveRequest.body>,
  never,
  NonNullable<typeof approveRequest.params>
>

/**
 * Who makes a request. A session that was started with a key is the person with that key; all others of an account are the
 * person who owns it.
 */
export function requesterOf(
  { keyId, accountId }: Pick<Caller, 'keyId' | 'accountId'>,
  session: CallerSession | undefined,
): Requester {
  return { actor: keyId, person: session && session.keyId === null ? accountId : keyId }
}

/** The base URL of the console, as the caller reaches it. */
export function consoleUrl(site: SiteOptions, header: (name: string) => string | undefined): string {
  if (site.publicUrl) return site.publicUrl.origin
  const scheme = isSecureRequest(header('x-forwarded-proto'), site) ? 'https' : 'http'
  return `${scheme}://${header('host') ?? 'localhost'}`
}

/** The approval in a refusal. */
export function toReference({ id, status, expiresAtMs }: AskedApproval, baseUrl: string): ApprovalReference {
  return { id, status, expires_at: toTimestamp(expiresAtMs), url: urlOf(id, baseUrl) }
}

function urlOf(id: string, baseUrl: string): string {
  return `${baseUrl}/console/approvals/${id}`
}

function increaseOf(terms: Omit<IncreaseRequest, 'reason'>, nextLimitId: () => string): Increase {
  return {
    ...(terms.max_spend_total !== undefined && { maxTotalText: terms.max_spend_total }),
    ...(terms.max_spend_per_transaction !== undefined && {
      maxPerTransactionText: terms.max_spend_per_transaction,
    }),
    ...(terms.expires_at !== undefined && expiryOf(terms.expires_at)),
    ...(terms.limits && { limits: toLimits(terms.limits, nextLimitId) }),
  }
}

function toWireTerms({
  maxTotalText,
  maxPerTransactionText,
  expiresAtText,
  limits,
}: Increase): IncreasedTerms {
  return {
    ...(maxTotalText !== undefined && { max_spend_total: maxTotalText }),
    ...(maxPerTransactionText !== undefined && { max_spend_per_transaction: maxPerTransactionText }),
    ...(expiresAtText !== undefined && { expires_at: expiresAtText }),
    ...(limits && { limits: limits.map(toWireLimit) }),
  }
}

/** As the interface writes it. */
function toWire(approval: Approval, nowMs: number, baseUrl: string): ApprovalRequest {
  return {
    id: approval.id,
    kind: approval.kind,
    status: approvalStatusAt(approval, nowMs),
    agent_id: approval.agentId,
    mandate_id: approval.mandateId,
    amount: approval.amountText,
    resource_url: approval.resourceUrl,
    reason: { code: approval.reasonCode, limit_id: approval.limitId, message: approval.message },
    change: approval.change && toWireTerms(approval.change),
    mandate_version: approval.mandateVersion,
    requested_by: approval.requestedBy,
    requested_at: toTimestamp(approval.requestedAtMs),
    expires_at: toTimestamp(approval.expiresAtMs),
    required: approval.required,
    decisions: approval.decisions.map(({ actor, decision, note, atMs }) => ({
      actor,
      decision,
      note,
      at: toTimestamp(atMs),
    })),
    nonce: approval.nonce,
    url: urlOf(approval.id, baseUrl),
  }
}
