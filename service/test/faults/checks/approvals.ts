import { approvalWindowMs, increaseWindowMs } from '../../../src/domain/approval.ts'
import type { Complain } from '../complaint.ts'
import { isFateUnknown, latestMs } from '../calls.ts'
import type { Dossier } from '../dossier.ts'
import type { ApprovalContent, CallOf } from '../history.ts'

type Decision = CallOf<'decide'>

/** Nothing that needs approval is paid without it, an approval is used once, and amendments are kept. */
export function checkApprovals(dossier: Dossier, complain: Complain): void {
  const approvals = new Map(dossier.content.approvals.map((approval) => [approval.id, approval]))
  const decisions = Map.groupBy(dossier.callsOf('decide'), ({ request }) => request.approvalId)
  checkPayments(dossier, decisions, complain)
  checkDecisions({ approvals, decisions }, complain)
  checkConflicts(dossier, { approvals, decisions }, complain)
  checkRefusals(dossier, { approvals, decisions }, complain)
  checkAmendments(dossier, approvals, complain)
}

type Decisions = ReadonlyMap<string, readonly Decision[]>

/**
 * Every payment above the threshold of its mandate has used up an approval that may have been given in time.
 */
function checkPayments(dossier: Dossier, decisions: Decisions, complain: Complain): void {
  const usedBy = new Map(dossier.content.approvals.map((approval) => [approval.nonce ?? '', approval]))
  for (const { nonce, mandateId, amountMicro, issuedAtMs } of dossier.content.holds) {
    const aboveMicro = dossier.mandates.get(mandateId)?.approveAboveMicro ?? null
    if (aboveMicro === null || amountMicro <= aboveMicro) continue
    const approval = usedBy.get(nonce)
    if (!approval) {
      complain('not approved', nonce, 'it has used no approval')
      continue
    }
    if (approval.mandateId !== mandateId || (approval.amountMicro ?? 0n) < amountMicro) {
      complain('not approved', nonce, `${approval.id} was given for something else`)
    }
    const given = (decisions.get(approval.id) ?? []).filter(
      (call) =>
        mayHaveDecided(call, 'approved') &&
        call.beganMs <= issuedAtMs + dossier.skewMs &&
        issuedAtMs < latestMs(call) + approvalWindowMs + dossier.skewMs,
    )
    if (given.length === 0) complain('not approved', nonce, `${approval.id} was not approved in time`)
    const grant = dossier.grants.get(nonce)
    const isTakenBack = (decisions.get(approval.id) ?? []).some(
      (call) => isDecided(call, 'denied') && grant !== undefined && call.endedMs < grant.beganMs,
    )
    if (isTakenBack) complain('success after stop', nonce, `${approval.id} was denied before`)
  }
  for (const call of dossier.callsOf('evaluate')) {
    const { answer, request } = call
    const aboveMicro = dossier.mandates.get(request.mandateId)?.approveAboveMicro ?? null
    if (answer.is === 'approved' && aboveMicro !== null && request.amountMicro > aboveMicro) {
      complain('not approved', request.mandateId, 'an evaluation was approved that needs a person')
    }
  }
}

interface Asked {
  readonly approvals: ReadonlyMap<string, ApprovalContent>
  readonly decisions: Decisions
}

/** Answers to decisions are true: a denial is final, and an approval is approved, used or withdrawn. */
function checkDecisions({ approvals, decisions }: Asked, complain: Complain): void {
  for (const [id, calls] of decisions) {
    const approval = approvals.get(id)
    if (calls.some(({ answer }) => answer.is === 'decided') && !approval) {
      complain('record lost', id, 'it was decided, and is not in the ledger')
      continue
    }
    const isDenied = calls.some((call) => isDecided(call, 'denied'))
    const isApproved = calls.some((call) => isDecided(call, 'approved'))
    const status = approval?.status ?? ''
    if (isDenied && status !== 'denied') complain('record differs', id, `it was denied, and is ${status}`)
    if (isApproved && status === 'pending') complain('record differs', id, 'it was approved, and is pending')
    const mayBeDenied = calls.some((call) => mayHaveDecided(call, 'denied'))
    if (isApproved && status === 'denied' && !mayBeDenied) {
      complain('record differs', id, 'it was approved and not denied')
    }
  }
}

