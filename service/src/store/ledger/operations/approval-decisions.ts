import {
  approvalStatusAt,
  approvalWindowMs,
  increaseWindowMs,
  termsOfIncrease,
  type ApprovalDecision,
} from '../../../domain/approval.ts'
import { keepIds } from '../../../domain/limit-terms.ts'
import { widensTerms } from '../../../domain/mandate-terms.ts'
import type { AuditEvent } from '../../../domain/records.ts'
import type { ApprovalRefusal, ApprovalVerdictCall, IncreaseRequest } from '../../store.ts'
import {
  lock,
  look,
  portOperation,
  put,
  remove,
  unchanged,
  type Change,
  type Decision,
  type Facts,
  type PortOperations,
} from '../operation.ts'
import {
  agents,
  approvals,
  auditEvents,
  mandates,
  openApprovals,
  type ApprovalRow,
  type MandateRow,
  type OpenApprovalRow,
} from '../tables.ts'
import { amendTerms } from './amendments.ts'
import {
  eventDataOf,
  hasTooManyPending,
  openApprovalsOf,
  openOf,
  openRowOf,
  pendingApproval,
  requestChanges,
} from './approvals.ts'

// Decisions by people. A decision locks the mandate, like every operation that changes an approval.

type DecideCall = Parameters<PortOperations['decideApproval']>

type DecideDecision = Decision<ApprovalRow | ApprovalRefusal>

export const decideApproval = portOperation('decideApproval', {
  reads: ([key]) => [lock(mandates, mandateOf(key)), look(approvals, key), look(openApprovals, key)],

  decide(call, facts) {
    const [key, verdict, { decided: event }] = call
    const approval = facts.row(approvals, key)
    if (approval?.environment !== key.environment || approval.mandateId !== key.mandateId)
      return unchanged('not_found')
    if (facts.written(auditEvents, event)) return unchanged(approval)
    const mandate = facts.row(mandates, mandateOf(key))
    if (!mandate) return unchanged('not_found')
    if (isRepeated(approval, verdict)) return unchanged(approval)
    if (approval.requester === verdict.person) return unchanged('own_request')
    const decide = verdict.verdict === 'approved' ? approve : deny
    return decide(approval, mandate, call, facts)
  },
})

/** Whether this person has already decided the same, or anyone has denied it: then nothing changes. */
function isRepeated({ status, decisions }: ApprovalRow, { person, verdict }: ApprovalVerdictCall): boolean {
  if (verdict === 'denied' || status === 'denied') return verdict === 'denied' && status === 'denied'
  return decisions.some((one) => one.person === person && one.decision === 'approved')
}

function approve(approval: ApprovalRow, mandate: MandateRow, call: DecideCall, facts: Facts): DecideDecision {
  const [, { isOwner }, { decided: event, amended }] = call
  const nowMs = event.createdAtMs
  if (approval.kind === 'increase' && !isOwner) return unchanged('widening_needs_owner')
  const status = approvalStatusAt(approval, nowMs)
  if (status === 'expired') return unchanged('approval_expired')
  if (status !== 'pending') return unchanged('approval_decided')
  if (mandate.status === 'revoked') return unchanged('mandate_revoked')
  const decisions = [...approval.decisions, decisionOf(call)]
  const people = new Set(
    decisions.flatMap(({ decision, person }) => (decision === 'approved' ? [person] : [])),
  )
  if (people.size < approval.required) return decided({ ...approval, decisions }, call, facts)
  const approved = { ...approval, status: 'approved' as const, decisions }
  if (approval.kind === 'payment') {
    return decided({ ...approved, expiresAtMs: nowMs + approvalWindowMs }, call, facts)
  }
  if (mandate.version !== approval.mandateVersion) return unchanged('version_mismatch')
  const terms = termsOfIncrease(approval.change ?? {})
  const amendment = { terms, expectedVersion: mandate.version, mayWiden: true, endsHolds: false }
  const amendedEvent = { ...amended, data: { approval_id: approval.id } }
  const { outcome, changes } = amendTerms(mandate, amendment, amendedEvent, facts)
  if (outcome.outcome === 'refused' && outcome.code === 'history_too_long') return unchanged(outcome.code)
  if (outcome.outcome !== 'amended') throw new Error(`an increase was refused: ${outcome.outcome}`)
  return decided(approved, call, facts, changes)
}

