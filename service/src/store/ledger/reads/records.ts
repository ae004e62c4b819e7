import { formatSum } from '../../../domain/money.ts'
import type { Hold } from '../../../domain/records.ts'
import { compileDecodeRecord } from '../compiled-rows.ts'
import type { Table, TableRow } from '../table.ts'
import { accounts, agents, apiKeys, budgets, mandates, type PaymentRow } from '../tables.ts'

/** Returns the port's record for a row, which may have more columns: those of its table, except some. */
function recordOf<Of extends Table, Name extends string>(table: Of, ...omitted: Name[]) {
  const names = Object.keys(table.columns).filter((name) => !(omitted as string[]).includes(name))
  const columns = names.map((name) => ({ name, source: name, decode: (value: unknown) => value }))
  return compileDecodeRecord(columns) as (row: TableRow<Of>) => Omit<TableRow<Of>, Name>
}

export const toAccount = recordOf(accounts, 'ownerKeys', 'clockOffsetMs')
export const toAgent = recordOf(agents, 'endedAtMs')
export const toApiKey = recordOf(apiKeys, 'secretHash')
export const toBudget = recordOf(budgets, 'parentId', 'epoch', 'endedAtMs')
export const toMandate = recordOf(
  mandates,
  'stoppedBy',
  'stoppedPayments',
  'epoch',
  'openPayments',
  'authorizedPayments',
  'releasedUntilMs',
  'denialsFromMs',
  'denials',
  'fullMinuteMs',
  'usage',
)

/** The charged amount of a captured payment, as text: as its proof had it, if all of it was captured. */
export function capturedTextOf({
  amountText,
  capturedMicro,
}: Pick<PaymentRow, 'amountText' | 'capturedMicro'>) {
  return capturedMicro === null ? amountText : formatSum(capturedMicro)
}

/** A payment as a hold, with the status in its row: see `holdsOf`. */
export function toHold(payment: PaymentRow): Hold {
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
    status: payment.status,
    issuedAtMs: payment.issuedAtMs,
    expiresAtMs: payment.expiresAtMs,
    transactionId: payment.transactionId,
    capturedText: payment.status === 'captured' ? capturedTextOf(payment) : null,
    captureDeadlineMs: payment.captureDeadlineMs,
    orderId: payment.orderId,
    category: payment.category,
    metadata: payment.metadata,
  }
}
