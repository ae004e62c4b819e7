import assert from 'node:assert/strict'
import { test } from 'node:test'

import { testCommand } from '../../packages/cli/testing/command.ts'
import { findProgram } from '../src/backup/programs.ts'
import { StoreOpenError } from '../src/store/open-error.ts'
import { postgresServers } from '../testing/postgres.ts'
import { askForProof, issueKey, preparePurchase, startTestService } from '../testing/service.ts'

const postgres15 = postgresServers.find(({ name }) => name === 'PostgreSQL 15')

for (const { place, missing } of [
  { place: 'SQLite', missing: undefined },
  { place: 'PostgreSQL', missing: postgres15?.missing ?? findDump() },
]) {
  test(
    `On ${place}, an approval that was used or withdrawn after the backup admits nothing after the restore`,
    { skip: missing },
    async (context) => {
      const isSqlite = place === 'SQLite'
      const before = isSqlite ? undefined : (await postgres15!.createDatabase()).url
      const service = await startTestService(context, before === undefined ? {} : on(before))
      const purchase = await preparePurchase(service, { approval: { above: '0.50' } })
      const agentKey = await issueKey(service, { role: 'agent', agent_id: purchase.agentId })
      const other = { ...purchase, resourceUrl: `${purchase.resourceUrl}/other` }
      const approve = async (wanted: typeof purchase) => {
        const { id } = (await askForProof(service, wanted, '1.00', { key: agentKey })).body.approval
        const approved = await service.call('POST', `/v1/approvals/${id}/approve`, { body: {} })
        assert.equal(approved.body.status, 'approved', approved.text)
        return id as string
      }
      const use = (at: typeof service, wanted: typeof purchase, approval_id: string) =>
        at.call('POST', '/v1/payments/proof', {
          key: agentKey,
          body: {
            agent_id: wanted.agentId,
            mandate_id: wanted.mandateId,
            amount: '1.00',
            resource_url: wanted.resourceUrl,
            approval_id,
          },
        })
      const [used, withdrawn] = [await approve(purchase), await approve(other)]
      const database = before ?? `sqlite:${service.databasePath}`
      const { purserWith } = testCommand(context)
      const purser = async (url: string, ...words: string[]) => {
        const ended = await purserWith({ environment: on(url) }, ...words)
        assert.deepEqual([ended.code, ended.errors], [0, ''])
      }
      await purser(database, 'backup', 'purser.backup')
      assert.equal((await use(service, purchase, used)).status, 201)
      const denied = await service.call('POST', `/v1/approvals/${withdrawn}/deny`, { body: {} })
      assert.equal(denied.body.status, 'denied', denied.text)
      await service.stop()

      const restored = isSqlite ? database : (await postgres15!.createEmptyDatabase()).url
      await purser(restored, 'restore', 'purser.backup')
      const again = await startTestService(context, on(restored))
      for (const [wanted, id] of [
        [purchase, used],
        [other, withdrawn],
      ] as const) {
        const refused = await use(again, wanted, id)
        assert.equal(refused.status, 402, refused.text)
        assert.equal(refused.body.approval.status, 'expired')
        const asked = await askForProof(again, wanted, '1.00', { key: agentKey })
        assert.equal(asked.body.approval.status, 'pending', 'a person is asked again')
      }
      await again.stop()
      await purser(restored, 'ledger', 'check')
    },
  )
}

function on(url: string) {
  return { PURSER_DATABASE: url, PURSER_WORKERS: '1', PURSER_PROOF_SECRET: '' }
}

/** Why a dump cannot be made here. */
function findDump(): string | undefined {
  try {
    return findProgram('pg_dump', 15).major === 15 ? undefined : 'pg_dump 15 is not installed here'
  } catch (error) {
    if (error instanceof StoreOpenError) return 'pg_dump 15 is not installed here'
    throw error
  }
}