function deny(approval: ApprovalRow, _mandate: MandateRow, call: DecideCall, facts: Facts): DecideDecision {
  const [, , { decided: event }] = call
  const status = approvalStatusAt(approval, event.createdAtMs)
  if (status === 'expired') return unchanged('approval_expired')
  const canBeTakenBack = status === 'approved' && approval.kind === 'payment'
  if (status !== 'pending' && !canBeTakenBack) return unchanged('approval_decided')
  const decisions = [...approval.decisions, decisionOf(call)]
  return decided({ ...approval, status: 'denied', decisions }, call, facts)
}

function decided(
  row: ApprovalRow,
  [key, { note }, { decided: event }]: DecideCall,
  facts: Facts,
  others: readonly Change[] = [],
): Decision<ApprovalRow> {
  const open = facts.row(openApprovals, key)
  const data = { ...event.data, kind: row.kind, status: row.status, ...eventDataOf(row), note }
  return {
    outcome: row,
    changes: [
      ...others,
      put(approvals, row),
      ...(open ? [openChange(row, open)] : []),
      put(auditEvents, { ...event, data }),
    ],
  }
}

/** A denied or approved payment answers the same request for a while; a decided increase does not. */
function openChange(row: ApprovalRow, open: OpenApprovalRow): Change {
  const isDone = row.kind === 'increase' && row.status !== 'pending'
  return isDone ? remove(openApprovals, open) : put(openApprovals, openRowOf(row, open.question))
}

function decisionOf([, verdict, { decided: event }]: DecideCall): ApprovalDecision {
  const { verdict: decision, actor, person, note } = verdict
  return { actor, person, decision, note, atMs: event.createdAtMs }
}

function mandateOf({ accountId, mandateId: id }: DecideCall[0]) {
  return { accountId, id }
}

/** Repeating the request returns the first one. */
export const requestIncrease = portOperation('requestIncrease', {
  reads: ([key]) => [lock(mandates, key), openOf(key)],

  decide([key, { agentId }, request, event], facts) {
    const { accountId } = key
    const mandate = facts.row(mandates, key)
    if (mandate?.environment !== key.environment) return unchanged('not_found')
    if (agentId !== undefined && mandate.agentId !== agentId) return unchanged('not_found')
    const made = facts.written(approvals, { accountId, id: request.approvalId })
    if (made) return unchanged(made)
    if (mandate.status === 'revoked') return unchanged('mandate_revoked')
    if (facts.row(agents, { accountId, id: mandate.agentId })?.status === 'revoked')
      return unchanged('agent_revoked')
    const wanted = { ...mandate, ...termsOfIncrease(request.increase) }
    if (wanted.maxTotalMicro < mandate.maxTotalMicro || !widensTerms(mandate, wanted))
      return unchanged('nothing_to_increase')
    const { open, over } = openApprovalsOf(mandate, event.createdAtMs, facts)
    const question = questionOf(request)
    const same = open.findLast((one) => one.question === question && one.status === 'pending')
    const first = same && facts.row(approvals, same)
    if (first?.mandateVersion === mandate.version) return unchanged(first)
    if (hasTooManyPending(open)) return unchanged('too_many_approvals')
    const row = newRequest(request, mandate, event)
    const { kind, mandateId: mandate_id, agentId: agent_id, message } = row
    const data = { ...event.data, kind, mandate_id, agent_id, message }
    return { outcome: row, changes: requestChanges(row, question, { over, event: { ...event, data } }) }
  },
})

/** No URL equals this value. It leaves out the ids of limits, because new limits get new ones in each request. */
function questionOf({ increase: { limits, ...others } }: IncreaseRequest): string {
  const withoutIds = limits?.map((limit) => ({ ...limit, id: '' }))
  return `increase ${JSON.stringify({ ...others, limits: withoutIds })}`
}

function newRequest(
  { approvalId, increase, message, requester }: IncreaseRequest,
  mandate: MandateRow,
  event: AuditEvent,
): ApprovalRow {
  const { limits } = increase
  return {
    ...pendingApproval(mandate, requester, event.createdAtMs),
    id: approvalId,
    kind: 'increase',
    reasonCode: 'increase',
    message,
    change: { ...increase, ...(limits && { limits: keepIds(limits, mandate.limits ?? []) }) },
    expiresAtMs: event.createdAtMs + increaseWindowMs,
    required: 1,
  }
}
