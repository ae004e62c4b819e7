import { setImmediate } from 'node:timers/promises'

import type { NotJudgedReason } from '@purser/wire/mandates/backtests'

import { admitsSeller, type PolicyDecision, type PolicyDenial } from '../../../domain/policy.ts'
import { addMicro, subtractMicro, type MicroUsdc } from '../../../domain/money.ts'
import type { MandateTerms } from '../../../domain/records.ts'
import type {
  BacktestExample,
  BacktestFlips,
  BacktestQuestion,
  BacktestReport,
  FlipsOfCheck,
} from '../../console/backtest.ts'
import { decisionOf } from '../operations/evaluation-rows.ts'
import type { AgentRow, EvaluationRow, MandateRow, PaymentRow } from '../tables.ts'
import type { TimedEvent } from './history.ts'
import { ReplayedMandate } from './replayed-mandate.ts'

export interface Backtest extends BacktestQuestion {
  readonly mandate: MandateRow
  readonly agent: AgentRow
  /** In order, from early enough before `fromMs` that all windows are complete. */
  readonly events: readonly TimedEvent[]
  /** Whether the history ends early because it has too many records. */
  readonly isCutOff: boolean
  /** Denied proofs that were only counted. */
  readonly onlyCounted: number
}

/** How many events are replayed before payments get a turn. */
const eventsAtOnce = 50
/** The time limit of a back-test. */
const maxMs = 20_000
/** Examples of each direction. */
const maxExamples = 10

/**
 * Compares a draft's decisions with those of the current terms. The history is replayed on two mandates: one
 * has the current terms and follows what was recorded, the other has the draft and follows its own decisions.
 * A record that the first cannot reproduce is not judged, because its circumstances are not known exactly.
 */
export async function runBacktest(backtest: Backtest): Promise<BacktestReport> {
  const { events, now } = backtest
  const judge = new Judge(backtest)
  const startedMs = now()
  for (const [index, event] of events.entries()) {
    if (index % eventsAtOnce === 0) {
      await setImmediate()
      if (now() - startedMs > maxMs) return judge.report(event.atMs)
    }
    judge.next(event)
  }
  return judge.report(undefined)
}

class Judge {
  readonly #backtest: Backtest
  readonly #recorded: ReplayedMandate
  readonly #drafted: ReplayedMandate
  /** The limits of the draft. */
  readonly #terms: MandateTerms
  /** Payments that the draft denies: their later events are skipped in its replay. */
  readonly #refused = new Set<string>()
  /** Payments that are judged again when they are charged, because a proof names no seller. */
  readonly #toCharge = new Set<string>()
  /** The epoch of the last proof; a later epoch shows that all open payments have ended. */
  #epoch = 0
  #judged = 0
  readonly #toDenied = new Flips()
  readonly #toApproved = new Flips()
  readonly #notJudged = new Map<NotJudgedReason, number>()

  constructor(backtest: Backtest) {
    const { mandate, agent, draft, events, onlyCounted } = backtest
    this.#backtest = backtest
    const spentMicro = spentBefore(events)
    const drafted = { ...mandate, ...draft }
    this.#terms = drafted
    this.#recorded = new ReplayedMandate(mandate, agent, spentMicro)
    this.#drafted = new ReplayedMandate(drafted, agent, spentMicro)
    if (onlyCounted > 0) this.#notJudged.set('only_counted', onlyCounted)
  }

  next({ atMs, event }: TimedEvent): void {
    switch (event.kind) {
      case 'issued':
        return this.#issued(event.payment)
      case 'decided':
        return this.#decided(event.evaluation)
      case 'charged':
        return this.#charged(event.payment, event.amountMicro)
      case 'ended':
        this.#recorded.end(event.nonce)
        return this.#drafted.end(event.nonce)
      case 'refunded':
        this.#recorded.refund(event.payment, event.amountMicro)
        if (!event.payment || !this.#refused.has(event.payment.nonce))
          this.#drafted.refund(event.payment, event.amountMicro)
        return
      case 'stopped':
        return this.#stop(atMs, this.#epoch + 1)
      default:
        return event satisfies never
    }
  }

  #stop(atMs: number, epoch: number): void {
    this.#epoch = epoch
    this.#recorded.stop(atMs)
    this.#drafted.stop(atMs)
  }

