import {
  approvalStatusAt,
  approvalWindowMs,
  maxPendingApprovals,
  reasonToAsk,
  type ApprovalFacts,
  type ReasonToAsk,
} from '../../../domain/approval.ts'
import { auditEvent } from '../../../domain/audit.ts'
import { exceededLimits, type CountedLimit, type LimitFacts } from '../../../domain/limits.ts'
import type { AuditEvent, Hold } from '../../../domain/records.ts'
import { subjectOf } from '../../../domain/subjects.ts'
import { idOfNonce } from '../../../domain/type-id.ts'
import type { AskedApproval, Requester } from '../../store.ts'
import { look, put, range, remove, type Change, type Facts, type Read } from '../operation.ts'
import {
  approvals,
  auditEvents,
  knownSellers,
  openApprovals,
  payments,
  type AgentRow,
  type ApprovalRow,
  type MandateRow,
  type OpenApprovalRow,
  type PaymentRow,
} from '../tables.ts'
import { captureReads, statusToCharge } from './bookings.ts'

// Check 12: whether a person must approve a payment. Approvals change only while their mandate is locked.

/** A requested proof. */
export interface AskingCall {
  readonly hold: Hold
  /** The approval that the agent was given. */
  readonly approvalId?: string | undefined
  readonly requester?: Requester | undefined
}

/** Whether a payment can need approval at all. */
function canNeedApproval({ approval }: MandateRow, limits: LimitFacts | undefined): boolean {
  if (approval !== null || limits?.own.some(asks)) return true
  return limits?.budgets.some((budget) => budget.limits.some(asks)) ?? false
}

function asks({ limit: { action } }: CountedLimit): boolean {
  return action === 'require_approval'
}

/** What is known about the approval of a payment. */
export interface ApprovalGate extends ApprovalFacts {
  /** The approval that the agent was given and that it can use, if the payment needs one. */
  readonly usable: ApprovalRow | undefined
  readonly seller: Seller
}

/** Undefined if the payment needs no approval. */
export function approvalGate(
  call: AskingCall,
  { mandate, agent, limits }: Payer & { readonly limits: LimitFacts | undefined },
  facts: Facts,
): ApprovalGate | undefined {
  if (!canNeedApproval(mandate, limits)) return undefined
  const { hold } = call
  const seller = sellerOf(hold, { mandate, agent }, facts)
  const { isKnown: isKnownSeller } = seller
  const exceeded = limits ? exceededLimits(limits, mandate.id, hold.amountMicro) : []
  const reason = reasonToAsk(mandate.approval, { ...hold, isKnownSeller }, exceeded)
  if (!reason) return { isKnownSeller, isApproved: false, usable: undefined, seller }
  readApprovals(call, mandate, facts)
  const given = givenApproval(call, mandate, facts)
  const usable = given && whyUnusable(given, hold) === undefined ? given : undefined
  return { isKnownSeller, isApproved: usable !== undefined, usable, seller }
}

/** Reads the open approvals of a mandate and the one that the agent was given, in one step. */
function readApprovals({ approvalId }: AskingCall, mandate: MandateRow, facts: Facts): void {
  const { accountId } = mandate
  const given = approvalId === undefined ? [] : [look(approvals, { accountId, id: approvalId })]
  facts.read([openOf(mandate), ...given])
}

/**
 * The rows that change when a proof is issued: its approval is used up, and its seller is known from then on.
 */
export function changesOfIssue(
  { hold, requester }: AskingCall,
  mandate: MandateRow,
  { usable, seller }: ApprovalGate,
  facts: Facts,
): readonly Change[] {
  const changes: Change[] = [...sellerChanges(hold, mandate, seller)]
  if (!usable) return changes
  changes.push(put(approvals, { ...usable, status: 'consumed', nonce: hold.nonce }))
  const open = facts.row(openApprovals, usable)
  if (open) changes.push(remove(openApprovals, open))
  const data = { mandate_id: usable.mandateId, agent_id: usable.agentId, nonce: hold.nonce }
  return [...changes, put(auditEvents, eventOf('approval.consumed', usable, { hold, requester }, data))]
}

