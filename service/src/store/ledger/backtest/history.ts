import type { MicroUsdc } from '../../../domain/money.ts'
import type { AuditEvent } from '../../../domain/records.ts'
import { idBytes, type IdKind } from '../../../domain/type-id.ts'
import { capturedOf } from '../operations/payment-rows.ts'
import type { EntryRow, EvaluationRow, PaymentRow } from '../tables.ts'

/** An event under a mandate, as far as it concerns decisions. */
export type HistoryEvent =
  /** A proof was issued. */
  | { readonly kind: 'issued'; readonly payment: PaymentRow }
  /** A denied proof, or an evaluation. */
  | { readonly kind: 'decided'; readonly evaluation: EvaluationRow }
  | { readonly kind: 'charged'; readonly payment: PaymentRow; readonly amountMicro: MicroUsdc }
  /** Without `payment`, the payment was charged before the history begins. */
  | {
      readonly kind: 'refunded'
      readonly payment: PaymentRow | undefined
      readonly amountMicro: MicroUsdc
    }
  /** An open or authorized payment was voided, or its capture deadline passed. */
  | { readonly kind: 'ended'; readonly nonce: string }
  /** All open payments ended at once. */
  | { readonly kind: 'stopped' }

export interface TimedEvent {
  readonly atMs: number
  /** Orders events of one millisecond by their ids. */
  readonly order: string
  readonly event: HistoryEvent
}

/** The records that make up a mandate's history. */
export interface HistoryRows {
  /** Each once. */
  readonly payments: readonly PaymentRow[]
  readonly evaluations: readonly EvaluationRow[]
  /** About ended payments: their subjects are mandates and nonces. */
  readonly endings: readonly AuditEvent[]
  /** The entries of the account that has paid. */
  readonly refunds: readonly Pick<EntryRow, 'id' | 'nonce' | 'amountMicro' | 'atMs'>[]
}

/** The events of a history, in chronological order. */
export function eventsOf({ payments, evaluations, endings, refunds }: HistoryRows): TimedEvent[] {
  const byNonce = new Map(payments.map((payment) => [payment.nonce, payment]))
  return [
    ...payments.flatMap(eventsOfPayment),
    ...evaluations.map((evaluation) => ({
      atMs: evaluation.createdAtMs,
      order: orderOf('transaction', evaluation.id),
      event: { kind: 'decided' as const, evaluation },
    })),
    ...endings.flatMap(eventsOfEnding),
    ...refunds.map(({ id, nonce, amountMicro, atMs }) => ({
      atMs,
      order: orderOf('transaction', id),
      event: { kind: 'refunded' as const, payment: byNonce.get(nonce ?? ''), amountMicro },
    })),
  ].sort((one, other) => one.atMs - other.atMs || (one.order < other.order ? -1 : 1))
}

function eventsOfPayment(payment: PaymentRow): TimedEvent[] {
  const { nonce, issuedAtMs, capturedAtMs, captureDeadlineMs, transactionId } = payment
  const events: TimedEvent[] = [
    { atMs: issuedAtMs, order: orderOf('nonce', nonce), event: { kind: 'issued', payment } },
  ]
  if (capturedAtMs !== null && transactionId !== null) {
    const amountMicro = capturedOf(payment)
    const order = orderOf('transaction', transactionId)
    events.push({ atMs: capturedAtMs, order, event: { kind: 'charged', payment, amountMicro } })
  } else if (captureDeadlineMs !== null) {
    // A deadline has passed from its first millisecond on.
    events.push({ atMs: captureDeadlineMs, order: '', event: { kind: 'ended', nonce } })
  }
  return events
}

function eventsOfEnding({ id, type, subjectId, data, createdAtMs }: AuditEvent): TimedEvent[] {
  const at = { atMs: createdAtMs, order: orderOf('auditEvent', id) }
  if (!subjectId.startsWith('mandate_')) return [{ ...at, event: { kind: 'ended', nonce: subjectId } }]
  // An amendment ends open payments only on request.
  const isStop = type !== 'mandate.amended' || Number(data['voided_holds'] ?? 0) > 0
  return isStop ? [{ ...at, event: { kind: 'stopped' } }] : []
}

function orderOf(kind: IdKind | 'nonce', id: string): string {
  return idBytes(kind, id)?.toString('hex') ?? id
}
