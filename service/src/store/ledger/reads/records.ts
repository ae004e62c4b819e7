import { formatSum } from '../../../domain/money.ts'
import type {
  Account,
  Agent,
  ApiKey,
  AuditEvent,
  Budget,
  Hold,
  ListedSeller,
  Mandate,
} from '../../../domain/records.ts'
import type { AccountRow, AgentRow, ApiKeyRow, BudgetRow, MandateRow, PaymentRow } from '../tables.ts'
import type { StoredSession } from '../../console/store.ts'
import type { TableRow } from '../table.ts'
import type { auditEvents, sellers, sessions } from '../tables.ts'

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

export function toAgent(row: AgentRow): Agent {
  return row
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
  usage: _usage,
  ...mandate
}: MandateRow): Mandate {
  return mandate
}

export function toSession(row: TableRow<typeof sessions>): StoredSession {
  return row
}

export function toAuditEvent(row: TableRow<typeof auditEvents>): AuditEvent {
  return row
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
  const { accountId, environment, nonce, agentId, mandateId, amountText, amountMicro, currency } = payment
  const { resourceUrl, status, epoch, issuedAtMs, expiresAtMs, transactionId, captureDeadlineMs, orderId } =
    payment
  const { category, metadata } = payment
  const isEnded = status === 'open' && epoch !== mandateEpoch
  return {
    accountId,
    environment,
    nonce,
    agentId,
    mandateId,
    amountText,
    amountMicro,
    currency,
    resourceUrl,
    status: isEnded ? 'voided' : status,
    issuedAtMs,
    expiresAtMs,
    transactionId,
    capturedText: status === 'captured' ? capturedTextOf(payment) : null,
    captureDeadlineMs,
    orderId,
    category,
    metadata,
  }
}

/** A seller, with the one that is registered under its domain. */
export function toListedSeller(row: TableRow<typeof sellers>, registeredId: string | null): ListedSeller {
  return { ...row, isPending: registeredId !== row.id }
}
