// Longer than 400 lines: it is a list, read from top to bottom.
import assert from 'node:assert/strict'

import { holdGraceMs } from '../../src/domain/proof.ts'
import { isDone } from './calls.ts'
import { sweptWithinMs } from './checks/holds.ts'
import type { ComplaintKind } from './complaint.ts'
import type { HoldContent } from './history.ts'
import { collectorDomain } from './market.ts'
import { isAbout, type Spoiled } from './spoiled.ts'

interface PlantedBug {
  readonly bug: string
  /** What the checker must report about it. */
  readonly complaint: ComplaintKind
  /** Whether it needs a run in which someone stops all mandates, disables accounts and releases domains. */
  readonly isGoverned?: true
  readonly plant: (spoiled: Spoiled) => void
}

/** Whether an open proof has expired; an authorized one expires at its deadline. */
function isExpiredHold({ status, captureDeadlineMs }: HoldContent): boolean {
  return status === 'expired' && captureDeadlineMs === null
}

/** Whether a payment was authorized first, and then captured. */
function isCapturedInSteps({ status, captureDeadlineMs }: HoldContent): boolean {
  return status === 'captured' && captureDeadlineMs !== null
}

/** Bugs that a ledger could have, each as the trace that it would leave. */
export const plantedBugs: readonly PlantedBug[] = [
  {
    bug: 'a lost update: a payment that was not added to what is spent',
    complaint: 'sums differ',
    plant: (spoiled) => (spoiled.mandateOf(spoiled.paidHold()).spentMicro -= 1_000_000n),
  },
  {
    bug: 'a limit that let one payment too many pass',
    complaint: 'overspent',
    plant: (spoiled) => (spoiled.mandateOf(spoiled.paidHold()).limitMicro = 1n),
  },
  {
    bug: 'a shared budget that let one payment too many pass',
    complaint: 'overspent',
    plant: (spoiled) => {
      const budget = spoiled.content.budgets[0] ?? assert.fail('there is a budget')
      const hold = spoiled.paidHold()
      spoiled.mandateOf(hold).budgetId = budget.id
      hold.budgetPath = [budget.id]
      budget.maxMicro = 1n
    },
  },
  {
    bug: 'a limit that refused what fits',
    complaint: 'failure unexplained',
    plant: (spoiled) => {
      const { call } = spoiled.answered('denied', ({ code }) => code === 'velocity_limit_exceeded')
      const { mandateId } = call.request as { mandateId: string }
      const mandate = spoiled.content.mandates.find(({ id }) => id === mandateId)
      assert.ok(mandate)
      mandate.limitMicro = mandate.maxTotalMicro * 2n
    },
  },
  {
    bug: 'a shared budget that refused what fits',
    complaint: 'failure unexplained',
    plant: (spoiled) => {
      spoiled.answered('denied', ({ code }) => code === 'shared_budget_exceeded')
      for (const budget of spoiled.content.budgets) budget.maxMicro *= 1_000n
    },
  },
  {
    bug: 'a limit that counts something else than its payments',
    complaint: 'sums differ',
    plant: ({ content }) => {
      content.limitFaults.push({ subjectId: content.mandates[0]?.id ?? '', fault: 'it counts too much' })
    },
  },
  {
    bug: 'a missed release: a hold that ended without releasing its amount',
    complaint: 'sums differ',
    plant: (spoiled) => {
      const hold = spoiled.hold(isExpiredHold)
      spoiled.mandateOf(hold).heldMicro += hold.amountMicro
    },
  },
  {
    bug: 'an expired hold that no sweep ended',
    complaint: 'hold not released',
    plant: (spoiled) => {
      const longAgoMs = spoiled.content.sweptUntilMs - sweptWithinMs
      spoiled.reopen(spoiled.hold((hold) => isExpiredHold(hold) && hold.expiresAtMs < longAgoMs))
    },
  },
  {
    bug: 'a hold that a revocation left open',
    complaint: 'hold not released',
    plant: (spoiled) => spoiled.reopen(spoiled.revokedHold().hold),
  },
  {
    bug: 'a hold that expired too early',
    complaint: 'hold ended early',
    plant: (spoiled) => {
      // No late verification has ended it.
      const { dossier } = spoiled
      const isUntouched = (hold: HoldContent) => dossier.expiresFromMs(hold) >= hold.expiresAtMs
      spoiled.hold((hold) => isExpiredHold(hold) && isUntouched(hold)).expiresAtMs =
        spoiled.content.readAtMs + 1
    },
  },
  {
    bug: 'a hold that was voided although its mandate was not stopped',
    complaint: 'hold ended early',
    plant: (spoiled) => {
      const { dossier } = spoiled
      const isStopped = (mandateId: string) => dossier.stopsOf(mandateId).length > 0
      spoiled.hold((hold) => isExpiredHold(hold) && !isStopped(hold.mandateId)).status = 'voided'
    },
  },
  {
    bug: 'a double capture: one proof, two payments',
    complaint: 'charged twice',
    plant: (spoiled) => {
      const hold = spoiled.paidHold()
      const again = { ...spoiled.paymentOf(hold), id: 'transaction_again' }
      spoiled.content.transactions.push(again)
      spoiled.content.events.push({ type: 'payment.verified', subjectId: again.id, nonce: hold.nonce })
      spoiled.mandateOf(hold).spentMicro += again.amountMicro
    },
  },
  {
    bug: 'a retry that was told it was the first attempt',
    complaint: 'charged twice',
    plant: (spoiled) => (spoiled.replay().answer.isReplay = false),
  },
  {
    bug: 'a lost transaction: a payment without its row',
    complaint: 'charge lost',
    plant: (spoiled) => {
      const { id } = spoiled.paymentOf(spoiled.paidHold())
      spoiled.removeTransactions((row) => row.id === id)
    },
  },
  {
    bug: 'a payment that was acknowledged and rolled back whole',
    complaint: 'charge lost',
    plant: (spoiled) => spoiled.rollBack(spoiled.paidHold()),
  },
  {
    bug: 'a charge without a request',
    complaint: 'charge unexplained',
    plant: (spoiled) => {
      const hold = spoiled.paidHold()
      spoiled.removeCalls((call) => isAbout(call, hold))
    },
  },
  {
    bug: 'a charge that was made but answered with a failure',
    complaint: 'untrue failure',
    plant: (spoiled) => {
      const hold = spoiled.paidHold()
      const first = spoiled.firstVerification(hold)
      spoiled.removeCalls((call) => call !== first && isAbout(call, hold))
      first.answer = { is: 'failed', reason: 'proof_expired' }
    },
  },
  {
    bug: 'a retry that was told nonce_reused',
    complaint: 'untrue failure',
    plant: (spoiled) => (spoiled.replay().call.answer = { is: 'failed', reason: 'nonce_reused' }),
  },
  {
    bug: 'a charge whose collector keeps retrying and never gets an answer',
    complaint: 'charge untold',
    plant: (spoiled) => {
      const hold = spoiled.paidHold()
      for (const call of spoiled.calls) if (isAbout(call, hold)) call.answer = { is: 'unavailable' }
    },
  },
  {
    bug: 'a replay that names another transaction',
    complaint: 'answers differ',
    plant: (spoiled) => (spoiled.replay().answer.transactionId = 'transaction_other'),
  },
  {
    bug: 'a replay for a merchant that did not collect',
    complaint: 'untrue success',
    plant: (spoiled) => {
      const { call, nonce } = spoiled.reuse()
      call.answer = { is: 'verified', transactionId: spoiled.paymentOf({ nonce }).id, isReplay: true }
    },
  },
  {
    bug: 'an acknowledgement that was sent before its charge was made',
    complaint: 'untrue success',
    plant: (spoiled) => {
      const hold = spoiled.paidHold()
      spoiled.paymentOf(hold).createdAtMs = spoiled.firstVerification(hold).endedMs + 1
    },
  },
  {
    bug: 'a budget that is overspent by one millionth',
    complaint: 'overspent',
    plant: (spoiled) => {
      const mandate = spoiled.mandateOf(spoiled.paidHold())
      mandate.maxTotalMicro = mandate.spentMicro + mandate.heldMicro - 1n
    },
  },
  {
    bug: 'two concurrent proofs where only one fits, both of which have ended later',
    complaint: 'overspent',
    plant: (spoiled) => {
      const hold = spoiled.hold(
        ({ nonce, status }) => status === 'expired' && spoiled.dossier.grants.has(nonce),
      )
      const call = spoiled.dossier.grants.get(hold.nonce)
      assert.ok(call)
      spoiled.content.holds.push({ ...hold, nonce: 'nonce_twin' })
      spoiled.calls.push({ ...call, answer: { is: 'granted', nonce: 'nonce_twin' } })
      spoiled.mandateOf(hold).maxTotalMicro = 2n * hold.amountMicro - 1n
    },
  },
  {
    bug: 'an approval of more than is left',
    complaint: 'overspent',
    plant: (spoiled) => {
      const { dossier } = spoiled
      const { call } = spoiled.answered('approved', (_answer, { request, beganMs }) => {
        const payments = request.act === 'evaluate' ? dossier.paymentsUnder(request.mandateId) : []
        return payments.some(({ nonce }) => dossier.chargedSinceMs(nonce ?? '') < beganMs)
      })
      assert(call.request.act === 'evaluate')
      call.request.amountMicro = spoiled.mandateOf(call.request).maxTotalMicro
    },
  },
  {
    bug: 'a refusal for lack of budget although the payment fits',
    complaint: 'failure unexplained',
    plant: (spoiled) => {
      const hold = spoiled.paidHold()
      spoiled.mandateOf(hold).maxTotalMicro *= 10n
      const { beganMs, endedMs, keyId, request } = spoiled.answered('granted').call
      assert(request.act === 'ask-proof')
      const answer = { is: 'denied', code: 'total_budget_exceeded' } as const
      spoiled.calls.push({
        beganMs,
        endedMs,
        keyId,
        request: { ...request, mandateId: hold.mandateId },
        answer,
      })
    },
  },
  {
    bug: 'a proof that is wrongly reported as expired',
    complaint: 'failure unexplained',
    plant: (spoiled) => (spoiled.reuse().call.answer = { is: 'failed', reason: 'proof_expired' }),
  },
  {
    bug: 'a working key that is refused',
    complaint: 'failure unexplained',
    plant: (spoiled) => (spoiled.answered('mandate').call.answer = { is: 'unauthorized' }),
  },
  {
    bug: 'a proof without its hold',
    complaint: 'hold lost',
    plant: (spoiled) => (spoiled.answered('granted').answer.nonce = 'nonce_lost'),
  },
  {
    bug: 'a hold without a request',
    complaint: 'hold unexplained',
    plant: (spoiled) => {
      const hold = spoiled.hold(({ status }) => status === 'expired')
      spoiled.content.holds.push({ ...hold, nonce: 'nonce_of_nobody', amountMicro: 1n })
    },
  },
  {
    bug: 'a hold that was captured after it had expired',
    complaint: 'captured after expiry',
    plant: (spoiled) => spoiled.moveCharge(spoiled.paidHold(), spoiled.paidHold().expiresAtMs),
  },
  {
    bug: 'a proof that was captured after its window had closed',
    complaint: 'captured after expiry',
    plant: (spoiled) =>
      spoiled.moveCharge(spoiled.paidHold(), spoiled.paidHold().expiresAtMs - holdGraceMs + 1),
  },
  {
    bug: 'a charge after the revocation was answered',
    complaint: 'success after stop',
    plant: (spoiled) => {
      const { hold, revocation } = spoiled.revokedHold()
      const paid = spoiled.paidHold()
      spoiled.moveCharge(paid, revocation.endedMs + 1)
      paid.mandateId = spoiled.paymentOf(paid).mandateId = hold.mandateId
    },
  },
  {
    bug: 'a proof after the revocation was answered',
    complaint: 'success after stop',
    plant: (spoiled) => {
      const { hold, revocation } = spoiled.revokedHold()
      const { call } = spoiled.answered('granted', (_answer, { request }) => {
        return request.act === 'ask-proof' && request.mandateId === hold.mandateId
      })
      Object.assign(call, { beganMs: revocation.endedMs + 1, endedMs: revocation.endedMs + 10 })
    },
  },
  {
    bug: 'a revoked key that still works',
    complaint: 'success after stop',
    plant: (spoiled) => {
      const { call } = spoiled.answered('done', (_answer, { request }) => request.act === 'revoke-key')
      assert(call.request.act === 'revoke-key')
      spoiled.answered('failed', (_answer, { beganMs }) => beganMs > call.endedMs).call.keyId =
        call.request.keyId
    },
  },
  {
    bug: 'a payment without its event',
    complaint: 'event missing',
    plant: (spoiled) => spoiled.removeEvents(spoiled.paymentOf(spoiled.paidHold()).id),
  },
  {
    bug: 'a payment with two events',
    complaint: 'event unexplained',
    plant: (spoiled) => {
      const { id, nonce } = spoiled.paymentOf(spoiled.paidHold())
      spoiled.content.events.push({ type: 'payment.verified', subjectId: id, nonce })
    },
  },
  {
    bug: 'a revocation that was acknowledged and forgotten',
    complaint: 'record lost',
    plant: (spoiled) => (spoiled.mandateOf(spoiled.revokedHold().hold).status = 'active'),
  },
  {
    bug: 'a pause that was acknowledged and forgotten',
    complaint: 'record lost',
    plant: (spoiled) => {
      const { dossier } = spoiled
      const { call } = spoiled.answered('done', (_answer, pause) => {
        if (pause.request.act !== 'pause-mandate') return false
        const moves = dossier.movesOf(pause.request.mandateId)
        return moves.every((move) => isDone(move) && move.request.act !== 'revoke-mandate')
      })
      assert(call.request.act === 'pause-mandate')
      const { mandateId } = call.request
      spoiled.removeCalls(
        ({ request }) => request.act === 'resume-mandate' && request.mandateId === mandateId,
      )
    },
  },
  {
    bug: 'an evaluation that was answered and not recorded',
    complaint: 'record lost',
    plant: (spoiled) => {
      const { answer } = spoiled.answered('approved')
      spoiled.removeTransactions(({ id }) => id === answer.transactionId)
    },
  },
  {
    bug: 'a payment without a copy for the payee',
    complaint: 'record lost',
    plant: (spoiled) => spoiled.removeTransactions(({ side }) => side === 'payee'),
  },
  {
    bug: 'a revoked agent that no request revoked',
    complaint: 'record unexplained',
    plant: (spoiled) => {
      const agent = spoiled.content.agents.find(({ status }) => status === 'active')
      assert.ok(agent)
      agent.status = 'revoked'
      spoiled.removeCalls(({ request }) => request.act === 'revoke-agent' && request.agentId === agent.id)
    },
  },
  {
    bug: 'a payment with another amount than its hold',
    complaint: 'record differs',
    plant: (spoiled) => (spoiled.paymentOf(spoiled.paidHold()).amountMicro += 1n),
  },
  {
    bug: 'a mandate that was read without an acknowledged payment',
    complaint: 'untrue read',
    plant: (spoiled) => {
      const { answer } = spoiled.answered('mandate', ({ spentMicro }) => spentMicro > 5_000_000n)
      answer.spentMicro = 0n
    },
  },
  {
    bug: 'a proof that was reported as open after its payment was acknowledged',
    complaint: 'untrue read',
    plant: (spoiled) => {
      const { dossier } = spoiled
      const { answer } = spoiled.answered('proof', (_answer, { beganMs, request }) => {
        return request.act === 'look-up' && dossier.chargedSinceMs(request.nonce) < beganMs
      })
      answer.status = 'open'
    },
  },
  {
    bug: 'a proof that was granted while all mandates were stopped',
    complaint: 'success after stop',
    isGoverned: true,
    plant: (spoiled) => {
      const { hold, stop } = spoiled.stoppedHold()
      spoiled.removeCalls(({ request }) => ['undo-stop', 'resume-mandate'].includes(request.act))
      const call = spoiled.dossier.grants.get(hold.nonce)
      assert.ok(call)
      Object.assign(call, { beganMs: stop.endedMs + 1, endedMs: stop.endedMs + 10 })
    },
  },
  {
    bug: 'a mandate that a stop of all left active',
    complaint: 'record lost',
    isGoverned: true,
    plant: (spoiled) => {
      const { hold } = spoiled.stoppedHold()
      spoiled.removeCalls(({ request }) =>
        ['undo-stop', 'resume-mandate', 'pause-mandate'].includes(request.act),
      )
      const last = spoiled.calls.findLast(({ request }) => request.act === 'stop-all')
      assert.ok(last)
      spoiled.removeCalls((call) => call !== last && call.request.act === 'stop-all')
      last.answer = { is: 'done' }
      spoiled.mandateOf(hold).status = 'active'
    },
  },
  {
    bug: 'a hold that a stop of all left open',
    complaint: 'hold not released',
    isGoverned: true,
    plant: (spoiled) => spoiled.reopen(spoiled.stoppedHold().hold),
  },
  {
    bug: 'a proof that was charged after it was voided',
    complaint: 'success after stop',
    plant: (spoiled) => {
      const hold = spoiled.paidHold()
      const first = spoiled.firstVerification(hold)
      spoiled.calls.push({
        keyId: 'owner',
        request: { act: 'void-proof', nonce: hold.nonce },
        beganMs: spoiled.paymentOf(hold).createdAtMs - 2,
        endedMs: spoiled.paymentOf(hold).createdAtMs - 1,
        answer: { is: 'proof', status: 'voided', transactionId: null },
      })
      const grant = spoiled.dossier.grants.get(hold.nonce)
      assert.ok(grant)
      Object.assign(grant, { endedMs: first.beganMs - 10 })
    },
  },
  {
    bug: 'a charge while the account of the collector is disabled',
    complaint: 'success after stop',
    isGoverned: true,
    plant: (spoiled) => chargeWhile(spoiled, 'disable-collector', 'enable-collector'),
  },
  {
    bug: 'a charge after the domain of the collector was released',
    complaint: 'success after stop',
    isGoverned: true,
    plant: (spoiled) => chargeWhile(spoiled, 'release-domain', 'register-seller'),
  },
  {
    bug: 'a collector that is refused although its domain was never released',
    complaint: 'failure unexplained',
    isGoverned: true,
    plant: (spoiled) => {
      spoiled.removeCalls(({ request }) => request.act === 'release-domain')
      collected(spoiled).answer = { is: 'conflict', detail: 'seller_not_yours' }
    },
  },
  {
    bug: 'a denied proof that is not counted',
    complaint: 'record lost',
    plant: (spoiled) => (spoiled.content.denials = []),
  },
  {
    bug: 'a request that triggered a bug',
    complaint: 'broken answer',
    plant: (spoiled) =>
      (spoiled.answered('mandate').call.answer = { is: 'broken', text: '500 internal_error' }),
  },
  {
    bug: 'an authorized payment whose amount is not reserved',
    complaint: 'sums differ',
    plant: (spoiled) => {
      const hold = spoiled.hold(({ captureDeadlineMs }) => captureDeadlineMs !== null)
      spoiled.mandateOf(hold).authorizedMicro += 1n
    },
  },
  {
    bug: 'an authorized payment that outlives its deadline',
    complaint: 'hold not released',
    plant: (spoiled) => {
      const hold = spoiled.hold(
        ({ status, captureDeadlineMs }) => status === 'expired' && captureDeadlineMs !== null,
      )
      hold.status = 'authorized'
      hold.captureDeadlineMs = spoiled.content.sweptUntilMs - sweptWithinMs - 1
    },
  },
  {
    bug: 'an authorized payment that was captured after its deadline',
    complaint: 'captured after expiry',
    plant: (spoiled) => {
      const hold = spoiled.hold(isCapturedInSteps)
      hold.captureDeadlineMs = spoiled.paymentOf(hold).createdAtMs
    },
  },
  {
    bug: 'an authorized payment that a stop has ended',
    complaint: 'hold ended early',
    plant: (spoiled) => {
      const { dossier } = spoiled
      const hold = spoiled.hold(
        (one) => isCapturedInSteps(one) && dossier.actsOf(one.nonce, 'void-authorized').length === 0,
      )
      Object.assign(hold, { status: 'voided', transactionId: null })
    },
  },
  {
    bug: 'an authorization that was acknowledged and is not there',
    complaint: 'record lost',
    plant: (spoiled) => {
      const { call } = spoiled.answered('authorized')
      const { request } = call
      const hold = spoiled.hold(({ nonce }) => request.act === 'authorize' && nonce === request.nonce)
      hold.captureDeadlineMs = null
    },
  },
  {
    bug: 'a capture with another amount than requested',
    complaint: 'charge unexplained',
    plant: (spoiled) => (spoiled.paymentOf(spoiled.hold(isCapturedInSteps)).amountMicro += 1n),
  },
  {
    bug: 'refunds above the payment',
    complaint: 'overspent',
    plant: (spoiled) => (spoiled.refund().amountMicro += 2_000_000n),
  },
  {
    bug: 'a refund that was acknowledged and is not there',
    complaint: 'record lost',
    plant: (spoiled) => {
      const { answer } = spoiled.answered('refunded')
      spoiled.removeTransactions(({ id }) => id === answer.refundId)
    },
  },
  {
    bug: 'a refund without a request',
    complaint: 'record unexplained',
    plant: (spoiled) => {
      const refund = spoiled.refund()
      spoiled.removeCalls(({ request }) => request.act === 'refund')
      spoiled.content.events.push({ type: 'payment.refunded', subjectId: refund.id, nonce: null })
    },
  },
  {
    bug: 'a payment that needed approval and used none',
    complaint: 'not approved',
    plant: (spoiled) => (spoiled.consumed().nonce = null),
  },
  {
    bug: 'a payment that used an approval of a smaller amount',
    complaint: 'not approved',
    plant: (spoiled) => (spoiled.consumed().amountMicro = 1n),
  },
  {
    bug: 'a payment with an approval that no person gave',
    complaint: 'not approved',
    plant: (spoiled) => {
      const { id } = spoiled.consumed()
      spoiled.removeCalls(({ request }) => request.act === 'decide' && request.approvalId === id)
    },
  },
  {
    bug: 'a denial that was acknowledged and is not there',
    complaint: 'record differs',
    plant: (spoiled) => {
      const { call } = spoiled.answered('decided', ({ status }) => status === 'denied')
      const { request } = call
      const denied = spoiled.content.approvals.find(
        ({ id }) => request.act === 'decide' && id === request.approvalId,
      )
      Object.assign(denied ?? {}, { status: 'approved' })
    },
  },
  {
    bug: 'an amendment that was acknowledged and is not there',
    complaint: 'record lost',
    plant: (spoiled) => {
      const { answer } = spoiled.answered('amended', ({ version }) => version > 1)
      const kept = spoiled.content.versions.filter(({ version }) => version !== answer.version)
      spoiled.content.versions = kept
    },
  },
]

function collected(spoiled: Spoiled): Spoiled['calls'][number] {
  return spoiled.answered('verified', ({ isReplay }, { request }) => {
    return !isReplay && request.act === 'verify' && request.domain === collectorDomain
  }).call
}

/** Lets the collector be paid between a call that forbids it and the one that allows it again. */
function chargeWhile(
  spoiled: Spoiled,
  closing: 'disable-collector' | 'release-domain',
  opening: 'enable-collector' | 'register-seller',
): void {
  const { call } = spoiled.answered('done', (_answer, { request }) => request.act === closing)
  spoiled.removeCalls(({ request }) => request.act === opening)
  Object.assign(collected(spoiled), { beganMs: call.endedMs + 1, endedMs: call.endedMs + 10 })
}
