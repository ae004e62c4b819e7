import type { Complain } from '../complaint.ts'
import { isDone, latestMs } from '../calls.ts'
import type { Dossier } from '../dossier.ts'
import type { Call, HoldContent, MandateContent } from '../history.ts'

/**
 * No mandate, limit or shared budget is overspent at any moment, their sums are those of their records, and none refuses
 * what fits.
 */
export function checkBudgets(dossier: Dossier, complain: Complain): void {
  const { mandates, budgets, limitFaults } = dossier.content
  for (const mandate of mandates) {
    const { id, maxTotalMicro, limitMicro } = mandate
    checkSums(dossier, mandate, complain)
    const holds = dossier.holdsOf(id)
    checkTotal(dossier, { id, maxMicroFor: () => maxTotalMicro, holds }, complain)
    if (limitMicro !== null) checkTotal(dossier, { id, maxMicroFor: () => limitMicro, holds }, complain)
  }
  for (const { id } of budgets) {
    const maxMicroFor = (call: Call) => dossier.limitOfBudget(id, call).mostMicro
    checkTotal(dossier, { id, maxMicroFor, holds: dossier.content.holds.filter(isIn(id)) }, complain)
  }
  checkBooked(dossier, complain)
  checkCuts(dossier, complain)
  for (const { subjectId, fault } of limitFaults) complain('sums differ', subjectId, fault)
  checkDenials(dossier, complain)
  checkReads(dossier, complain)
}

function checkSums(dossier: Dossier, mandate: MandateContent, complain: Complain): void {
  const { id, spentMicro, heldMicro, authorizedMicro, maxTotalMicro } = mandate
  const paidMicro = sumOf(dossier.paymentsUnder(id)) - sumOf(dossier.refundsUnder(id))
  const promisedMicro = sumOf(dossier.holdsOf(id).filter(({ status }) => status === 'authorized'))
  const openMicro = sumOf(dossier.holdsOf(id).filter(({ status }) => status === 'open'))
  if (spentMicro !== paidMicro) complain('sums differ', id, `${spentMicro} spent, ${paidMicro} paid`)
  if (authorizedMicro !== promisedMicro) {
    complain('sums differ', id, `${authorizedMicro} authorized, ${promisedMicro} in authorized holds`)
  }
  if (heldMicro !== openMicro) complain('sums differ', id, `${heldMicro} held, ${openMicro} in open holds`)
  if (paidMicro + openMicro + promisedMicro > maxTotalMicro) {
    complain('overspent', id, `${paidMicro} paid and ${openMicro} held of ${maxTotalMicro}`)
  }
  for (const { nonce, amountMicro, mandateVersion } of dossier.holdsOf(id)) {
    const admitted =
      dossier.versionsOf(id).find(({ version }) => version === (mandateVersion ?? 1)) ?? mandate
    if (amountMicro > admitted.maxPaymentMicro) complain('overspent', nonce, 'over the most for one payment')
  }
}

/** Whether a hold counts in a shared budget. */
function isIn(budgetId: string) {
  return ({ budgetPath }: HoldContent) => budgetPath?.includes(budgetId) === true
}

/** A proof counts in the shared budgets of its mandate and its agent when it is issued. */
function checkBooked(dossier: Dossier, complain: Complain): void {
  for (const { nonce, mandateId, budgetPath } of dossier.content.holds) {
    const grant = dossier.grants.get(nonce)
    if (!grant || (grant.answer.is === 'granted' && grant.answer.isReplay)) continue
    const { sure, possible } = dossier.budgetsOf(mandateId, grant)
    const counted = new Set(budgetPath)
    if ([...sure].some((id) => !counted.has(id)) || [...counted].some((id) => !possible.has(id))) {
      complain('record differs', nonce, `it counts in ${[...counted].join()}, not in ${[...possible].join()}`)
    }
  }
}

