import type { QueryConfig } from 'pg'

import type { MandateStatus } from '@purser/wire/mandates'

import type { AuditEvent, Mandate } from '../../domain/records.ts'
import { newMandateRow } from '../new-rows.ts'
import { toMandate, type MandateRow } from '../rows.ts'
import type { RecordKey } from '../store.ts'
import { lockAgent, refusalOfAgent } from './agent-acts.ts'
import { insertEvent, isRecorded, withVoided } from './audit-acts.ts'
import { endHolds } from './hold-acts.ts'
import { insertRow, query, rowsOf } from './queries.ts'
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
  await transaction.commit(insertRow(newMandateRow, mandate), insertAccountOf(mandate), insertEvent(event))
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
