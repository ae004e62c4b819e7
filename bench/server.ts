import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'

import { createApp } from '../service/src/app.ts'
import { hashApiKey } from '../service/src/domain/api-key.ts'
import { deriveProofKeys } from '../service/src/domain/proof.ts'
import { prepareFirstStart } from '../service/src/first-start.ts'
import { startHoldSweep } from '../service/src/hold-sweep.ts'
import { createIds } from '../service/src/ids.ts'
import { openSqliteStore } from '../service/src/store/sqlite/sqlite-store.ts'
import { answerParent } from './child.ts'
import { merchantDomain, type Purchase, type Target } from './flows.ts'
import type { LedgerReport } from './ledger.ts'

type App = Awaited<ReturnType<typeof createApp>>

interface OpenOrder {
  /** Where the database file is made; it must not exist yet. */
  readonly path: string
  readonly groupCommit: boolean
  readonly mandates: number
}

interface OpenService {
  readonly ledger: () => Promise<LedgerReport>
  readonly close: () => Promise<void>
}

let service: OpenService | undefined

export const serverActs = {
  /** A service on a new store with its mandates, in place of the one before: the process stays warm. */
  async open(order: OpenOrder): Promise<Target> {
    await service?.close()
    const opened = await openService(order)
    service = opened
    return opened.target
  },
  cpu: (): NodeJS.CpuUsage => process.cpuUsage(),
  ledger: (): Promise<LedgerReport> => {
    assert(service, 'no service is open')
    return service.ledger()
  },
}

answerParent(serverActs, async () => service?.close())

/** The service as `service/src/start.ts` makes it, but for the flag of its store. */
async function openService({ path, groupCommit, mandates }: OpenOrder) {
  const store = openSqliteStore({ path, groupCommit, ownThread: true })
  const secrets = [randomBytes(32).toString('hex')] as const
  const now = Date.now
  const context = {
    store,
    now,
    ids: createIds(now),
    randomBytes,
    proofKeys: {
      sandbox: deriveProofKeys(secrets, 'sandbox'),
      production: deriveProofKeys(secrets, 'production'),
    },
  }
  const app = await createApp({
    ...context,
    chosenKeys: new Set<string>(),
    // A start would be told otherwise, which is of no interest here.
    logger: { level: 'warn', stream: process.stderr },
  })
  const minted = await prepareFirstStart(context, { sandbox: undefined, production: undefined })
  const key = minted?.sandbox
  assert(key !== undefined, `${path} is not new`)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const sweep = startHoldSweep({ store, now, onFailure: (error) => app.log.error({ err: error }) })
  const purchases = await preparePurchases(app, key, mandates)
  const caller = await store.authenticate(hashApiKey(key))
  assert(caller)
  return {
    target: { port: (app.server.address() as AddressInfo).port, key, purchases } satisfies Target,
    ledger: async (): Promise<LedgerReport> => {
      const faults = await store.findLedgerFaults()
      const { items } = await store.listMandates(caller, {}, { limit: mandates + 1 })
      return { faults, spentMicro: items.reduce((sum, mandate) => sum + mandate.spentMicro, 0n) }
    },
    close: async () => {
      await app.close()
      await sweep.stop()
      await store.close()
    },
  }
}

/** So many agents, each with a mandate whose budget no run exhausts, and the seller that they buy from. */
async function preparePurchases(app: App, key: string, count: number): Promise<Purchase[]> {
  async function create(url: string, payload: object): Promise<{ id: string }> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await app.inject({ method: 'POST', url, headers, payload: JSON.stringify(payload) })
    assert.equal(answer.statusCode, 201, `${url} answers ${answer.statusCode}: ${answer.body}`)
    return answer.json<{ id: string }>()
  }

  await create('/sellers', { name: 'Example data', domain: merchantDomain, price_config: {} })
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const agent = await create('/agents', { name: `agent ${index}`, capabilities: ['payments'] })
      const mandate = await create('/mandates', {
        agent_id: agent.id,
        purpose: 'Buy research data',
        max_spend_total: '900000000000.00',
        max_spend_per_transaction: '10.00',
        allowed_sellers: [merchantDomain],
        allowed_categories: ['data'],
        expires_at: '2099-01-01T00:00:00Z',
      })
      return { agentId: agent.id, mandateId: mandate.id }
    }),
  )
}
