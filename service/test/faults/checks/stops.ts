import type { Complain } from '../complaint.ts'
import { isDone, isFateUnknown, latestMs } from '../calls.ts'
import type { Dossier } from '../dossier.ts'
import { captureSeconds, type Call, type CallOf, type HoldContent, type Request } from '../history.ts'
import { collectorDomain } from '../market.ts'

/** Nothing that begins after an answered stop succeeds, and no refusal names a stop that never happened. */
export function checkStops(dossier: Dossier, complain: Complain): void {
  checkPayments(dossier, complain)
  checkApprovals(dossier, complain)
  checkKeys(dossier, complain)
  checkCollector(dossier, complain)
  checkPayer(dossier, complain)
  checkStatuses(dossier, complain)
  for (const stopId of dossier.content.runningStops ?? []) {
    complain('record lost', stopId, 'the stop was interrupted, and no service has completed it')
  }
}

/** Holds and charges by the ledger's own clock, answered or not. */
function checkPayments(dossier: Dossier, complain: Complain): void {
  const revocationsOfKeys = Map.groupBy(
    dossier.callsOf('revoke-key').filter(isDone),
    ({ request }) => request.keyId,
  )
  for (const hold of dossier.content.holds) {
    const { nonce, mandateId, capturedBy } = hold
    const revokedAtMs = dossier.revokedSinceMs(mandateId)
    if ((hold.writtenAtMs ?? hold.issuedAtMs) > revokedAtMs) {
      complain('success after stop', nonce, 'the proof was issued after the revocation was answered')
    }
    const [payment] = dossier.paymentsOf(nonce)
    const heldSinceMs = dossier.heldSinceMs(hold) ?? Infinity
    if (hold.captureDeadlineMs !== null) {
      // A stop does not end authorized payments, and nothing is authorized after it.
      const authorizedAtMs = hold.captureDeadlineMs - captureSeconds * 1_000 - dossier.skewMs
      const isStopped = dossier
        .endsOf(hold)
        .some((stop) => isDone(stop) && stop.beganMs > heldSinceMs && stop.endedMs < authorizedAtMs)
      if (isStopped) complain('success after stop', nonce, 'it was authorized after a stop was answered')
    }
    if (!payment) continue
    // A stop ends open holds permanently, so a later resume does not restore them.
    const paidAtMs = payment.writtenAtMs ?? payment.createdAtMs
    const isStopped = dossier
      .endsOf(hold)
      .some((stop) => isDone(stop) && stop.beganMs > heldSinceMs && stop.endedMs < paidAtMs)
    if (hold.captureDeadlineMs === null && (isStopped || paidAtMs > revokedAtMs)) {
      complain('success after stop', nonce, `${payment.id} was made after a stop was answered`)
    }
    if (hold.captureDeadlineMs === null && isInFrozen(dossier, hold, { heldSinceMs, paidAtMs })) {
      complain('success after stop', nonce, `${payment.id} was made after a budget of its agent was frozen`)
    }
    const ofKey = revocationsOfKeys.get(capturedBy ?? '') ?? []
    if (ofKey.some(({ endedMs }) => endedMs < paidAtMs)) {
      complain('success after stop', nonce, `${payment.id} was made after its key was revoked`)
    }
  }
}

/** Whether an open hold certainly ended because its agent was in a frozen budget, in which it need not count. */
function isInFrozen(
  dossier: Dossier,
  { mandateId }: HoldContent,
  { heldSinceMs, paidAtMs }: { readonly heldSinceMs: number; readonly paidAtMs: number },
): boolean {
  const isBetween = (call: Call) => isDone(call) && call.beganMs > heldSinceMs && call.endedMs < paidAtMs
  const assignments = dossier.assignmentsOf(mandateId).filter(isBetween)
  const freezes = dossier.callsOf('freeze-budget').filter(isBetween)
  return (
    assignments.some((call) => isFrozenAllAlong(dossier, call.request.budgetId ?? '', call)) ||
    freezes.some((call) => dossier.budgetsOf(mandateId, call).sure.has(call.request.budgetId))
  )
}

function checkApprovals(dossier: Dossier, complain: Complain): void {
  for (const call of dossier.callsOf('ask-proof', 'evaluate')) {
    const { mandateId, agentId } = call.request
    const { answer } = call
    // A repeated request gets its first answer again.
    if (answer.is === 'granted' && answer.isReplay) continue
    if (answer.is === 'granted' || answer.is === 'approved') {
      if (isStoppedAllAlong(dossier, mandateId, call)) {
        complain('success after stop', mandateId, `${call.request.act} was ${answer.is} while it was stopped`)
      }
    } else if (answer.is === 'denied') {
      const reasons = reasonsToDeny(dossier, answer.code, { mandateId, agentId })
      if (reasons && !reasons.some(({ beganMs }) => beganMs <= call.endedMs)) {
        complain('failure unexplained', mandateId, `${answer.code}, and nobody had stopped it`)
      }
      const mayBeIn = answer.code === 'budget_frozen' ? [...dossier.budgetsOf(mandateId, call).possible] : []
      if (answer.code === 'budget_frozen' && !mayBeIn.some((id) => mayBeFrozen(dossier, id, call))) {
        complain('failure unexplained', mandateId, 'its shared budget was certainly not frozen')
      }
    }
  }
  for (const { answer, endedMs, request } of dossier.callsOf('pause-mandate', 'resume-mandate')) {
    if (answer.is !== 'conflict') continue
    const revocations = dossier.movesOf(request.mandateId).filter(isRevocation)
    if (!revocations.some(({ beganMs }) => beganMs <= endedMs)) {
      complain('failure unexplained', request.mandateId, 'mandate_revoked, and nobody had revoked it')
    }
  }
}

