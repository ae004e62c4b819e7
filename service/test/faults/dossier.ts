import { validityWindowMs } from '../../src/domain/proof.ts'
import { callsOf, isDone, isVerified, latestMs, mayHaveActed, possibleDuring } from './calls.ts'
import type {
  Call,
  CallOf,
  Evidence,
  HoldContent,
  LedgerContent,
  MandateContent,
  MandateMove,
  Request,
  TransactionContent,
  VersionContent,
} from './history.ts'

/** A call that ends open proofs. */
export type Stop = CallOf<
  | MandateMove['act']
  | BudgetEnd['request']['act']
  | 'revoke-agent'
  | 'stop-all'
  | 'void-proof'
  | 'amend-mandate'
  | 'disable-payer'
>

type BudgetEnd = CallOf<'freeze-budget' | 'change-budget'>

type AuthorizedCall = CallOf<'authorize' | 'capture-authorized' | 'void-authorized'>

/** How long after the end of a freeze a proof may count as issued before, since clocks differ. */
const clockGapMs = 10_000

/** The evidence of a run, indexed for the checks. */
export class Dossier {
  readonly calls: readonly Call[]
  readonly content: LedgerContent
  readonly mandates: ReadonlyMap<string, MandateContent>
  readonly holds: ReadonlyMap<string, HoldContent>
  /** The payer's rows of what was paid. */
  readonly payments: readonly TransactionContent[]
  /** The calls that were granted each proof. */
  readonly grants: ReadonlyMap<string, CallOf<'ask-proof'>>
  // What several checks ask for many times, once it was asked for.
  readonly #callsOf = new Map<string, readonly Call[]>()
  readonly #stopsOf = new Map<string, readonly Stop[]>()
  readonly #undosOf = new Map<Call, readonly Call[]>()
  readonly #revokedSinceMs = new Map<string, number>()
  readonly #holdsOf: ReadonlyMap<string, HoldContent[]>
  readonly #versionsOf: ReadonlyMap<string, VersionContent[]>
  readonly #paymentsOf: ReadonlyMap<string, TransactionContent[]>
  readonly #paymentsUnder: ReadonlyMap<string, TransactionContent[]>
  /** The payer's rows of what was refunded. */
  readonly refunds: readonly TransactionContent[]
  readonly #refundsOf: ReadonlyMap<string, TransactionContent[]>
  readonly #refundsUnder: ReadonlyMap<string, TransactionContent[]>
  readonly #refundCallsOf: ReadonlyMap<string, CallOf<'refund'>[]>
  readonly #grantsOf: ReadonlyMap<string, CallOf<'ask-proof'>[]>
  /** By mandate and order. */
  readonly #asksOf: ReadonlyMap<string, CallOf<'ask-proof'>[]>
  readonly #authorizedActsOf: ReadonlyMap<string, AuthorizedCall[]>
  readonly #verificationsOf: ReadonlyMap<string, CallOf<'verify'>[]>
  readonly #movesOf: ReadonlyMap<string, CallOf<MandateMove['act']>[]>
  readonly #revocationsOf: ReadonlyMap<string, CallOf<'revoke-agent'>[]>
  readonly #voidsOf: ReadonlyMap<string, CallOf<'void-proof'>[]>
  readonly #budgetEndsOf: ReadonlyMap<string, BudgetEnd[]>
  readonly #budgetChangesOf: ReadonlyMap<string, CallOf<'change-budget'>[]>
  readonly #assignmentsOf: ReadonlyMap<string, CallOf<'assign-agent'>[]>
  readonly #amendmentsOf: ReadonlyMap<string, CallOf<'amend-mandate'>[]>
  /** The max of each shared budget, as created and at the end. */
  readonly #firstMaxMicro: ReadonlyMap<string, bigint>
  readonly #lastMaxMicro: ReadonlyMap<string, bigint>
  /** Disablings of the account that pays that may have taken effect. */
  readonly disablings: readonly CallOf<'disable-payer'>[]
  readonly #unfreezesOf: ReadonlyMap<string, CallOf<'unfreeze-budget'>[]>
  readonly #createdSince: ReadonlyMap<string, Call>
  /** Stops of all mandates, and their undos, that may have taken effect. */
  readonly stopAlls: readonly CallOf<'stop-all'>[]
  readonly undos: readonly CallOf<'undo-stop'>[]

