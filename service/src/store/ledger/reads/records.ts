import { formatSum } from '../../../domain/money.ts'
import type { Account, ApiKey, Budget, Hold, Mandate } from '../../../domain/records.ts'
import type { AccountRow, ApiKeyRow, BudgetRow, MandateRow, PaymentRow } from '../tables.ts'

// The port's record for a row, which may have more columns.

export function toAccount({
  ownerKeys: _ownerKeys,
  clockOffsetMs: _clockOffsetMs,
  ...account
}: AccountRow): Account {
  return account
}

export function toApiKey({ secretHash: _secretHash, ...key }: ApiKeyRow): ApiKey {
  return key
}

export function toBudget({
  parentId: _parentId,
  epoch: _epoch,
  endedAtMs: _endedAtMs,
  ...budget
}: BudgetRow): Budget {
  return budget
}

export function toMandate({
  stoppedBy: _stoppedBy,
  stoppedPayments: _stoppedPayments,
  epoch: _epoch,
  openPayments: _openPayments,
  authorizedPayments: _authorizedPayments,
  releasedUntilMs: _releasedUntilMs,
  denialsFromMs: _denialsFromMs,
  denials: _denials,
  fullMinuteMs: _fullMinuteMs,
  usage: _usage,
  ...mandate
}: MandateRow): Mandate {
  return mandate
}

/** The charged amount of a captured payment, as text: as its proof had it, if all of it was captured. */
export function capturedTextOf({
  amountText,
  capturedMicro,
}: Pick<PaymentRow, 'amountText' | 'capturedMicro'>) {
  return capturedMicro === null ? amountText : formatSum(capturedMicro)
}

/** A payment as a hold. One that was open when all payments of its mandate ended is void, whatever its row says. */
export function toHold(payment: PaymentRow, mandateEpoch: number): Hold {
  const { status, epoch } = payment
  return {
    accountId: payment.accountId,
    environment: payment.environment,
    nonce: payment.nonce,
    agentId: payment.agentId,
    mandateId: payment.mandateId,
    amountText: payment.amountText,
    amountMicro: payment.amountMicro,
    currency: payment.currency,
    resourceUrl: payment.resourceUrl,
    status: status === 'open' && epoch !== mandateEpoch ? 'voided' : status,
    issuedAtMs: payment.issuedAtMs,
    expiresAtMs: payment.expiresAtMs,
    transactionId: payment.transactionId,
    capturedText: status === 'captured' ? capturedTextOf(payment) : null,
    captureDeadlineMs: payment.captureDeadlineMs,
    orderId: payment.orderId,
    category: payment.category,
    metadata: payment.metadata,
  }
}