/** The refusal of a payment that a person must approve, with the approval to wait for. */
export interface Asked {
  /** Undefined if there is none, because too many are pending. */
  readonly approval: AskedApproval | undefined
  /** What else to say to the agent, as a sentence. */
  readonly remark: string
  readonly changes: readonly Change[]
}

/** Finds the approval for a payment, or makes one. */
export function askForApproval(
  call: AskingCall,
  mandate: MandateRow,
  reason: ReasonToAsk,
  facts: Facts,
): Asked {
  const { hold } = call
  const earlier = findAnswer(call, mandate, facts)
  if (earlier) return { ...earlier, changes: [] }
  const { open, over } = openApprovalsOf(mandate, hold.issuedAtMs, facts)
  const remark = whyNotAsked(open)
  if (remark !== undefined) return { approval: undefined, remark, changes: [] }
  const row = newApproval(call, mandate, reason)
  const data = { kind: row.kind, ...eventDataOf(row), reason_code: row.reasonCode }
  const event = eventOf('approval.requested', row, call, data)
  return {
    approval: askedOf(row, hold.issuedAtMs),
    remark: remarkOn('pending'),
    changes: requestChanges(row, hold.resourceUrl, { over, event }),
  }
}

/** What audit events say about an approval. */
export function eventDataOf({ mandateId, agentId, amountText, resourceUrl }: ApprovalRow) {
  return { mandate_id: mandateId, agent_id: agentId, amount: amountText, resource_url: resourceUrl }
}

/** The approval that an earlier attempt of this call has found or made; undefined if there is none. */
export function findApproval(call: AskingCall, mandate: MandateRow, facts: Facts): AskedApproval | undefined {
  readApprovals(call, mandate, facts)
  return findAnswer(call, mandate, facts)?.approval
}

/** The answer without a new approval: the one that the agent was given, or an open one for the same payment. */
function findAnswer(call: AskingCall, mandate: MandateRow, facts: Facts): Omit<Asked, 'changes'> | undefined {
  const { hold, approvalId } = call
  const nowMs = hold.issuedAtMs
  const given = givenApproval(call, mandate, facts)
  if (given) return { approval: askedOf(given, nowMs), remark: whyUnusable(given, hold) ?? '' }
  if (approvalId !== undefined) {
    const remark = 'There is no such approval under this mandate; ask again without approval_id.'
    return { approval: undefined, remark }
  }
  const same = sameQuestion(openApprovalsOf(mandate, nowMs, facts).open, hold)
  return same && { approval: askedOf(same, nowMs), remark: remarkOn(same.status) }
}

/** The open approvals of a mandate that have not expired, and those that have. */
export function openApprovalsOf(mandate: MandateRow, nowMs: number, facts: Facts) {
  const found = facts.rows(openOf(mandate))
  const isOpen = ({ expiresAtMs }: OpenApprovalRow) => expiresAtMs > nowMs
  return { open: found.filter(isOpen), over: found.filter((one) => !isOpen(one)) }
}

export function hasTooManyPending(open: readonly OpenApprovalRow[]): boolean {
  return open.filter(({ status }) => status === 'pending').length >= maxPendingApprovals
}

/** Why a mandate with these open approvals cannot have another one; undefined if it can. */
function whyNotAsked(open: readonly OpenApprovalRow[]): string | undefined {
  if (hasTooManyPending(open))
    return `${maxPendingApprovals} approvals of this mandate already wait for a decision; no other one was requested.`
  if (open.length < maxOpenApprovals) return undefined
  const nextAtMs = Math.min(...open.map(({ expiresAtMs }) => expiresAtMs))
  return `${maxOpenApprovals} approvals of this mandate have not expired, counting decided ones; no other one was requested. Ask again after ${new Date(nextAtMs).toISOString()}.`
}

/** The changes of a new request, which remove those that are over. */
export function requestChanges(
  row: ApprovalRow,
  question: string,
  { over, event }: { readonly over: readonly OpenApprovalRow[]; readonly event: AuditEvent },
): readonly Change[] {
  return [
    ...over.map((one) => remove(openApprovals, one)),
    put(approvals, row),
    put(openApprovals, openRowOf(row, question)),
    put(auditEvents, event),
  ]
}