  /** Max difference between the clocks of two services. */
  readonly skewMs: number

  constructor({ calls, content }: Evidence) {
    this.skewMs = 2 * (content.clockSkewMs ?? 0)
    this.calls = calls
    this.content = content
    this.mandates = new Map(content.mandates.map((mandate) => [mandate.id, mandate]))
    this.#versionsOf = Map.groupBy(content.versions, ({ mandateId }) => mandateId)
    this.holds = new Map(content.holds.map((hold) => [hold.nonce, hold]))
    this.payments = content.transactions.filter(({ side, status }) => side === 'payer' && status === 'paid')
    this.refunds = content.transactions.filter(
      ({ side, status }) => side === 'payer' && status === 'refunded',
    )
    this.#refundsOf = Map.groupBy(this.refunds, ({ nonce }) => nonce ?? '')
    this.#refundsUnder = Map.groupBy(this.refunds, ({ mandateId }) => mandateId)
    this.#refundCallsOf = Map.groupBy(callsOf(calls, 'refund'), ({ request }) => request.transactionId)
    const granted = callsOf(calls, 'ask-proof').filter(({ answer }) => answer.is === 'granted')
    this.#grantsOf = Map.groupBy(granted, ({ answer }) => (answer.is === 'granted' ? answer.nonce : ''))
    // An order may get its proof several times.
    this.grants = new Map(
      [...this.#grantsOf].map(([nonce, same]) => [
        nonce,
        same.reduce((a, b) => (b.endedMs < a.endedMs ? b : a)),
      ]),
    )
    this.#asksOf = Map.groupBy(
      callsOf(calls, 'ask-proof').filter(({ request }) => request.orderId !== undefined),
      ({ request }) => `${request.mandateId} ${request.orderId}`,
    )
    this.#authorizedActsOf = Map.groupBy(
      callsOf(calls, 'authorize', 'capture-authorized', 'void-authorized'),
      ({ request }) => request.nonce,
    )
    this.#holdsOf = Map.groupBy(content.holds, ({ mandateId }) => mandateId)
    this.#paymentsOf = Map.groupBy(this.payments, ({ nonce }) => nonce ?? '')
    this.#paymentsUnder = Map.groupBy(this.payments, ({ mandateId }) => mandateId)
    this.#verificationsOf = Map.groupBy(callsOf(calls, 'verify'), ({ request }) => request.nonce)
    const moves = callsOf(calls, 'pause-mandate', 'resume-mandate', 'revoke-mandate').filter(mayHaveActed)
    this.#movesOf = Map.groupBy(moves, ({ request }) => request.mandateId)
    const voids = callsOf(calls, 'void-proof').filter(mayHaveActed)
    this.#voidsOf = Map.groupBy(voids, ({ request }) => request.nonce)
    const budgetChanges = callsOf(calls, 'change-budget').filter(mayHaveActed)
    const budgetEnds = [
      ...callsOf(calls, 'freeze-budget').filter(mayHaveActed),
      ...budgetChanges.filter(({ request }) => request.endsHolds),
    ]
    this.#budgetEndsOf = Map.groupBy<string, BudgetEnd>(budgetEnds, ({ request }) => request.budgetId)
    this.#budgetChangesOf = Map.groupBy(budgetChanges, ({ request }) => request.budgetId)
    const assignments = callsOf(calls, 'assign-agent').filter(mayHaveActed)
    this.#assignmentsOf = Map.groupBy(assignments, ({ request }) => request.agentId)
    const amendments = callsOf(calls, 'amend-mandate').filter(
      (call) => call.request.endsHolds === true && mayHaveActed(call),
    )
    this.#amendmentsOf = Map.groupBy(amendments, ({ request }) => request.mandateId)
    this.#firstMaxMicro = new Map(
      callsOf(calls, 'create-budget').flatMap(({ answer, request }) =>
        answer.is === 'created' ? [[answer.id, request.maxMicro] as const] : [],
      ),
    )
    this.#lastMaxMicro = new Map(content.budgets.map(({ id, maxMicro }) => [id, maxMicro]))
    this.disablings = callsOf(calls, 'disable-payer').filter(mayHaveActed)
    this.#unfreezesOf = Map.groupBy(callsOf(calls, 'unfreeze-budget'), ({ request }) => request.budgetId)
    this.stopAlls = callsOf(calls, 'stop-all').filter(mayHaveActed)
    this.undos = callsOf(calls, 'undo-stop').filter(mayHaveActed)
    const created = callsOf(calls, 'create-mandate')
    this.#createdSince = new Map(
      created.flatMap((call) => (call.answer.is === 'created' ? [[call.answer.id, call] as const] : [])),
    )
    const revocations = callsOf(calls, 'revoke-agent').filter(mayHaveActed)
    this.#revocationsOf = Map.groupBy(revocations, ({ request }) => request.agentId)
  }

  callsOf<Act extends Request['act']>(...acts: Act[]): readonly CallOf<Act>[] {
    const name = acts.join()
    const known = this.#callsOf.get(name) ?? callsOf(this.calls, ...acts)
    this.#callsOf.set(name, known)
    return known as readonly CallOf<Act>[]
  }

  /** The minimum and maximum that the terms of a mandate ever allowed. */
  boundsOf({ id, maxTotalMicro, maxPaymentMicro }: MandateContent) {
    const all = [{ maxTotalMicro, maxPaymentMicro }, ...this.versionsOf(id)]
    const totals = all.map((terms) => terms.maxTotalMicro)
    const payments = all.map((terms) => terms.maxPaymentMicro)
    return {
      leastTotalMicro: least(totals),
      mostTotalMicro: most(totals),
      leastPaymentMicro: least(payments),
    }
  }

  versionsOf(mandateId: string): readonly VersionContent[] {
    return this.#versionsOf.get(mandateId) ?? []
  }

  holdsOf(mandateId: string): readonly HoldContent[] {
    return this.#holdsOf.get(mandateId) ?? []
  }

  paymentsOf(nonce: string): readonly TransactionContent[] {
    return this.#paymentsOf.get(nonce) ?? []
  }

  paymentsUnder(mandateId: string): readonly TransactionContent[] {
    return this.#paymentsUnder.get(mandateId) ?? []
  }

  refundsOf(nonce: string): readonly TransactionContent[] {
    return this.#refundsOf.get(nonce) ?? []
  }

  refundsUnder(mandateId: string): readonly TransactionContent[] {
    return this.#refundsUnder.get(mandateId) ?? []
  }

  /** The calls that wanted to refund a transaction. */
  refundCallsOf(transactionId: string): readonly CallOf<'refund'>[] {
    return this.#refundCallsOf.get(transactionId) ?? []
  }

  /** Every call that was granted a proof. */
  grantsOf(nonce: string): readonly CallOf<'ask-proof'>[] {
    return this.#grantsOf.get(nonce) ?? []
  }

  /** The calls of one kind about a payment in two steps. */
  actsOf<Act extends AuthorizedCall['request']['act']>(nonce: string, act: Act): readonly CallOf<Act>[] {
    return callsOf(this.#authorizedActsOf.get(nonce) ?? [], act)
  }

  verificationsOf(nonce: string): readonly CallOf<'verify'>[] {
    return this.#verificationsOf.get(nonce) ?? []
  }

  /** Pauses, resumes and revocations that may have changed the mandate. */
  movesOf(mandateId: string): readonly CallOf<MandateMove['act']>[] {
    return this.#movesOf.get(mandateId) ?? []
  }

  revocationsOfAgent(agentId: string): readonly CallOf<'revoke-agent'>[] {
    return this.#revocationsOf.get(agentId) ?? []
  }

  /** Stops of all mandates that may have paused this one. */
  stopAllsOf(mandateId: string): readonly CallOf<'stop-all'>[] {
    const sinceMs = this.#createdSince.get(mandateId)?.beganMs ?? 0
    return this.stopAlls.filter((stop) => latestMs(stop) >= sinceMs)
  }

  /** Freezes of a shared budget that may have taken effect. */
  freezesOf(budgetId: string): readonly CallOf<'freeze-budget'>[] {
    return callsOf(this.#budgetEndsOf.get(budgetId) ?? [], 'freeze-budget')
  }

  unfreezesOf(budgetId: string): readonly CallOf<'unfreeze-budget'>[] {
    return this.#unfreezesOf.get(budgetId) ?? []
  }

  budgetChangesOf(budgetId: string): readonly CallOf<'change-budget'>[] {
    return this.#budgetChangesOf.get(budgetId) ?? []
  }

  /** The limits that a shared budget may have had at some moment of a call. */
  limitOfBudget(budgetId: string, during: Pick<Call, 'beganMs' | 'endedMs'>) {
    const known = this.budgetChangesOf(budgetId)
    const { changes, isFirst } = possibleDuring(known, during)
    const created = known.length > 0 ? this.#firstMaxMicro : this.#lastMaxMicro
    const first = { maxMicro: created.get(budgetId) ?? 0n, window: 'lifetime' }
    const limits = [...(isFirst ? [first] : []), ...changes.map(({ request }) => request)]
    const maxes = limits.map(({ maxMicro }) => maxMicro)
    return {
      leastMicro: least(maxes),
      mostMicro: most(maxes),
      windows: new Set(limits.map(({ window }) => window)),
    }
  }

  /** The shared budgets that a proof under a mandate counted in, at each or at some moment of a call. */
  budgetsOf(mandateId: string, during: Pick<Call, 'beganMs' | 'endedMs'>) {
    const { agentId = '', budgetId = null } = this.mandates.get(mandateId) ?? {}
    const own = budgetId === null ? [] : [budgetId]
    const { changes, isFirst } = possibleDuring(this.#assignmentsOf.get(agentId) ?? [], during)
    const ofAgent = changes.map(({ request }) => request.budgetId)
    const [only] = ofAgent
    const isSure = !isFirst && ofAgent.every((id) => id === only)
    return {
      sure: new Set([...own, ...(isSure && only ? [only] : [])]),
      possible: new Set([...own, ...ofAgent.flatMap((id) => id ?? [])]),
    }
  }

  assignmentsOf(mandateId: string): readonly CallOf<'assign-agent'>[] {
    return this.#assignmentsOf.get(this.mandates.get(mandateId)?.agentId ?? '') ?? []
  }

  /** Everything that may have ended open proofs under a mandate with a shared budget in which they need not count. */
  budgetEndsAround(mandateId: string): readonly Call[] {
    const { possible } = this.budgetsOf(mandateId, { beganMs: -Infinity, endedMs: Infinity })
    return [...possible].flatMap((id) => [...(this.#budgetEndsOf.get(id) ?? []), ...this.unfreezesOf(id)])
  }

  /** Whether the mandate certainly existed when a stop began. */
  isOlder(mandateId: string, stop: Call): boolean {
    return (this.#createdSince.get(mandateId)?.endedMs ?? Infinity) < stop.beganMs
  }

  /** Everything that ended a hold early, if it took effect while the hold was open. */
  endsOf({
    nonce,
    mandateId,
    budgetPath,
  }: Pick<HoldContent, 'nonce' | 'mandateId' | 'budgetPath'>): readonly Stop[] {
    return [
      ...this.stopsOf(mandateId),
      ...(this.#voidsOf.get(nonce) ?? []),
      ...(budgetPath ?? []).flatMap((id) => this.#budgetEndsOf.get(id) ?? []),
    ]
  }

  /** Everything that may have ended a hold early, also with a budget of other proofs of its mandate. */
  perhapsEndsOf(hold: Pick<HoldContent, 'nonce' | 'mandateId' | 'budgetPath'>): readonly Call[] {
    return [...this.endsOf(hold), ...this.budgetEndsAround(hold.mandateId)]
  }

  /** Everything that may have ended the mandate's open holds. */
  stopsOf(mandateId: string): readonly Stop[] {
    const known = this.#stopsOf.get(mandateId)
    if (known) return known
    const stops: Stop[] = this.movesOf(mandateId).filter(({ request }) => request.act !== 'resume-mandate')
    stops.push(
      ...this.stopAllsOf(mandateId),
      ...(this.#amendmentsOf.get(mandateId) ?? []),
      ...this.disablings,
    )
    stops.push(...this.revocationsOfAgent(this.mandates.get(mandateId)?.agentId ?? ''))
    this.#stopsOf.set(mandateId, stops)
    return stops
  }

  /** The undos that may resume what a stop paused: its own, those of all stops, and those of a later stop. */
  undosOf(stop: CallOf<'stop-all'>): readonly Call[] {
    const known = this.#undosOf.get(stop)
    if (known) return known
    const undos = this.undos.filter(({ request: { name } }) => {
      if (name === null || name === stop.request.name) return true
      return this.stopAlls.some((other) => other.request.name === name && latestMs(other) >= stop.beganMs)
    })
    this.#undosOf.set(stop, undos)
    return undos
  }

  /** The time from which the mandate, or its agent, is certainly revoked. */
  revokedSinceMs(mandateId: string): number {
    const known = this.#revokedSinceMs.get(mandateId)
    if (known !== undefined) return known
    const revocations = this.stopsOf(mandateId).filter(
      ({ request }) => request.act === 'revoke-mandate' || request.act === 'revoke-agent',
    )
    const sinceMs = Math.min(...revocations.filter(isDone).map(({ endedMs }) => endedMs))
    this.#revokedSinceMs.set(mandateId, sinceMs)
    return sinceMs
  }

  /** The first moment at which the hold may have expired: a late verification, or request for its order, ends it early. */
  expiresFromMs({ nonce, issuedAtMs, expiresAtMs, ...order }: HoldContent): number {
    // A request for its order also ends a proof that has ended with another budget.
    const ends = order.orderId === null ? [] : this.otherEndsOf({ ...order, issuedAtMs })
    const closedFromMs = Math.min(
      issuedAtMs + validityWindowMs - this.skewMs,
      ...ends.map(({ beganMs }) => Math.max(issuedAtMs, beganMs)),
    )
    const attempts: readonly Call[] = [
      ...this.verificationsOf(nonce),
      ...this.actsOf(nonce, 'authorize'),
      ...this.asksOf(order),
    ]
    const late = attempts.filter((call) => latestMs(call) > closedFromMs)
    return Math.min(expiresAtMs - this.skewMs, ...late.map(({ beganMs }) => Math.max(beganMs, closedFromMs)))
  }

  /** Everything that may have ended a proof with a shared budget in which it need not count. */
  otherEndsOf({ mandateId, issuedAtMs }: Pick<HoldContent, 'mandateId' | 'issuedAtMs'>): readonly Call[] {
    return this.budgetEndsAround(mandateId).filter(
      (end) => latestMs(end) + clockGapMs + this.skewMs >= issuedAtMs,
    )
  }

  /** The requests for proofs of the order, if it is one. */
  asksOf({ mandateId, orderId }: Pick<HoldContent, 'mandateId' | 'orderId'>): readonly CallOf<'ask-proof'>[] {
    return orderId === null ? [] : (this.#asksOf.get(`${mandateId} ${orderId}`) ?? [])
  }

  /** The time from which the proof's hold certainly existed; undefined if no answer shows it. */
  heldSinceMs({ nonce }: HoldContent): number | undefined {
    return this.grants.get(nonce)?.endedMs
  }

  /** The time from which the proof was certainly charged; never if no answer shows it. */
  chargedSinceMs(nonce: string): number {
    return Math.min(
      ...[...this.verificationsOf(nonce), ...this.actsOf(nonce, 'capture-authorized')]
        .filter(isVerified)
        .map(({ endedMs }) => endedMs),
    )
  }
}

function least(amounts: readonly bigint[]): bigint {
  return amounts.reduce((one, other) => (one < other ? one : other))
}

function most(amounts: readonly bigint[]): bigint {
  return amounts.reduce((one, other) => (one > other ? one : other))
}