/** A limit of a shared budget is not cut below what counts in it, unless open proofs end, and may always be cut to that. */
function checkCuts(dossier: Dossier, complain: Complain): void {
  for (const call of dossier.callsOf('change-budget')) {
    const { answer, request, beganMs, endedMs } = call
    const { budgetId, maxMicro, endsHolds } = request
    const counted = dossier.content.holds.filter(isIn(budgetId))
    const before = dossier.limitOfBudget(budgetId, { beganMs, endedMs: beganMs })
    const others = dossier
      .budgetChangesOf(budgetId)
      .filter((other) => other !== call && other.beganMs <= endedMs)
    const isAlone = others.every((other) => latestMs(other) < beganMs)
    const isCut = isAlone && before.leastMicro > maxMicro && [...before.windows].join() === request.window
    if (isDone(call) && !endsHolds && isCut) {
      const sure = counted.filter(
        (hold) =>
          (dossier.heldSinceMs(hold) ?? Infinity) < beganMs && surelyHeldUntilMs(dossier, hold) > endedMs,
      )
      const leastMicro = sure.reduce((sum, hold) => sum + keptOf(dossier, hold), 0n)
      if (leastMicro > maxMicro) complain('overspent', budgetId, `it was cut to ${maxMicro} of ${leastMicro}`)
    }
    if (answer.is === 'conflict' && answer.detail === 'budget_below_committed') {
      const mostMicro = mostCountedDuring(dossier, counted, call)
      if (mostMicro <= maxMicro) complain('failure unexplained', budgetId, `${answer.detail} of ${mostMicro}`)
    }
  }
}

interface Total {
  /** The mandate or the shared budget. */
  readonly id: string
  /** The max for what a call adds. */
  readonly maxMicroFor: (call: Call) => bigint
  readonly holds: readonly HoldContent[]
}

/** Adds up what was certainly held or spent at each moment. */
function checkTotal(dossier: Dossier, { id, maxMicroFor, holds }: Total, complain: Complain): void {
  const changes = holds.flatMap((hold) => {
    const fromMs = dossier.heldSinceMs(hold) ?? dossier.chargedSinceMs(hold.nonce)
    const untilMs = surelyHeldUntilMs(dossier, hold)
    if (!(fromMs < untilMs)) return []
    const keptMicro = keptOf(dossier, hold)
    return [
      { atMs: fromMs, byMicro: hold.amountMicro, call: dossier.grants.get(hold.nonce) },
      { atMs: Math.max(fromMs, surelyWholeUntilMs(dossier, hold)), byMicro: keptMicro - hold.amountMicro },
      { atMs: untilMs, byMicro: -keptMicro },
    ]
  })
  // What ends at a moment makes room for what begins at it.
  changes.sort((left, right) => left.atMs - right.atMs || Number(left.byMicro - right.byMicro))
  let sumMicro = 0n
  for (const { atMs, byMicro, call } of changes) {
    if (atMs === Infinity) break
    sumMicro += byMicro
    const maxMicro = call && maxMicroFor(call)
    if (maxMicro !== undefined && sumMicro > maxMicro)
      return complain('overspent', id, `${sumMicro} of ${maxMicro} at ${atMs}`)
  }
}

/** The amount of a hold that is certainly in use until it ends: what was captured and not refunded. */
function keptOf(dossier: Dossier, hold: HoldContent): bigint {
  const { nonce, amountMicro, capturedMicro } = hold
  return (capturedMicro ?? amountMicro) - sumOf(dossier.refundsOf(nonce))
}

/** Until when the full amount was certainly in use: before any of it may have been captured or refunded. */
function surelyWholeUntilMs(dossier: Dossier, { nonce }: HoldContent): number {
  const [payment] = dossier.paymentsOf(nonce)
  const refunds = payment ? dossier.refundCallsOf(payment.id) : []
  const ends = [...dossier.actsOf(nonce, 'capture-authorized'), ...refunds]
  return Math.min(...ends.map(({ beganMs }) => beganMs))
}

function surelyHeldUntilMs(dossier: Dossier, hold: HoldContent): number {
  switch (hold.status) {
    case 'captured':
    case 'authorized':
    case 'open':
      return Infinity
    case 'expired':
      return hold.captureDeadlineMs === null
        ? dossier.expiresFromMs(hold)
        : hold.captureDeadlineMs - dossier.skewMs
    case 'voided':
      return Math.min(
        ...perhapsEndsOf(dossier, hold)
          .filter((stop) => latestMs(stop) >= hold.issuedAtMs)
          .map(({ beganMs }) => beganMs),
      )
    default:
      return hold.status satisfies never
  }
}