/** What may have made a denial true; undefined if the code does not concern a stop. */
function reasonsToDeny(
  dossier: Dossier,
  code: string,
  { mandateId, agentId }: { readonly mandateId: string; readonly agentId: string },
): readonly Call[] | undefined {
  if (code === 'agent_revoked') return dossier.revocationsOfAgent(agentId)
  if (code === 'mandate_expired') {
    const moves = dossier.movesOf(mandateId).filter(({ request }) => request.act !== 'resume-mandate')
    return [...moves, ...dossier.stopAllsOf(mandateId)]
  }
  return undefined
}

/** Whether a freeze of a shared budget may have been in effect during a call. */
function mayBeFrozen(dossier: Dossier, budgetId: string, { beganMs, endedMs }: Call): boolean {
  const unfreezes = dossier.unfreezesOf(budgetId).filter(isDone)
  return dossier
    .freezesOf(budgetId)
    .some(
      (freeze) =>
        freeze.beganMs <= endedMs &&
        !unfreezes.some((unfreeze) => unfreeze.beganMs > latestMs(freeze) && unfreeze.endedMs < beganMs),
    )
}

function checkKeys(dossier: Dossier, complain: Complain): void {
  const calls = dossier.callsOf('revoke-key')
  const revocations = Map.groupBy(calls, ({ request }) => request.keyId)
  for (const { keyId, answer, beganMs, endedMs, request } of dossier.calls) {
    const ofKey = revocations.get(keyId) ?? []
    if (answer.is === 'unauthorized') {
      // The collector's key is refused while its account is disabled.
      if (request.act === 'register-seller') continue
      if ('domain' in request && request.act !== 'ask-proof' && request.domain === collectorDomain) continue
      const reasons: readonly Call[] = [...ofKey, ...dossier.disablings]
      if (!reasons.some((reason) => reason.beganMs <= endedMs)) {
        complain(
          'failure unexplained',
          keyId,
          `${request.act}: the key was refused, and nobody had revoked it`,
        )
      }
    } else if (!isFateUnknown({ answer })) {
      if (ofKey.some((revocation) => isDone(revocation) && revocation.endedMs < beganMs)) {
        complain('success after stop', keyId, `${request.act} was answered after the key was revoked`)
      }
    }
  }
}

/** The statuses in the ledger are the results of the last operations. */
function checkStatuses(dossier: Dossier, complain: Complain): void {
  for (const { id, status } of dossier.content.agents) {
    checkRevoked(id, status === 'revoked', dossier.revocationsOfAgent(id), complain)
  }
  for (const { id, status } of dossier.content.mandates) {
    const moves = dossier.movesOf(id)
    const revocations = moves.filter(isRevocation)
    checkRevoked(id, status === 'revoked', revocations, complain)
    if (revocations.length > 0) continue
    const all: Call[] = [...moves, ...dossier.stopAllsOf(id), ...dossier.undos]
    const last = all.find((move) => all.every((other) => other === move || latestMs(other) < move.beganMs))
    const expected = last && isDone(last) ? statusAfter(dossier, id, last) : undefined
    if (expected && status !== expected) complain('record lost', id, `it is ${status}, not ${expected}`)
    const pauses = all.filter(({ request }) => ['pause-mandate', 'stop-all'].includes(request.act))
    if (status === 'paused' && pauses.length === 0) {
      complain('record unexplained', id, 'it is paused, and nobody paused it')
    }
  }
}

/** The status after the last operation on a mandate; undefined if it depends on others. */
function statusAfter(dossier: Dossier, mandateId: string, { request, ...call }: Call): string | undefined {
  if (request.act === 'pause-mandate') return 'paused'
  if (request.act === 'resume-mandate') return 'active'
  // A mandate of a revoked agent keeps its status.
  const agentId = dossier.mandates.get(mandateId)?.agentId ?? ''
  const isStop =
    request.act === 'stop-all' &&
    dossier.isOlder(mandateId, { request, ...call }) &&
    dossier.revocationsOfAgent(agentId).length === 0
  return isStop ? 'paused' : undefined
}

/**
 * The collector charges nothing while its account is disabled or its domain released, and is refused only
 * then.
 */
