import type { QueryConfig } from 'pg'

import type { MandateStatus } from '@purser/wire/mandates'

import type { AuditEvent, Mandate } from '../../domain/records.ts'
import { toMandate, type MandateRow } from '../rows.ts'
import type { RecordKey } from '../store.ts'
import { lockAgent, refusalOfAgent } from './agent-acts.ts'
import { insertEvent, isRecorded, withVoided } from './audit-acts.ts'
import { endHolds } from './hold-acts.ts'
import { query, rowsOf } from './queries.ts'
import { insertAccountOf } from './record-accounts.ts'
import type { Transaction } from './transaction.ts'

// The acts on mandates.

export async function createMandate(
  transaction: Transaction,
  mandate: Mandate,
  event: AuditEvent,
): Promise<'created' | 'not_found' | 'agent_revoked'> {
  if (await isRecorded(transaction, event)) return 'created'
  const [agent] = await transaction.ask(lockAgent({ ...mandate, id: mandate.agentId }, 'share'))
  const refusal = refusalOfAgent(mandate.agentId, rowsOf(agent))
  if (refusal) {
    await transaction.commit()
    return refusal
  }
  await transaction.commit(
    query(
      `insert into mandates (account_id, id, environment, agent_id, purpose, max_total_text, max_total_micro,
         max_per_transaction_text, max_per_transaction_micro, currency, allowed_sellers, allowed_categories,
         expires_at_text, expires_at_ms, status, created_at_ms, updated_at_ms)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
      [
        mandate.accountId,
        mandate.id,
        mandate.environment,
        mandate.agentId,
        mandate.purpose,
        mandate.maxTotalText,
        mandate.maxTotalMicro,
        mandate.maxPerTransactionText,
        mandate.maxPerTransactionMicro,
        mandate.currency,
        JSON.stringify(mandate.allowedSellers),
        JSON.stringify(mandate.allowedCategories),
        mandate.expiresAtText,
        mandate.expiresAtMs,
        mandate.status,
        mandate.createdAtMs,
        mandate.updatedAtMs,
      ],
    ),
    insertAccountOf(mandate),
    insertEvent(event),
  )
  return 'created'
}

export async function moveMandate(
  transaction: Transaction,
  key: RecordKey,
  to: MandateStatus,
  event: AuditEvent,
): Promise<Mandate | 'not_found' | 'mandate_revoked'> {
  const [found] = await transaction.ask(
    query('select * from mandates where account_id = $1 and id = $2 and environment = $3 for no key update', [
      key.accountId,
      key.id,
      key.environment,
    ]),
  )
  const [row] = rowsOf<MandateRow>(found)
  if (!row || row.status === to || row.status === 'revoked') {
    // Who pauses what a stop has paused already wants it paused when the stop is over, too.
    const isStopped = row?.status === to && row.stopped_by !== null
    await transaction.commit(...(isStopped ? [keepPaused(key)] : []))
    if (!row) return 'not_found'
    return row.status === to ? toMandate(row) : 'mandate_revoked'
  }
  const [, ended, moved] = await transaction.ask(
    query(
      'update mandates set status = $3, stopped_by = null, updated_at_ms = $4 where account_id = $1 and id = $2',
      [key.accountId, key.id, to, event.createdAtMs],
    ),
    to === 'active' ? query('select 0 as voided') : endHolds('id', key, event.createdAtMs),
    query('select * from mandates where account_id = $1 and id = $2', [key.accountId, key.id]),
  )
  const [mandate = row] = rowsOf<MandateRow>(moved)
  await transaction.commit(insertEvent(withVoided(event, ended)))
  return toMandate(mandate)
}

function keepPaused({ accountId, id }: RecordKey): QueryConfig {
  return query('update mandates set stopped_by = null where account_id = $1 and id = $2', [accountId, id])
}