/** What may have ended a hold: once it is authorized, only its merchant. */
function endsOf(dossier: Dossier, hold: HoldContent): readonly Call[] {
  return hold.captureDeadlineMs === null
    ? dossier.endsOf(hold)
    : dossier.actsOf(hold.nonce, 'void-authorized')
}

function perhapsEndsOf(dossier: Dossier, hold: HoldContent): readonly Call[] {
  return hold.captureDeadlineMs === null ? dossier.perhapsEndsOf(hold) : endsOf(dossier, hold)
}

/** The last moment at which the hold may still have been in use. */
function perhapsHeldUntilMs(dossier: Dossier, hold: HoldContent): number {
  if (hold.status === 'expired') return lastOpenMs(dossier, hold) + dossier.skewMs
  if (hold.status !== 'voided') return Infinity
  const heldSinceMs = dossier.heldSinceMs(hold) ?? Infinity
  const stops = endsOf(dossier, hold).filter((stop) => isDone(stop) && stop.beganMs > heldSinceMs)
  return Math.min(...stops.map(({ endedMs }) => endedMs))
}

/**
 * When an expired hold may last have been open or authorized. The deadline of an authorization is counted from its request: if
 * it is committed late, the hold is open until then.
 */
function lastOpenMs(dossier: Dossier, { nonce, expiresAtMs, captureDeadlineMs }: HoldContent): number {
  if (captureDeadlineMs === null) return expiresAtMs
  const authorizedByMs = Math.max(...dossier.actsOf(nonce, 'authorize').map(latestMs))
  return Math.max(captureDeadlineMs, Math.min(expiresAtMs, authorizedByMs))
}

/** The last moment at which the hold may still have counted for other mandates, which do not release it. */
function perhapsCountedUntilMs(dossier: Dossier, hold: HoldContent): number {
  return hold.releasedAtMs ?? perhapsHeldUntilMs(dossier, hold) + releasedWithinMs
}

/**
 * How long after its end a hold may count for other mandates, if its release is not recorded: six minutes that a test clock
 * skips, and nine seconds in which a sweep waits for a database that fails, on a clock sixty times as fast as the machine's.
 */
const releasedWithinMs = 15 * 60_000

/** Refusals that `checkStops` and `checkApprovals` check. */
const explainedElsewhere: ReadonlySet<string> = new Set([
  'agent_revoked',
  'mandate_expired',
  'approval_required',
  'budget_frozen',
])

/** A refusal for lack of budget needs a moment at which the budget may have been that full. */
function checkDenials(dossier: Dossier, complain: Complain): void {
  for (const call of dossier.callsOf('ask-proof', 'evaluate')) {
    const { answer, request } = call
    const mandate = dossier.mandates.get(request.mandateId)
    if (!mandate) continue
    const { leastTotalMicro, mostTotalMicro, leastPaymentMicro } = dossier.boundsOf(mandate)
    if (answer.is === 'approved') {
      const { leastMicro } = spentDuring(dossier, mandate.id, call)
      if (leastMicro + request.amountMicro > mostTotalMicro) {
        complain('overspent', mandate.id, 'an evaluation was approved that does not fit the budget')
      }
    }
    if (answer.is !== 'denied') continue
    if (answer.code === 'total_budget_exceeded') {
      const mostMicro =
        request.act === 'evaluate'
          ? spentDuring(dossier, mandate.id, call).mostMicro
          : mostHeldDuring(dossier, dossier.holdsOf(mandate.id), call)
      if (mostMicro + request.amountMicro <= leastTotalMicro) {
        complain('failure unexplained', mandate.id, `total_budget_exceeded, with at most ${mostMicro} in use`)
      }
    } else if (answer.code === 'velocity_limit_exceeded') {
      const { limitMicro } = mandate
      const mostMicro = mostHeldDuring(dossier, dossier.holdsOf(mandate.id), call)
      if (limitMicro === null || mostMicro + request.amountMicro <= limitMicro) {
        complain('failure unexplained', mandate.id, `${answer.code}, with at most ${mostMicro} in use`)
      }
    } else if (answer.code === 'shared_budget_exceeded') {
      const isFull = [...dossier.budgetsOf(mandate.id, call).possible].some((budgetId) => {
        const counted = dossier.content.holds.filter(isIn(budgetId))
        const [own, others] = [true, false].map((isOwn) =>
          counted.filter(({ mandateId }) => (mandateId === mandate.id) === isOwn),
        ) as [HoldContent[], HoldContent[]]
        const mostMicro = mostHeldDuring(dossier, own, call) + mostCountedDuring(dossier, others, call)
        return mostMicro + request.amountMicro > dossier.limitOfBudget(budgetId, call).leastMicro
      })
      if (!isFull) complain('failure unexplained', mandate.id, `${answer.code}, and it had room`)
    } else if (answer.code === 'amount_exceeds_per_transaction_limit') {
      if (request.amountMicro <= leastPaymentMicro) {
        complain('failure unexplained', mandate.id, answer.code)
      }
    } else if (!explainedElsewhere.has(answer.code)) {
      complain('failure unexplained', mandate.id, answer.code)
    }
  }
}