  #issued(payment: PaymentRow): void {
    const { nonce, issuedAtMs, epoch, mandateVersion } = payment
    // Something ended all open payments, but the audit log has no entry for it under this mandate.
    if (epoch > this.#epoch) this.#stop(issuedAtMs, epoch)
    const approved = { decision: 'approved' } as const
    const alone = this.#recorded.decideProof(payment, issuedAtMs)
    // A person has approved it, and would approve it again.
    const isApproved = alone.decision === 'denied' && alone.code === 'approval_required'
    const isKnown = this.#isReproduced(mandateVersion, approved, isApproved ? approved : alone)
    const drafted = this.#drafted.decideProof(payment, issuedAtMs, isApproved)
    this.#recorded.issue(payment)
    // Records that cannot be judged are replayed on the draft as they were recorded.
    if (drafted.decision === 'approved' || isKnown !== true) this.#drafted.issue(payment)
    else this.#refused.add(nonce)
    if (!this.#isJudged(issuedAtMs, isKnown)) return
    if (drafted.decision === 'denied') this.#flip(payment, approved, drafted)
    else if (payment.transactionId !== null) this.#toCharge.add(nonce)
  }

  #charged(payment: PaymentRow, amountMicro: MicroUsdc): void {
    const { nonce } = payment
    const isJudged = this.#toCharge.delete(nonce)
    this.#recorded.charge(payment, amountMicro)
    if (this.#refused.has(nonce)) return
    if (admitsSeller(this.#terms, payment.merchantDomain ?? ''))
      return this.#drafted.charge(payment, amountMicro)
    // The seller may not collect.
    this.#drafted.end(nonce)
    this.#refused.add(nonce)
    if (isJudged) this.#flip(payment, { decision: 'approved' }, sellerDenied)
  }

  #decided(evaluation: EvaluationRow): void {
    const { createdAtMs, subject, mandateVersion, failedCheck } = evaluation
    const recorded = decisionOf(evaluation)
    // The status of the agent or the mandate does not depend on terms: these denials stand.
    if (failedCheck !== null && failedCheck <= 4) {
      if (this.#isInRange(createdAtMs)) this.#judged += 1
      return
    }
    const decide = (mandate: ReplayedMandate) =>
      subject === 'proof'
        ? mandate.decideProof(evaluation, createdAtMs)
        : mandate.decideEvaluation(evaluation)
    // Shared budgets also count other mandates.
    const isKnown =
      recorded.decision === 'denied' && recorded.check === 11
        ? 'shared_budget'
        : this.#isReproduced(mandateVersion, recorded, decide(this.#recorded))
    const drafted = decide(this.#drafted)
    if (isKnown === true && subject === 'proof' && drafted.decision === 'approved')
      this.#payAtOnce(evaluation)
    if (this.#isJudged(createdAtMs, isKnown)) this.#flip(evaluation, recorded, drafted)
  }

  /** Whether the current terms reproduce the recorded decision; earlier versions had other terms. */
  #isReproduced(
    version: number | null,
    recorded: PolicyDecision,
    replayed: PolicyDecision,
  ): true | NotJudgedReason {
    if ((version ?? 1) !== this.#backtest.mandate.version) return true
    return replayed.decision === recorded.decision ? true : 'not_reproduced'
  }

  /** Counts a record that the draft decides differently. */
  #flip(record: PaymentRow | EvaluationRow, recorded: PolicyDecision, drafted: PolicyDecision): void {
    if (recorded.decision === drafted.decision) return
    const example = exampleOf(record, recorded, drafted)
    if (drafted.decision === 'denied') this.#toDenied.add(drafted, example)
    if (recorded.decision === 'denied') this.#toApproved.add(recorded, example)
  }

  #isInRange(atMs: number): boolean {
    return atMs >= this.#backtest.fromMs && atMs < this.#backtest.toMs
  }

  /** Counts a record as judged, or as not judged with the reason. */
  #isJudged(atMs: number, isKnown: true | NotJudgedReason): boolean {
    if (!this.#isInRange(atMs)) return false
    if (isKnown === true) this.#judged += 1
    else this.#notJudged.set(isKnown, (this.#notJudged.get(isKnown) ?? 0) + 1)
    return isKnown === true
  }

  /** A denied proof that the draft approves counts as charged, because its outcome cannot be known. */
  #payAtOnce({ id: nonce, amountMicro, resourceUrl, createdAtMs }: EvaluationRow): void {
    const times = { issuedAtMs: createdAtMs, expiresAtMs: createdAtMs + 1, captureDeadlineMs: null }
    this.#drafted.issue({ nonce, amountMicro, resourceUrl, ...times })
    this.#drafted.charge({ nonce, resourceUrl }, amountMicro)
  }

  report(endedAtMs: number | undefined): BacktestReport {
    const { fromMs, toMs, events, isCutOff } = this.#backtest
    const last = events.at(-1)?.atMs ?? toMs
    return {
      fromMs,
      toMs: endedAtMs ?? (isCutOff ? Math.min(last, toMs) : toMs),
      isComplete: endedAtMs === undefined && !isCutOff,
      judged: this.#judged,
      toDenied: this.#toDenied.report(),
      toApproved: this.#toApproved.report(),
      notJudged: [...this.#notJudged].map(([reason, count]) => ({ reason, count })),
    }
  }
}

const sellerDenied = {
  decision: 'denied',
  code: 'merchant_not_allowed',
  detail: 'The seller that collected the payment is not allowed.',
  check: 6,
} as const

/** Flips in one direction, grouped by the check that makes the difference. */
class Flips {
  readonly #byCheck = new Map<string, FlipsOfCheck>()
  readonly #examples: BacktestExample[] = []

  /** The denial is the one before or after. */
  add({ check, code }: PolicyDenial, example: BacktestExample): void {
    if (this.#examples.length < maxExamples) this.#examples.push(example)
    const key = `${check} ${code}`
    const none = { check, code, evaluations: 0, payments: 0, amountMicro: 0n as MicroUsdc }
    const sum = this.#byCheck.get(key) ?? none
    const counted =
      example.kind === 'evaluation'
        ? { evaluations: sum.evaluations + 1 }
        : { payments: sum.payments + 1, amountMicro: addMicro(sum.amountMicro, example.amountMicro) }
    this.#byCheck.set(key, { ...sum, ...counted })
  }

  report(): BacktestFlips {
    const byCheck = [...this.#byCheck.values()].sort((one, other) => one.check - other.check)
    return { byCheck, examples: this.#examples }
  }
}

function exampleOf(
  record: PaymentRow | EvaluationRow,
  recorded: PolicyDecision,
  drafted: PolicyDecision,
): BacktestExample {
  const isPayment = 'nonce' in record
  const { amountText, amountMicro, resourceUrl, merchantDomain, category } = record
  return {
    kind: isPayment ? 'payment' : record.subject === 'proof' ? 'proof' : 'evaluation',
    id: isPayment ? record.transactionId : record.id,
    nonce: isPayment ? record.nonce : null,
    atMs: isPayment ? record.issuedAtMs : record.createdAtMs,
    amountText,
    amountMicro,
    resourceUrl,
    merchantDomain,
    category,
    recorded,
    drafted,
  }
}

/**
 * What had been spent when a history begins: the sum in its first record that has one, minus what was charged
 * until then.
 */
function spentBefore(events: readonly TimedEvent[]): MicroUsdc {
  let chargedMicro = 0n as MicroUsdc
  for (const { event } of events) {
    if (event.kind === 'charged') chargedMicro = addMicro(chargedMicro, event.amountMicro)
    if (event.kind === 'refunded') chargedMicro = subtractMicro(chargedMicro, event.amountMicro)
    const record = event.kind === 'decided' ? event.evaluation : event.kind === 'issued' && event.payment
    const known = record ? record.spentBeforeMicro : null
    if (known !== null) return subtractMicro(known, chargedMicro)
  }
  return 0n as MicroUsdc
}