/** More than can be pending, because approved and denied ones answer the same request for a while. */
const maxOpenApprovals = 100

/** The open approvals of a mandate. */
export function openOf({ accountId, id: mandateId }: Pick<MandateRow, 'accountId' | 'id'>) {
  return range(openApprovals, { where: { accountId, mandateId }, orderBy: 'id', limit: 2 * maxOpenApprovals })
}

/** An open approval for the same resource: approved or pending up to at least this amount, or denied for this amount. */
function sameQuestion(open: readonly OpenApprovalRow[], hold: Hold): OpenApprovalRow | undefined {
  const same = open.filter((one) => one.question === hold.resourceUrl)
  const covers = same.filter(({ amountMicro }) => amountMicro !== null && amountMicro >= hold.amountMicro)
  return (
    covers.find(({ status }) => status === 'approved') ??
    covers.find(({ status }) => status === 'pending') ??
    covers.find(({ status, amountMicro }) => status === 'denied' && amountMicro === hold.amountMicro)
  )
}

function remarkOn(status: AskedApproval['status']): string {
  switch (status) {
    case 'pending':
      return 'It waits for a decision.'
    case 'approved':
      return 'It is approved: ask again with approval_id.'
    case 'denied':
      return 'A person has denied it.'
    case 'expired':
      return 'It has expired; ask again without approval_id.'
    case 'consumed':
      return 'It was used for another proof; ask again without approval_id.'
    default:
      return status satisfies never
  }
}

/** The approval that the agent names, if it is one of this mandate. */
function givenApproval({ hold, approvalId }: AskingCall, mandate: MandateRow, facts: Facts) {
  if (approvalId === undefined) return undefined
  const given = facts.row(approvals, { accountId: mandate.accountId, id: approvalId })
  const isOfMandate = given?.mandateId === mandate.id && given.agentId === hold.agentId
  return isOfMandate && given.kind === 'payment' ? given : undefined
}

/** Why an approval does not admit a payment, as a sentence; undefined if it does. */
function whyUnusable(approval: ApprovalRow, hold: Hold): string | undefined {
  const status = approvalStatusAt(approval, hold.issuedAtMs)
  if (status !== 'approved') return remarkOn(status)
  if (approval.resourceUrl !== hold.resourceUrl)
    return 'It was given for another resource; ask again without approval_id.'
  if (approval.amountMicro === null || !(hold.amountMicro <= approval.amountMicro))
    return `It was given for up to ${approval.amountText ?? '0'}; ask again without approval_id.`
  return undefined
}

function newApproval(call: AskingCall, mandate: MandateRow, reason: ReasonToAsk): ApprovalRow {
  const { hold, requester } = call
  return {
    ...pendingApproval(mandate, requester, hold.issuedAtMs),
    id: idOfNonce('approval', hold.nonce),
    kind: 'payment',
    amountText: hold.amountText,
    amountMicro: hold.amountMicro,
    resourceUrl: hold.resourceUrl,
    reasonCode: reason.code,
    limitId: reason.limitId,
    expiresAtMs: hold.issuedAtMs + approvalWindowMs,
    required: mandate.approval?.required ?? 1,
  }
}

/** What all new approvals of a mandate have in common. */
export function pendingApproval(
  { accountId, environment, agentId, id: mandateId, version: mandateVersion }: MandateRow,
  requester: Requester | undefined,
  requestedAtMs: number,
) {
  return {
    accountId,
    environment,
    agentId,
    mandateId,
    mandateVersion,
    requestedAtMs,
    status: 'pending' as const,
    amountText: null,
    amountMicro: null,
    resourceUrl: null,
    limitId: null,
    message: null,
    change: null,
    requestedBy: requester?.actor ?? '',
    requester: requester?.person ?? '',
    decisions: [],
    nonce: null,
  }
}

/** The row that finds an approval by its request. */
export function openRowOf(row: ApprovalRow, question: string): OpenApprovalRow {
  const { accountId, mandateId, id, environment, status, amountMicro, expiresAtMs } = row
  if (status === 'consumed') throw new TypeError('a consumed approval is not open')
  return { accountId, mandateId, id, environment, status, question, amountMicro, expiresAtMs }
}