/** What some holds of a mandate may have had in use, if a request first releases what has expired. */
function mostHeldDuring(dossier: Dossier, holds: readonly HoldContent[], { beganMs, endedMs }: Call): bigint {
  return sumOf(
    holds.filter((hold) => hold.issuedAtMs <= endedMs && perhapsHeldUntilMs(dossier, hold) >= beganMs),
  )
}

/** What may have counted of holds of other mandates: a request does not release what has expired under them. */
function mostCountedDuring(
  dossier: Dossier,
  holds: readonly HoldContent[],
  { beganMs, endedMs }: Call,
): bigint {
  return sumOf(
    holds.filter((hold) => hold.issuedAtMs <= endedMs && perhapsCountedUntilMs(dossier, hold) >= beganMs),
  )
}

function spentDuring(dossier: Dossier, mandateId: string, { beganMs, endedMs }: Call) {
  const payments = dossier.paymentsUnder(mandateId)
  const sure = payments.filter(({ nonce }) => dossier.chargedSinceMs(nonce ?? '') < beganMs)
  const possible = payments.filter(({ createdAtMs }) => createdAtMs <= endedMs)
  const refunded = dossier
    .refundsUnder(mandateId)
    .filter(({ createdAtMs }) => createdAtMs <= endedMs + dossier.skewMs)
  return { leastMicro: sumOf(sure) - sumOf(refunded), mostMicro: sumOf(possible) }
}

/** The values read of a mandate or a proof were true at some moment of the request. */
function checkReads(dossier: Dossier, complain: Complain): void {
  for (const call of dossier.callsOf('read-mandate')) {
    const { answer, request } = call
    const mandate = dossier.mandates.get(request.mandateId)
    if (answer.is !== 'mandate' || !mandate) continue
    const { leastMicro, mostMicro } = spentDuring(dossier, mandate.id, call)
    if (answer.spentMicro < leastMicro || answer.spentMicro > mostMicro) {
      const bounds = `between ${leastMicro} and ${mostMicro}`
      complain('untrue read', mandate.id, `${answer.spentMicro} spent was told, it was ${bounds}`)
    }
    if (answer.spentMicro + answer.heldMicro + answer.authorizedMicro > mandate.maxTotalMicro) {
      complain('overspent', mandate.id, `${answer.spentMicro} spent and ${answer.heldMicro} held were told`)
    }
  }
  for (const { answer, beganMs, endedMs, request } of dossier.callsOf('look-up')) {
    if (answer.is !== 'proof') continue
    const [payment] = dossier.paymentsOf(request.nonce)
    const isWrong =
      answer.status === 'captured'
        ? payment?.id !== answer.transactionId || payment.createdAtMs > endedMs
        : answer.status === 'open' || answer.status === 'authorized'
          ? dossier.chargedSinceMs(request.nonce) < beganMs
          : payment !== undefined
    if (isWrong) complain('untrue read', request.nonce, `${answer.status} was told`)
  }
}

function sumOf(records: readonly { readonly amountMicro: bigint }[]): bigint {
  return records.reduce((sum, { amountMicro }) => sum + amountMicro, 0n)
}
