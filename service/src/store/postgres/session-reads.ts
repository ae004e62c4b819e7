import type { Pool } from 'pg'

import type { Account } from '../../domain/records.ts'
import type { ConsoleReads, SessionKey, StoredSession } from '../console/store.ts'
import { toAccount, toSession, type AccountRow, type SessionRow } from '../rows.ts'
import { storable } from '../ledger/postgres/connection.ts'

/** Who is signed in, asked with every request of the console. */
export async function findSession(
  pool: Pool,
  { accountId, tokenHash }: SessionKey,
): Promise<StoredSession | undefined> {
  const [{ rows }, account] = await Promise.all([
    pool.query<SessionRow>({
      name: 'purser_find_session',
      text: `
      select s.* from sessions s
      where s.account_id = $1 and s.token_hash = $2 and (s.key_id is null or exists (
        select 1 from api_keys k where k.account_id = s.account_id and k.id = s.key_id and k.revoked_at_ms is null))`,
      values: [storable(accountId), tokenHash],
    }),
    findAccount(pool, { id: accountId }),
  ])
  return rows[0] && account?.disabledAtMs === null ? toSession(rows[0]) : undefined
}

export async function findAccount(
  pool: Pool,
  account: Parameters<ConsoleReads['findAccount']>[0],
): Promise<Account | undefined> {
  const { rows } = await pool.query<AccountRow>(
    'id' in account
      ? { text: 'select * from accounts where id = $1', values: [storable(account.id)] }
      : {
          text: 'select * from accounts where md5(idp_user_id) = md5($1) and idp_user_id = $1',
          values: [storable(account.idpUserId)],
        },
  )
  return rows[0] && toAccount(rows[0])
}
