import type { MandateStatus } from '@purser/wire/mandates'
import type { ProofStatus } from '@purser/wire/payments'

import type { LedgerContent } from './history.ts'

/** Asks the database itself, not the service. */
export type Query = (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** The content of a ledger, in SQL that SQLite and PostgreSQL share. */
export async function readContent(
  query: Query,
  { readAtMs, sweptUntilMs }: Pick<LedgerContent, 'readAtMs' | 'sweptUntilMs'>,
): Promise<LedgerContent> {
  const agents = await query('select id, status from agents')
  const mandates = await query(
    'select id, agent_id, status, max_total_micro, max_per_transaction_micro, spent_micro, held_micro from mandates',
  )
  const holds = await query(
    `select nonce, mandate_id, amount_micro, status, issued_at_ms, expires_at_ms, transaction_id, captured_by,
       idempotency_key from holds`,
  )
  const transactions = await query(
    `select account_id, id, side, status, mandate_id, amount_micro, nonce, created_at_ms, seller_account_id
     from transactions`,
  )
  const events = await query('select type, subject_id, data from audit_events')
  return {
    readAtMs,
    sweptUntilMs,
    agents: agents.map((row) => ({ id: text(row['id']), status: text(row['status']) })),
    mandates: mandates.map((row) => ({
      id: text(row['id']),
      agentId: text(row['agent_id']),
      status: row['status'] as MandateStatus,
      maxTotalMicro: whole(row['max_total_micro']),
      maxPaymentMicro: whole(row['max_per_transaction_micro']),
      spentMicro: whole(row['spent_micro']),
      heldMicro: whole(row['held_micro']),
    })),
    holds: holds.map((row) => ({
      nonce: text(row['nonce']),
      mandateId: text(row['mandate_id']),
      amountMicro: whole(row['amount_micro']),
      status: row['status'] as ProofStatus,
      issuedAtMs: Number(row['issued_at_ms']),
      expiresAtMs: Number(row['expires_at_ms']),
      transactionId: textOrNull(row['transaction_id']),
      capturedBy: textOrNull(row['captured_by']),
      idempotencyKey: textOrNull(row['idempotency_key']),
    })),
    transactions: transactions.map((row) => {
      const seller = textOrNull(row['seller_account_id'])
      return {
        id: text(row['id']),
        side: row['side'] as 'payer' | 'payee',
        isBetweenAccounts: row['side'] === 'payee' || (seller !== null && seller !== row['account_id']),
        status: text(row['status']),
        mandateId: text(row['mandate_id']),
        amountMicro: whole(row['amount_micro']),
        nonce: textOrNull(row['nonce']),
        createdAtMs: Number(row['created_at_ms']),
      }
    }),
    events: events.map((row) => ({
      type: text(row['type']),
      subjectId: text(row['subject_id']),
      nonce: nonceOf(row['data']),
    })),
  }
}

function nonceOf(data: unknown): string | null {
  const fields = (typeof data === 'string' ? JSON.parse(data) : data) as { readonly nonce?: string }
  return fields.nonce ?? null
}

function whole(value: unknown): bigint {
  return BigInt(value as number | bigint | string)
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`not a text: ${String(value)}`)
  return value
}

function textOrNull(value: unknown): string | null {
  return value === null ? null : text(value)
}
