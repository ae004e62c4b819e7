import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import Database from 'better-sqlite3'

import { findRevived } from './revived.ts'
import { createIdsOfTimes } from '../ids.ts'
import { openSqliteLedgerStore } from '../store/ledger/sqlite/sqlite-ledger-store.ts'
import { StoreLedger } from '../../testing/store-ledger.ts'

test('Domains that were released since the backup are found, also if another account has one now', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const [later, earlier] = [join(folder, 'later.db'), join(folder, 'earlier.db')]
  const store = openSqliteLedgerStore({ path: later, nextId: createIdsOfTimes() })
  const ledger = new StoreLedger({ store, close: () => store.close() })
  const one = await ledger.tenant()
  await ledger.tenant()
  for (const domain of ['kept.example', 'left.example', 'moved.example']) {
    await ledger.seller(one.production, domain)
    await ledger.seller(one.sandbox, domain)
  }
  await store.close()
  const file = new Database(later)
  // More than one statement reads.
  file.exec(`
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 1200)
    insert into seller_domains (environment, domain, account_id, seller_id)
      select environment, 'shop' || n || '.example', account_id, seller_id
      from numbers, seller_domains where domain = 'kept.example'`)
  file.pragma('wal_checkpoint(truncate)')
  copyFileSync(later, earlier)
  file.exec(`
    delete from seller_domains where environment = 'production' and domain in ('left.example', 'shop1200.example');
    update seller_domains set account_id = (select id from accounts where id <> account_id)
      where environment = 'sandbox' and domain = 'moved.example'`)
  file.close()

  const revived = await findRevived({ kind: 'sqlite', path: later }, { kind: 'sqlite', path: earlier })
  const accountId = one.production.accountId
  assert.deepEqual(revived.get('domains'), [
    { id: 'left.example', accountId, name: 'production' },
    { id: 'shop1200.example', accountId, name: 'production' },
    { id: 'moved.example', accountId, name: 'sandbox' },
  ])
})
