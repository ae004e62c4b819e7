import {
  approvalStatusAt,
  approvalWindowMs,
  increaseWindowMs,
  termsOfIncrease,
  type ApprovalDecision,
} from '../../../domain/approval.ts'
import { keepIds } from '../../../domain/limit-terms.ts'
import { widensTerms } from '../../../domain/mandate-terms.ts'
import type { AuditEvent, Scope } from '../../../domain/records.ts'
import type {
  AgentFilter,
  ApprovalRefusal,
  ApprovalVerdictCall,
  IncreaseRefusal,
  IncreaseRequest,
} from '../../store.ts'
import {
  lock,
  look,
  put,
  remove,
  unchanged,
  type Change,
  type Decision,
  type Facts,
  type Operation,
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
import { amendTerms, type TermsCall } from './amendments.ts'
import {
  hasTooManyPending,
  openApprovalsOf,
  openOf,
  openRowOf,
  pendingApproval,
  requestChanges,
} from './approvals.ts'

// Decisions by people. A decision locks the mandate, like every operation that changes an approval.

export interface DecideCall extends Scope, ApprovalVerdictCall {
  readonly approvalId: string
  readonly mandateId: string
  /** The store adds what was decided about. */
  readonly event: AuditEvent
  /** Recorded if an increase takes effect. */
  readonly amendedEvent: AuditEvent
}

/** Records a person's decision. An approved increase takes effect in the same transaction. */
export const decideApproval: Operation<DecideCall, ApprovalRow | ApprovalRefusal> = {
  name: 'decideApproval',

  reads: (call) => [
    lock(mandates, mandateOf(call)),
    look(approvals, keyOf(call)),
    look(openApprovals, keyOf(call)),
  ],

  decide(call, facts) {
    const approval = facts.row(approvals, keyOf(call))
    if (approval?.environment !== call.environment || approval.mandateId !== call.mandateId)
      return unchanged('not_found')
    // Decided by an earlier attempt whose response was lost.
    if (facts.isRerun && facts.row(auditEvents, call.event)) return unchanged(approval)
    const mandate = facts.row(mandates, mandateOf(call))
    if (!mandate) return unchanged('not_found')
    if (isRepeated(approval, call)) return unchanged(approval)
    if (approval.requester === call.person) return unchanged('own_request')
    return call.verdict === 'approved' ? approve(approval, mandate, call, facts) : deny(approval, call, facts)
  },
}

/** Whether this person has already decided the same, or anyone has denied it: then nothing changes. */
function isRepeated({ status, decisions }: ApprovalRow, { person, verdict }: DecideCall): boolean {
  if (verdict === 'denied' || status === 'denied') return verdict === 'denied' && status === 'denied'
  return decisions.some((one) => one.person === person && one.decision === 'approved')
}

function approve(
  approval: ApprovalRow,
  mandate: MandateRow,
  call: DecideCall,
  facts: Facts,
): Decision<ApprovalRow | ApprovalRefusal> {
  const nowMs = call.event.createdAtMs
  if (approval.kind === 'increase' && !call.isOwner) return unchanged('widening_needs_owner')
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
  const { outcome, changes } = amendTerms(mandate, amendmentOf(approval, call), facts)
  if (outcome.outcome === 'refused' && outcome.code === 'history_too_long') return unchanged(outcome.code)
  if (outcome.outcome !== 'amended') throw new Error(`an increase was refused: ${outcome.outcome}`)
  return decided(approved, call, facts, changes)
}

/** An increase as an amendment of its mandate. */
function amendmentOf({ id, change, mandateVersion }: ApprovalRow, call: DecideCall): TermsCall {
  return {
    terms: termsOfIncrease(change ?? {}),
    expectedVersion: mandateVersion,
    mayWiden: true,
    endsHolds: false,
    event: { ...call.amendedEvent, data: { approval_id: id } },
  }
}

function deny(
  approval: ApprovalRow,
  call: DecideCall,
  facts: Facts,
): Decision<ApprovalRow | ApprovalRefusal> {
  const status = approvalStatusAt(approval, call.event.createdAtMs)
  if (status === 'expired') return unchanged('approval_expired')
  const canBeTakenBack = status === 'approved' && approval.kind === 'payment'
  if (status !== 'pending' && !canBeTakenBack) return unchanged('approval_decided')
  const decisions = [...approval.decisions, decisionOf(call)]
  return decided({ ...approval, status: 'denied', decisions }, call, facts)
}

function decided(
  row: ApprovalRow,
  call: DecideCall,
  facts: Facts,
  others: readonly Change[] = [],
): Decision<ApprovalRow> {
  const open = facts.row(openApprovals, keyOf(call))
  const data = {
    ...call.event.data,
    kind: row.kind,
    status: row.status,
    mandate_id: row.mandateId,
    agent_id: row.agentId,
    amount: row.amountText,
    resource_url: row.resourceUrl,
    note: call.note,
  }
  return {
    outcome: row,
    changes: [
      ...others,
      put(approvals, row),
      ...(open ? [openChange(row, open)] : []),
      put(auditEvents, { ...call.event, data }),
    ],
  }
}

/** A denied or approved payment answers the same request for a while; a decided increase does not. */
function openChange(row: ApprovalRow, open: OpenApprovalRow): Change {
  const isDone = row.kind === 'increase' && row.status !== 'pending'
  return isDone ? remove(openApprovals, open) : put(openApprovals, openRowOf(row, open.question))
}

function decisionOf({ verdict: decision, actor, person, note, event }: DecideCall): ApprovalDecision {
  return { actor, person, decision, note, atMs: event.createdAtMs }
}

/** The key of the approval, also while it is open. */
function keyOf({ accountId, mandateId, approvalId: id }: DecideCall) {
  return { accountId, mandateId, id }
}

function mandateOf({ accountId, mandateId: id }: DecideCall) {
  return { accountId, id }
}

export interface IncreaseCall extends Scope, AgentFilter, IncreaseRequest {
  readonly mandateId: string
  /** The store adds what is requested. */
  readonly event: AuditEvent
}

/** Requests wider terms for a mandate. Repeating the request returns the first one. */
export const requestIncrease: Operation<IncreaseCall, ApprovalRow | IncreaseRefusal> = {
  name: 'requestIncrease',

  reads: ({ accountId, mandateId }) => {
    const key = { accountId, id: mandateId }
    return [lock(mandates, key), openOf(key)]
  },

  decide(call, facts) {
    const { accountId, environment, mandateId, agentId, approvalId, increase } = call
    const mandate = facts.row(mandates, { accountId, id: mandateId })
    if (mandate?.environment !== environment) return unchanged('not_found')
    if (agentId !== undefined && mandate.agentId !== agentId) return unchanged('not_found')
    const made = facts.isRerun ? facts.row(approvals, { accountId, id: approvalId }) : undefined
    if (made) return unchanged(made)
    if (mandate.status === 'revoked') return unchanged('mandate_revoked')
    if (facts.row(agents, agentOf(mandate))?.status === 'revoked') return unchanged('agent_revoked')
    const wanted = { ...mandate, ...termsOfIncrease(increase) }
    if (wanted.maxTotalMicro < mandate.maxTotalMicro || !widensTerms(mandate, wanted))
      return unchanged('nothing_to_increase')
    const nowMs = call.event.createdAtMs
    const { open, over } = openApprovalsOf(mandate, nowMs, facts)
    const same = sameRequest(open, call)
    const first = same && facts.row(approvals, same)
    if (first?.mandateVersion === mandate.version) return unchanged(first)
    if (hasTooManyPending(open)) return unchanged('too_many_approvals')
    const row = newRequest(call, mandate)
    const data = { kind: row.kind, mandate_id: mandateId, agent_id: row.agentId, message: row.message }
    const event = { ...call.event, data: { ...call.event.data, ...data } }
    return { outcome: row, changes: requestChanges(row, questionOf(call), { over, event }) }
  },
}

function agentOf({ accountId, agentId: id }: MandateRow) {
  return { accountId, id }
}

function sameRequest(open: readonly OpenApprovalRow[], call: IncreaseCall): OpenApprovalRow | undefined {
  const question = questionOf(call)
  return open.findLast((one) => one.question === question && one.status === 'pending')
}

/** No URL equals this value. It leaves out the ids of limits, because new limits get new ones in each request. */
function questionOf({ increase: { limits, ...others } }: IncreaseCall): string {
  const withoutIds = limits?.map((limit) => ({ ...limit, id: '' }))
  return `increase ${JSON.stringify({ ...others, limits: withoutIds })}`
}

function newRequest(call: IncreaseCall, mandate: MandateRow): ApprovalRow {
  const { approvalId, increase, message, requester, event } = call
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