/** A payment is approved within its window, and a decision is refused only for a reason. */
function checkConflicts(dossier: Dossier, { approvals, decisions }: Asked, complain: Complain): void {
  const { skewMs } = dossier
  for (const call of dossier.callsOf('decide')) {
    const { answer, request, beganMs, endedMs } = call
    const approval = approvals.get(request.approvalId)
    if (!approval) continue
    const { id, mandateId, amountMicro, requestedAtMs, status } = approval
    const windowMs = amountMicro === null ? increaseWindowMs : approvalWindowMs
    const others = (decisions.get(id) ?? []).filter(
      (other) => other !== call && (other.answer.is === 'decided' || isFateUnknown(other)),
    )
    const before = others.filter((other) => other.beganMs <= endedMs)
    if (isDecided(call, 'approved') && before.length === 0 && beganMs > requestedAtMs + windowMs + skewMs) {
      complain('not approved', id, 'it was approved after it had expired')
    }
    if (answer.is !== 'conflict') continue
    const startsMs = [requestedAtMs, ...before.map((other) => other.beganMs)]
    const reasons: Readonly<Record<string, boolean>> = {
      approval_expired: startsMs.some((ms) => endedMs >= ms + approvalWindowMs - skewMs),
      approval_decided: before.length > 0 || status === 'consumed',
      mandate_revoked: dossier
        .movesOf(mandateId)
        .some((move) => move.request.act === 'revoke-mandate' && move.beganMs <= endedMs),
      version_mismatch: amountMicro === null && dossier.versionsOf(mandateId).length > 0,
    }
    if (!reasons[answer.detail]) complain('failure unexplained', id, answer.detail)
  }
}

/**
 * A refusal for lack of approval needs a mandate that requires one, and no approval that was certainly given
 * and unused.
 */
function checkRefusals(dossier: Dossier, { approvals, decisions }: Asked, complain: Complain): void {
  for (const call of dossier.callsOf('ask-proof', 'evaluate')) {
    const { answer, request, beganMs, endedMs } = call
    if (answer.is !== 'denied' || answer.code !== 'approval_required') continue
    const aboveMicro = dossier.mandates.get(request.mandateId)?.approveAboveMicro ?? null
    if (aboveMicro === null || request.amountMicro <= aboveMicro) {
      complain('failure unexplained', request.mandateId, 'it needs no approval')
    }
    if (request.act !== 'ask-proof' || request.approvalId === undefined) continue
    const own = decisions.get(request.approvalId) ?? []
    const approval = approvals.get(request.approvalId)
    const isGiven = own.some((one) => isDecided(one, 'approved') && one.endedMs < beganMs)
    const mayBeOver = own.some(
      (one) => mayHaveDecided(one, 'approved') && one.beganMs + approvalWindowMs <= endedMs + dossier.skewMs,
    )
    const mayBeDenied = own.some((one) => mayHaveDecided(one, 'denied') && one.beganMs <= endedMs)
    const isUsed = approval?.status === 'consumed'
    if (isGiven && !mayBeOver && !mayBeDenied && !isUsed) {
      complain('failure unexplained', request.approvalId, 'it was approved, and was not accepted')
    }
  }
}

/** Every acknowledged amendment is a version, and no version has two. */
function checkAmendments(
  dossier: Dossier,
  approvals: ReadonlyMap<string, ApprovalContent>,
  complain: Complain,
): void {
  for (const { answer, request } of dossier.callsOf('amend-mandate')) {
    if (answer.is !== 'amended') continue
    const { mandateId, maxPaymentMicro } = request
    const version = dossier.versionsOf(mandateId).find((one) => one.version === answer.version)
    const terms = version ?? dossier.mandates.get(mandateId)
    if (answer.version > 1 && !version) complain('record lost', mandateId, `version ${answer.version}`)
    else if (terms?.maxPaymentMicro !== maxPaymentMicro) {
      complain('record differs', mandateId, `version ${answer.version} differs from the request`)
    }
  }
  for (const { answer } of dossier.callsOf('request-increase')) {
    if (answer.is === 'requested' && !approvals.has(answer.approvalId)) {
      complain('record lost', answer.approvalId, 'the request was acknowledged')
    }
  }
  for (const { id, version, maxTotalMicro, maxPaymentMicro } of dossier.content.mandates) {
    const kept = dossier.versionsOf(id)
    if (version !== Math.max(1, kept.length)) {
      complain('record lost', id, `${kept.length} of ${version} versions`)
    }
    const last = kept.find((one) => one.version === version)
    const isLast = last?.maxTotalMicro === maxTotalMicro && last.maxPaymentMicro === maxPaymentMicro
    if (last && !isLast) complain('record differs', id, 'its terms are not those of its version')
  }
}

function isDecided({ answer, request }: Decision, verdict: Decision['request']['verdict']): boolean {
  return answer.is === 'decided' && request.verdict === verdict
}

function mayHaveDecided(call: Decision, verdict: Decision['request']['verdict']): boolean {
  return isDecided(call, verdict) || (isFateUnknown(call) && call.request.verdict === verdict)
}
