import assert from 'node:assert/strict'

import { validityWindowMs } from '../../src/domain/proof.ts'
import { isDone } from './calls.ts'
import { Dossier, type Stop } from './dossier.ts'
import type {
  Answer,
  ApprovalContent,
  Call,
  Evidence,
  HoldContent,
  MandateContent,
  TransactionContent,
} from './history.ts'

type Writable<Value> = Value extends object ? { -readonly [Key in keyof Value]: Writable<Value[Key]> } : Value
type AnswerOf<Kind extends Answer['is']> = Writable<Extract<Answer, { readonly is: Kind }>>

/** The result of a correct ledger, to be changed into that of one with a bug. */
export class Spoiled {
  readonly evidence: Writable<Evidence>

  constructor(evidence: Evidence) {
    this.evidence = structuredClone(evidence) as Writable<Evidence>
  }

  get calls(): Writable<Call>[] {
    return this.evidence.calls
  }

  get content(): Writable<Evidence['content']> {
    return this.evidence.content
  }

  get dossier(): Dossier {
    return new Dossier(this.evidence)
  }

  /** The first call with this answer. */
  answered<Kind extends Answer['is']>(
    kind: Kind,
    isWanted: (answer: AnswerOf<Kind>, call: Call) => boolean = () => true,
  ): { readonly call: Writable<Call>; readonly answer: AnswerOf<Kind> } {
    const call = found(
      this.calls.find((one) => one.answer.is === kind && isWanted(one.answer as AnswerOf<Kind>, one)),
      kind,
    )
    return { call, answer: call.answer as AnswerOf<Kind> }
  }

  hold(isWanted: (hold: HoldContent) => boolean): Writable<HoldContent> {
    return found(this.content.holds.find(isWanted), 'hold')
  }

  /** A hold with an acknowledged payment, under a mandate that was never stopped. */
  paidHold(): Writable<HoldContent> {
    const { dossier } = this
    return this.hold(({ nonce, mandateId, status }) => {
      const isStopped = dossier.stopsOf(mandateId).length > 0
      return status === 'captured' && !isStopped && this.#findFirst(nonce) !== undefined
    })
  }

  /** A hold that certainly existed when its mandate was revoked. */
  revokedHold(): { readonly hold: Writable<HoldContent>; readonly revocation: Stop } {
    const { dossier } = this
    const revocationOf = ({ mandateId }: HoldContent) =>
      dossier.stopsOf(mandateId).find((stop) => stop.request.act === 'revoke-mandate' && isDone(stop))
    const hold = this.hold((one) => {
      const heldSinceMs = dossier.heldSinceMs(one) ?? Infinity
      return one.status === 'voided' && heldSinceMs < (revocationOf(one)?.beganMs ?? 0)
    })
    return { hold, revocation: found(revocationOf(hold), 'revocation') }
  }

  /** A hold that certainly existed when all mandates were stopped. */
  stoppedHold(): { readonly hold: Writable<HoldContent>; readonly stop: Stop } {
    const { dossier } = this
    const stopOf = (one: HoldContent) =>
      dossier
        .stopAllsOf(one.mandateId)
        .find((stop) => isDone(stop) && stop.beganMs > (dossier.heldSinceMs(one) ?? Infinity))
    const hold = this.hold(
      (one) =>
        one.status === 'voided' &&
        stopOf(one) !== undefined &&
        dossier.isOlder(one.mandateId, stopOf(one) as Stop),
    )
    return { hold, stop: found(stopOf(hold), 'stop') }
  }

  /** An approval that a payment has used. */
  consumed(): Writable<ApprovalContent> {
    return found(
      this.content.approvals.find(({ status }) => status === 'consumed'),
      'approval',
    )
  }

  mandateOf({ mandateId }: { readonly mandateId: string }): Writable<MandateContent> {
    return found(
      this.content.mandates.find(({ id }) => id === mandateId),
      'mandate',
    )
  }

  paymentOf({ nonce }: { readonly nonce: string }): Writable<TransactionContent> {
    return found(
      this.content.transactions.find((row) => row.nonce === nonce && row.side === 'payer'),
      'payment',
    )
  }

  /** The refunds of a payment, in the account that paid. */
  refund(): Writable<TransactionContent> {
    return found(
      this.content.transactions.find(({ status, side }) => status === 'refunded' && side === 'payer'),
      'refund',
    )
  }

  /** The first answered verification of a payment. */
  firstVerification({ nonce }: { readonly nonce: string }): Writable<Call> {
    return found(this.#findFirst(nonce), 'first verification')
  }

  /** The replay of a payment whose first answer also arrived. */
  replay(): { readonly call: Writable<Call>; readonly answer: AnswerOf<'verified'> } {
    return this.answered('verified', ({ isReplay }, { request }) => {
      return isReplay && request.act === 'verify' && this.#findFirst(request.nonce) !== undefined
    })
  }

  /** A refusal of a proof that another caller had used, within the proof's window. */
  reuse(): { readonly call: Writable<Call>; readonly nonce: string } {
    const { holds } = this.dossier
    const { call } = this.answered('failed', ({ reason }, { request, endedMs }) => {
      const hold = request.act === 'verify' ? holds.get(request.nonce) : undefined
      return reason === 'nonce_reused' && hold !== undefined && endedMs - hold.issuedAtMs < validityWindowMs
    })
    assert(call.request.act === 'verify')
    return { call, nonce: call.request.nonce }
  }

  /** Moves a payment, and its only request, to another time. */
  moveCharge(hold: Writable<HoldContent>, atMs: number): void {
    const first = this.firstVerification(hold)
    this.removeCalls((call) => call !== first && isAbout(call, hold))
    Object.assign(first, { beganMs: atMs, endedMs: atMs + 10 })
    this.paymentOf(hold).createdAtMs = atMs
  }

  /** Removes a payment's records as if it had never been made. */
  rollBack(hold: Writable<HoldContent>): void {
    const { id } = this.paymentOf(hold)
    this.removeTransactions((row) => row.id === id)
    this.removeEvents(id)
    this.mandateOf(hold).spentMicro -= hold.amountMicro
    Object.assign(hold, { status: 'expired', transactionId: null, capturedBy: null, idempotencyKey: null })
  }

  /** Makes a hold look as if it had never ended. */
  reopen(hold: Writable<HoldContent>): void {
    hold.status = 'open'
    this.mandateOf(hold).heldMicro += hold.amountMicro
  }

  removeCalls(isUnwanted: (call: Call) => boolean): void {
    this.evidence.calls = this.calls.filter((call) => !isUnwanted(call))
  }

  removeTransactions(isUnwanted: (row: TransactionContent) => boolean): void {
    this.content.transactions = this.content.transactions.filter((row) => !isUnwanted(row))
  }

  removeEvents(subject: string): void {
    this.content.events = this.content.events.filter(({ subjectId }) => subjectId !== subject)
  }

  #findFirst(nonce: string): Writable<Call> | undefined {
    return this.calls.find(
      (call) => isAbout(call, { nonce }) && call.answer.is === 'verified' && !call.answer.isReplay,
    )
  }
}

/** Whether a call is a verification of the proof. */
export function isAbout({ request }: Call, { nonce }: { readonly nonce: string }): boolean {
  return request.act === 'verify' && request.nonce === nonce
}

function found<Value>(value: Value | undefined, what: string): Value {
  return value ?? assert.fail(`the run has no ${what} of this kind`)
}
