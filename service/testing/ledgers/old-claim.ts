/** Waits until the claim of a copy has lasted longer than its `transaction_timeout`, or has ended: `old-claim.ts <address>`. */

import { Client } from 'pg'

const client = new Client({ connectionString: process.argv[2] })
await client.connect()
for (;;) {
  const { rows } = await client.query<{ is_young: boolean }>(`
    select clock_timestamp() - xact_start <= current_setting('transaction_timeout')::interval as is_young
    from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`)
  if (rows[0]?.is_young !== true) break
}
await client.end()
