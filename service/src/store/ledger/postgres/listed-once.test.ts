import assert from 'node:assert/strict'
import { test } from 'node:test'

import { preparePurchase, startTestService } from '../../../../testing/service.ts'
import { postgres18 } from '../../../../testing/postgres.ts'
import { idText } from '../../../domain/type-id.ts'
import { openPool } from './connection.ts'
import { ledgerReader, readerOver } from './postgres-reader.ts'
import { prepareRecordReads } from '../reads/lists.ts'

const options = { skip: postgres18.missing ?? false }

test(
  'A filtered list shows each record once, also if one is added between its statements',
  options,
  async (context) => {
    const { url, drop } = await postgres18.createDatabase()
    const service = await startTestService(context, { PURSER_DATABASE: url, PURSER_WORKERS: '1' })
    context.after(drop)
    const { agentId, mandateId } = await preparePurchase(service)
    const pool = openPool(url, { max: 1 })
    context.after(() => pool.end())
    const addMandates = async (project: string, count: number) => {
      const body = {
        agent_id: agentId,
        purpose: 'Research data',
        max_spend_total: '1.00',
        max_spend_per_transaction: '1.00',
        expires_at: '2099-01-01T00:00:00Z',
        metadata: { project },
      }
      service.clock.nowMs += 1
      const together = Array.from({ length: count }, () => service.call('POST', '/mandates', { body }))
      for (const { status } of await Promise.all(together)) assert.equal(status, 201)
    }
    await addMandates('wanted', 10)
    // A page looks at 1,000 mandates.
    await addMandates('other', 995)
    let statements = 0
    const { listMandates } = prepareRecordReads(
      ledgerReader(
        readerOver(async (text, values) => {
          if (++statements === 2) await addMandates('other', 1)
          return (await pool.query(text, values as unknown[])).rows
        }),
      ),
    )
    const { rows } = await pool.query('select account_id from mandates where id is not null limit 1')
    const accountId = idText('account', Buffer.from(String(rows[0].account_id).replaceAll('-', ''), 'hex'))
    const listed: string[] = []
    for (
      let olderThan: string | undefined, isFirst = true;
      isFirst || olderThan !== undefined;
      isFirst = false
    ) {
      const filter = { metadata: { project: 'wanted' } }
      const page = await listMandates({ accountId, environment: 'sandbox' }, filter, {
        limit: 100,
        olderThan,
      })
      listed.push(...page.items.map(({ id }) => id))
      olderThan = page.next
    }
    assert.equal(listed.length, 10)
    assert.equal(new Set(listed).size, 10)
    assert(!listed.includes(mandateId))
  },
)
