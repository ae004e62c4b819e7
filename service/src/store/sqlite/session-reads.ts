import type { Account } from '../../domain/records.ts'
import type { ConsoleReads, SessionKey, StoredSession } from '../console/store.ts'
import { toAccount, toSession, type AccountRow, type SessionRow } from '../rows.ts'
import type { SqliteDatabase } from '../ledger/sqlite/open.ts'

/** Who is signed in, asked with every request of the console. */
export function prepareSessionReads(db: SqliteDatabase) {
  const selectSession = db.prepare<[string, Buffer], SessionRow>(`
    select s.* from sessions s
    where s.account_id = ? and s.token_hash = ? and (s.key_id is null or exists (
      select 1 from api_keys k where k.account_id = s.account_id and k.id = s.key_id and k.revoked_at_ms is null))
      and exists (select 1 from accounts a where a.id = s.account_id and a.disabled_at_ms is null)`)
  const selectAccount = db.prepare<[string], AccountRow>('select * from accounts where id = ?')
  const selectAccountOfUser = db.prepare<[string], AccountRow>('select * from accounts where idp_user_id = ?')

  return {
    findSession({ accountId, tokenHash }: SessionKey): StoredSession | undefined {
      const row = selectSession.get(accountId, tokenHash)
      return row && toSession(row)
    },

    findAccount(account: Parameters<ConsoleReads['findAccount']>[0]): Account | undefined {
      const row = 'id' in account ? selectAccount.get(account.id) : selectAccountOfUser.get(account.idpUserId)
      return row && toAccount(row)
    },
  }
}
