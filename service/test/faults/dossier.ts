import { validityWindowMs } from '../../src/domain/proof.ts'
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

/** A call that revokes or pauses something: a mandate, or its agent. */
export type Stop = CallOf<MandateMove['act'] | 'revoke-agent' | 'stop-all' | 'void-proof' | 'freeze-budget'>

type AuthorizedCall = CallOf<'authorize' | 'capture-authorized' | 'void-authorized'>

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
  readonly #freezesOf: ReadonlyMap<string, CallOf<'freeze-budget'>[]>
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
    const freezes = callsOf(calls, 'freeze-budget').filter(mayHaveActed)
    this.#freezesOf = Map.groupBy(freezes, ({ request }) => request.budgetId)
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

  /** Freezes of the mandate's shared budget that may have taken effect. */
  freezesOf(mandateId: string): readonly CallOf<'freeze-budget'>[] {
    return this.#freezesOf.get(this.mandates.get(mandateId)?.budgetId ?? '') ?? []
  }

  unfreezesOf(mandateId: string): readonly CallOf<'unfreeze-budget'>[] {
    return this.#unfreezesOf.get(this.mandates.get(mandateId)?.budgetId ?? '') ?? []
  }

  /** Whether the mandate certainly existed when a stop began. */
  isOlder(mandateId: string, stop: Call): boolean {
    return (this.#createdSince.get(mandateId)?.endedMs ?? Infinity) < stop.beganMs
  }

  /** Everything that may have ended a hold early. */
  endsOf({ nonce, mandateId }: Pick<HoldContent, 'nonce' | 'mandateId'>): readonly Stop[] {
    return [...this.stopsOf(mandateId), ...(this.#voidsOf.get(nonce) ?? [])]
  }

  /** Everything that may have ended the mandate's open holds. */
  stopsOf(mandateId: string): readonly Stop[] {
    const known = this.#stopsOf.get(mandateId)
    if (known) return known
    const stops: Stop[] = this.movesOf(mandateId).filter(({ request }) => request.act !== 'resume-mandate')
    stops.push(...this.stopAllsOf(mandateId), ...this.freezesOf(mandateId))
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
    const closedFromMs = issuedAtMs + validityWindowMs - this.skewMs
    const attempts: readonly Call[] = [
      ...this.verificationsOf(nonce),
      ...this.actsOf(nonce, 'authorize'),
      ...this.asksOf(order),
    ]
    const late = attempts.filter((call) => latestMs(call) > closedFromMs)
    return Math.min(expiresAtMs - this.skewMs, ...late.map(({ beganMs }) => Math.max(beganMs, closedFromMs)))
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

/** The last moment at which a call can have taken effect; unlimited if its outcome is unknown. */
export function latestMs({ answer, endedMs }: Call): number {
  return isFateUnknown({ answer }) ? Infinity : endedMs
}

export function isFateUnknown({ answer }: Pick<Call, 'answer'>): boolean {
  return answer.is === 'unknown' || answer.is === 'unavailable'
}

export function isDone({ answer, request }: Call): boolean {
  if (request.act === 'void-proof' || request.act === 'void-authorized')
    return answer.is === 'proof' && answer.status === 'voided'
  return answer.is === 'done'
}

export function isVerified({ answer }: Call): boolean {
  return answer.is === 'verified'
}

function mayHaveActed(call: Call): boolean {
  return isDone(call) || isFateUnknown(call)
}

function callsOf<Act extends Request['act']>(calls: readonly Call[], ...acts: Act[]): CallOf<Act>[] {
  return calls.filter((call): call is CallOf<Act> => (acts as string[]).includes(call.request.act))
}

function least(amounts: readonly bigint[]): bigint {
  return amounts.reduce((one, other) => (one < other ? one : other))
}

function most(amounts: readonly bigint[]): bigint {
  return amounts.reduce((one, other) => (one > other ? one : other))
}
