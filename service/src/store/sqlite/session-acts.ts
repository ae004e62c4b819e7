import type { AuditEvent } from '../../domain/records.ts'
import type { SessionKey, StoredSession } from '../console/store.ts'
import type { SessionRow } from '../rows.ts'
import type { AuditActs } from './audit-acts.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** The acts on sessions of the console. */
export function prepareSessionActs(db: SqliteDatabase, { recordEvent }: AuditActs) {
  const insertSession = db.prepare(`
    insert into sessions (account_id, token_hash, id, kind, role, key_id, environment, created_at_ms, used_at_ms,
      ends_at_ms)
    values (:accountId, :tokenHash, :id, :kind, :role, :keyId, :environment, :createdAtMs, :usedAtMs, :endsAtMs)`)
  const deleteEnded = db.prepare('delete from sessions where account_id = ? and ends_at_ms <= ?')
  const setUsed = db.prepare(
    'update sessions set used_at_ms = max(used_at_ms, ?) where account_id = ? and token_hash = ?',
  )
  const deleteById = db
    .prepare<[string, string], SessionRow['environment']>(
      'delete from sessions where account_id = ? and id = ? returning environment',
    )
    .pluck()
  const deleteSession = db.prepare('delete from sessions where account_id = ? and token_hash = ?')

  return {
    createSession(session: StoredSession, event: AuditEvent | undefined): void {
      deleteEnded.run(session.accountId, session.createdAtMs)
      insertSession.run({ ...session, tokenHash: Buffer.from(session.tokenHash) })
      if (event) recordEvent(event)
    },

    touchSession({ accountId, tokenHash }: SessionKey, usedAtMs: number): void {
      setUsed.run(usedAtMs, accountId, Buffer.from(tokenHash))
    },

    endSession({ accountId, tokenHash }: SessionKey, event: AuditEvent | undefined): boolean {
      const { changes } = deleteSession.run(accountId, Buffer.from(tokenHash))
      if (changes > 0 && event) recordEvent(event)
      return changes > 0
    },

    endSessionById(
      { accountId, id }: { readonly accountId: string; readonly id: string },
      event: AuditEvent,
    ): boolean {
      const environment = deleteById.get(accountId, id)
      if (environment === undefined) return false
      recordEvent({ ...event, environment: environment ?? event.environment })
      return true
    },
  }
}
