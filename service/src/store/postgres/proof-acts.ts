import type { QueryConfig } from 'pg'

import type { AuditEvent, Hold, Scope } from '../../domain/records.ts'
import { decideVoid, eventOfVoid } from '../payment-records.ts'
import { toHold, type HoldRow } from '../rows.ts'
import { mandatesVoidedAtOnce, type AgentFilter } from '../store.ts'
import { insertEvent, isRecorded } from './audit-acts.ts'
import { endHoldsOf } from './hold-acts.ts'
import { query, rowsOf } from './queries.ts'
import type { Transaction } from './transaction.ts'

// The acts on one proof, apart from the payments. An attempt that follows a lost commit finds the hold voided.

export async function voidProof(
  transaction: Transaction,
  proof: Scope & { readonly nonce: string },
  { agentId }: AgentFilter,
  event: AuditEvent,
): Promise<Hold | undefined> {
  const key = [proof.accountId, proof.nonce, proof.environment]
  const ofProof = 'account_id = $1 and nonce = $2 and environment = $3'
  const [, found] = await transaction.ask(
    // A hold changes only under the lock of its mandate, so what is read after this stays as it is.
    query(
      `select 1 from mandates
       where account_id = $1 and id = (select mandate_id from holds where ${ofProof}) for no key update`,
      key,
    ),
    query(`select * from holds where ${ofProof}`, key),
  )
  const [hold] = rowsOf<HoldRow>(found).filter((row) => agentId === undefined || row.agent_id === agentId)
  const status = hold && decideVoid(hold, event.createdAtMs)
  if (!status) {
    await transaction.commit()
    return hold && toHold(hold)
  }
  await transaction.commit(
    ...endHold(hold, status),
    ...(status === 'voided' ? [insertEvent(eventOfVoid(event, hold))] : []),
  )
  return toHold({ ...hold, status })
}

export async function voidSomeHolds(
  transaction: Transaction,
  { accountId, environment }: Scope,
  event: AuditEvent,
): Promise<{ readonly isMoreLeft: boolean }> {
  if (await isRecorded(transaction, event)) return { isMoreLeft: true }
  const [locked] = await transaction.ask(
    query(
      `select id from mandates where account_id = $1 and id in (
         select distinct mandate_id from holds
         where account_id = $1 and environment = $2 and status = 'open' limit $3)
       order by account_id, id for no key update`,
      [accountId, environment, mandatesVoidedAtOnce],
    ),
  )
  const ids = rowsOf<{ id: string }>(locked).map(({ id }) => id)
  if (ids.length === 0) {
    await transaction.commit()
    return { isMoreLeft: false }
  }
  const [ended] = await transaction.ask(endHoldsOf(accountId, ids, event.createdAtMs))
  const voided = rowsOf<{ voided: number }>(ended).reduce((sum, row) => sum + row.voided, 0)
  const data = { ...event.data, voided_holds: voided }
  await transaction.commit(...(voided > 0 ? [insertEvent({ ...event, data })] : []))
  return { isMoreLeft: ids.length === mandatesVoidedAtOnce }
}

/** Ends an open hold, whose mandate is locked, and gives its amount back. */
function endHold(hold: HoldRow, status: 'voided' | 'expired'): QueryConfig[] {
  const { account_id: accountId, nonce, mandate_id: mandateId, amount_micro: amountMicro } = hold
  return [
    query('update holds set status = $3 where account_id = $1 and nonce = $2', [accountId, nonce, status]),
    query('update mandates set held_micro = held_micro - $3 where account_id = $1 and id = $2', [
      accountId,
      mandateId,
      amountMicro,
    ]),
  ]
}
