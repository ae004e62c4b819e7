import type { AuditEvent } from '../../domain/records.ts'
import type { SessionKey, StoredSession } from '../console/store.ts'
import { query, rowsOf } from './queries.ts'
import type { SessionRow } from '../rows.ts'
import { insertEvent, isRecorded } from './audit-acts.ts'
import type { Transaction } from './transaction.ts'

// The acts on sessions of the console.

export async function createSession(
  transaction: Transaction,
  session: StoredSession,
  event: AuditEvent | undefined,
): Promise<void> {
  const [inserted] = await transaction.ask(
    query(
      `insert into sessions (account_id, token_hash, id, kind, role, key_id, environment, created_at_ms, used_at_ms,
         ends_at_ms)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing returning id`,
      [
        session.accountId,
        Buffer.from(session.tokenHash),
        session.id,
        session.kind,
        session.role,
        session.keyId,
        session.environment,
        session.createdAtMs,
        session.usedAtMs,
        session.endsAtMs,
      ],
    ),
    query('delete from sessions where account_id = $1 and ends_at_ms <= $2', [
      session.accountId,
      session.createdAtMs,
    ]),
  )
  // An earlier attempt, whose answer was lost, wrote the event as well.
  const isNew = rowsOf(inserted).length > 0
  await transaction.commit(...(event && isNew ? [insertEvent(event)] : []))
}

export async function touchSession(
  transaction: Transaction,
  { accountId, tokenHash }: SessionKey,
  usedAtMs: number,
): Promise<void> {
  await transaction.commit(
    query(
      `update sessions set used_at_ms = $3 where account_id = $1 and token_hash = $2 and used_at_ms < $3`,
      [accountId, Buffer.from(tokenHash), usedAtMs],
    ),
  )
}

/** Ends a session by its id. Its event tells a second attempt that the first one ended it. */
export async function endSessionById(
  transaction: Transaction,
  { accountId, id }: { readonly accountId: string; readonly id: string },
  event: AuditEvent,
): Promise<boolean> {
  if (await isRecorded(transaction, event)) return true
  const [ended] = await transaction.ask(
    query('delete from sessions where account_id = $1 and id = $2 returning environment', [accountId, id]),
  )
  const [session] = rowsOf<Pick<SessionRow, 'environment'>>(ended)
  const environment = session?.environment ?? event.environment
  await transaction.commit(...(session ? [insertEvent({ ...event, environment })] : []))
  return session !== undefined
}

/** Ends a session, once. Its event tells a second attempt that the first one ended it. */
export async function endSession(
  transaction: Transaction,
  { accountId, tokenHash }: SessionKey,
  event: AuditEvent | undefined,
): Promise<boolean> {
  const [ended, recorded] = await transaction.ask(
    query('delete from sessions where account_id = $1 and token_hash = $2 returning id', [
      accountId,
      Buffer.from(tokenHash),
    ]),
    query('select 1 from recorded_events where account_id = $1 and id = $2', [accountId, event?.id ?? '']),
  )
  const hasEnded = rowsOf(ended).length > 0
  await transaction.commit(...(hasEnded && event ? [insertEvent(event)] : []))
  return hasEnded || rowsOf(recorded).length > 0
}