function checkCollector(dossier: Dossier, complain: Complain): void {
  for (const [closing, opening, refusal] of closings) {
    const closed = dossier.callsOf(closing)
    const opened = dossier.callsOf(opening)
    for (const call of dossier.callsOf(...collectingActs[closing])) {
      const { answer, endedMs, request } = call
      if (request.domain !== collectorDomain) continue
      const isClosed = closed.some((close) => isInEffect(close, opened, call))
      // Earlier payments are still replayed after a release, and never while the account is disabled.
      const isSuccess = answer.is === 'verified' || answer.is === 'authorized' || answer.is === 'refunded'
      const isCharged = isSuccess && (!answer.isReplay || closing === 'disable-collector')
      const subject = 'nonce' in request ? request.nonce : request.transactionId
      if (isClosed && isCharged) complain('success after stop', subject, `${request.act} after ${closing}`)
      const isRefused = answer.is === 'conflict' ? answer.detail === refusal : answer.is === refusal
      if (isRefused && !closed.some((close) => close.beganMs <= endedMs)) {
        complain('failure unexplained', subject, `it was refused without ${closing}`)
      }
    }
  }
}

/** While the account that pays is disabled, its keys are refused, and nothing of it is charged; not before or after. */
function checkPayer(dossier: Dossier, complain: Complain): void {
  const enablings = dossier.callsOf('enable-payer')
  for (const call of dossier.calls) {
    const { answer, request, keyId } = call
    if (isFateUnknown(call) || isOfOthers(request) === 'all') continue
    const isDisabled = dossier.disablings.some((disabling) => isInEffect(disabling, enablings, call))
    const isCharge = (answer.is === 'verified' || answer.is === 'authorized') && !answer.isReplay
    const isPromised = request.act === 'capture-authorized'
    const isSuccess = isOfOthers(request) ? isCharge && !isPromised : answer.is !== 'unauthorized'
    if (isDisabled && isSuccess) complain('success after stop', keyId, `${request.act} of a disabled account`)
  }
}

/** Whether a request is not from a key of the account that pays; some of these are about its proofs. */
function isOfOthers({ act, ...request }: Request): 'all' | 'proofs' | undefined {
  const [verb, party] = act.split('-')
  if (verb === 'disable' || verb === 'enable' || party === 'domain' || party === 'seller') return 'all'
  const isAsked = act === 'ask-proof' || act === 'evaluate'
  return !isAsked && 'domain' in request && request.domain === collectorDomain ? 'proofs' : undefined
}

const closings = [
  ['disable-collector', 'enable-collector', 'unauthorized'],
  ['release-domain', 'register-seller', 'seller_not_yours'],
] as const

/** What a collector cannot do then. It may still capture what it has authorized without its domain. */
const collectingActs = {
  'disable-collector': ['verify', 'authorize', 'capture-authorized', 'refund'],
  'release-domain': ['verify', 'authorize'],
} as const

function checkRevoked(
  id: string,
  isRevoked: boolean,
  revocations: readonly Call[],
  complain: Complain,
): void {
  if (!isRevoked && revocations.some(isDone)) complain('record lost', id, 'its revocation was acknowledged')
  if (isRevoked && revocations.length === 0) complain('record unexplained', id, 'nobody revoked it')
}

/** Whether the mandate was certainly stopped for the whole duration of a call. */
function isStoppedAllAlong(dossier: Dossier, mandateId: string, call: Call): boolean {
  if (dossier.revokedSinceMs(mandateId) < call.beganMs) return true
  const moves = dossier.movesOf(mandateId)
  const resumes = moves.filter(({ request }) => request.act === 'resume-mandate')
  const isLasting = (pause: Call, ends: readonly Call[]) => isInEffect(pause, ends, call)
  // An undo does not resume what an owner has paused, unless a stop preceded the pause and is undone.
  const isPaused = moves.some((pause) => pause.request.act === 'pause-mandate' && isLasting(pause, resumes))
  const isFrozen = [...dossier.budgetsOf(mandateId, call).sure].some((id) =>
    isFrozenAllAlong(dossier, id, call),
  )
  const isStopped = (stop: CallOf<'stop-all'>) =>
    dossier.isOlder(mandateId, stop) && isLasting(stop, resumes) && isLasting(stop, dossier.undosOf(stop))
  return isPaused || isFrozen || dossier.stopAllsOf(mandateId).some(isStopped)
}

/** Whether a shared budget was certainly frozen for the whole duration of a call. */
function isFrozenAllAlong(dossier: Dossier, budgetId: string, call: Call): boolean {
  const unfreezes = dossier.unfreezesOf(budgetId)
  return dossier.freezesOf(budgetId).some((freeze) => isInEffect(freeze, unfreezes, call))
}

/** Whether a stop was certainly in effect for the whole duration of a call, and nothing may have ended it. */
function isInEffect(stop: Call, ends: readonly Call[], { beganMs, endedMs }: Call): boolean {
  return (
    isDone(stop) &&
    stop.endedMs < beganMs &&
    !ends.some((end) => latestMs(end) >= stop.beganMs && end.beganMs <= endedMs)
  )
}

function isRevocation({ request }: Call): boolean {
  return request.act === 'revoke-mandate'
}