function askedOf(
  { id, status, expiresAtMs }: Pick<ApprovalRow, 'id' | 'status' | 'expiresAtMs'>,
  nowMs: number,
): AskedApproval {
  return { id, status: approvalStatusAt({ kind: 'payment', status, expiresAtMs }, nowMs), expiresAtMs }
}

function eventOf(
  type: 'approval.requested' | 'approval.consumed',
  row: ApprovalRow,
  { hold, requester }: AskingCall,
  data: Readonly<Record<string, unknown>>,
) {
  const details = {
    id: idOfNonce('auditEvent', hold.nonce),
    type,
    subjectId: row.id,
    data,
    atMs: hold.issuedAtMs,
  }
  return auditEvent({ keyId: requester?.actor ?? '' }, row, details)
}

/** What is bought, and when. */
type Purchase = Pick<Hold, 'resourceUrl' | 'issuedAtMs'>

/** A mandate that pays, with its agent. */
interface Payer {
  readonly mandate: MandateRow
  readonly agent: AgentRow | undefined
}

/** The first read of `sellerOf`. */
export function sellerReads(mandate: MandateRow, purchase: Purchase): readonly Read[] {
  return mandate.approval?.firstPurchaseAtSeller ? [look(knownSellers, sellerKey(mandate, purchase))] : []
}

function sellerKey({ accountId, id: mandateId }: MandateRow, { resourceUrl }: Pick<Hold, 'resourceUrl'>) {
  return { accountId, mandateId, subject: subjectOf('seller', resourceUrl) }
}

/** What is known about a seller, if first purchases need approval. */
interface Seller {
  /** Whether there was a purchase from the seller, or an approved payment may still be captured. */
  readonly isKnown: boolean
  /** Whether the seller stays known. */
  readonly isRecorded: boolean
  /** Until then, its payments that were captured, or may still be. */
  readonly alive: readonly PaymentRow[]
}

export function sellerOf(purchase: Purchase, { mandate, agent }: Payer, facts: Facts): Seller {
  const row = mandate.approval?.firstPurchaseAtSeller && facts.row(knownSellers, sellerKey(mandate, purchase))
  if (!row) return { isKnown: false, isRecorded: false, alive: [] }
  if (row.nonces === null) return { isKnown: true, isRecorded: true, alive: [] }
  const { accountId } = mandate
  facts.read(row.nonces.map((nonce) => look(payments, { accountId, nonce })))
  const found = row.nonces.flatMap((nonce) => facts.row(payments, { accountId, nonce }) ?? [])
  facts.read(found.flatMap((payment) => captureReads(mandate, payment, agent)))
  const alive = found.filter((payment) => isAlive(payment, { mandate, agent }, purchase.issuedAtMs, facts))
  return { isKnown: alive.length > 0, isRecorded: false, alive }
}

/** Whether a payment was captured, or may still be. Needs `captureReads`. */
function isAlive(payment: PaymentRow, { mandate, agent }: Payer, nowMs: number, facts: Facts): boolean {
  const status = statusToCharge(payment, mandate, agent, nowMs, facts)
  return status !== 'voided' && status !== 'expired'
}

/** How many payments, until one is captured, are stored to make a seller known. */
export const maxNonces = 8

/** The payments to store if there are more: authorized ones can be captured for longer than open ones. */
export function longestWaiting(waiting: readonly Pick<PaymentRow, 'nonce' | 'status'>[]): readonly string[] {
  const { open = [], authorized = [] } = Object.groupBy(waiting, ({ status }) =>
    status === 'authorized' ? status : 'open',
  )
  return [...open, ...authorized].slice(-maxNonces).map(({ nonce }) => nonce)
}

function sellerChanges(hold: Hold, mandate: MandateRow, { isRecorded, alive }: Seller): readonly Change[] {
  if (!mandate.approval?.firstPurchaseAtSeller || isRecorded) return []
  const isPaid = alive.some(({ status }) => status === 'captured')
  const nonces = isPaid ? null : longestWaiting([...alive, { nonce: hold.nonce, status: 'open' }])
  return [put(knownSellers, { ...sellerKey(mandate, hold), nonces })]
}
