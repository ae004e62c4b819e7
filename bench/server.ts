import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'

import { createApp } from '../service/src/app.ts'
import { hashApiKey } from '../service/src/domain/api-key.ts'
import { deriveProofKeys } from '../service/src/domain/proof.ts'
import type { Caller } from '../service/src/domain/records.ts'
import { startFiguresKeeper } from '../service/src/console/figures-keeper.ts'
import { createTally } from '../service/src/console/tally.ts'
import { prepareFirstStart } from '../service/src/first-start.ts'
import { startHoldSweep } from '../service/src/hold-sweep.ts'
import { createIds } from '../service/src/ids.ts'
import { openPostgresStore } from '../service/src/store/postgres/postgres-store.ts'
import { openSqliteStore } from '../service/src/store/sqlite/sqlite-store.ts'
import type { Store } from '../service/src/store/store.ts'
import { answerParent } from './child.ts'
import { merchantDomain, requestsTo, type Exchange, type Purchase, type Target } from './flows.ts'
import { reportLedger, type LedgerReport } from './ledger.ts'
import { putUnderLoad } from './load.ts'
import { withSingleTransactions, type SingleForm } from './single-transactions.ts'

/** Where a service keeps its ledger, and how it writes there. */
export type Ledger =
  | {
      readonly kind: 'sqlite'
      /** Where the database file is made; it must not exist yet. */
      readonly path: string
      readonly groupCommit: boolean
    }
  | {
      readonly kind: 'postgres'
      readonly url: string
      readonly captures: 'in batches' | 'one by one' | SingleForm
    }

interface OpenOrder {
  readonly ledger: Ledger
  readonly mandates: number
  /** Who buys, when the ledger is a copy of one that knows them already. */
  readonly buyers?: Buyers | undefined
}

/** What the requests need to know of a ledger. */
export type Buyers = Pick<Target, 'key' | 'purchases'>

interface OpenService {
  readonly caller: Caller
  readonly ledger: () => Promise<LedgerReport>
  readonly close: () => Promise<void>
}

let service: OpenService | undefined

export const serverActs = {
  /** A service on a new ledger with its mandates, in place of the one before: the process stays warm. */
  async open(order: OpenOrder): Promise<Target> {
    await service?.close()
    const opened = await openService(order)
    service = opened
    return opened.target
  },
  /** Lets go of the ledger, so that it can be copied or taken away. */
  async close(): Promise<void> {
    await service?.close()
    service = undefined
  },
  caller: (): Caller => openedService().caller,
  cpu: (): NodeJS.CpuUsage => process.cpuUsage(),
  ledger: (): Promise<LedgerReport> => openedService().ledger(),
}

answerParent(serverActs, async () => service?.close())

function openedService(): OpenService {
  assert(service, 'no service is open')
  return service
}

async function openStore(ledger: Ledger): Promise<Store> {
  if (ledger.kind === 'sqlite') {
    return openSqliteStore({ path: ledger.path, groupCommit: ledger.groupCommit, ownThread: true })
  }
  const { url, captures } = ledger
  const store = await openPostgresStore({ url, groupCommit: captures !== 'one by one' })
  return captures === 'in batches' || captures === 'one by one'
    ? store
    : withSingleTransactions(store, { url, form: captures })
}

/** The service as `service/src/start.ts` makes it, but for how its store writes. */
async function openService({ ledger, mandates, buyers: known }: OpenOrder) {
  const store = await openStore(ledger)
  const secrets = [randomBytes(32).toString('hex')] as const
  const now = Date.now
  const context = {
    store,
    now,
    ids: createIds(now),
    randomBytes,
    site: { publicUrl: undefined },
    tally: createTally(now),
    proofKeys: {
      sandbox: deriveProofKeys(secrets, 'sandbox'),
      production: deriveProofKeys(secrets, 'production'),
    },
  }
  const app = await createApp({
    ...context,
    chosenKeys: new Set<string>(),
    system: { version: '', workers: 1, place: '', readDisk: async () => null },
    // A start would be told otherwise, which is of no interest here.
    logger: { level: 'warn', stream: process.stderr },
  })
  const minted = await prepareFirstStart(context, { sandbox: undefined, production: undefined })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const observer = {
    failed: (what: string, error: unknown) => app.log.error({ err: error }, what),
    worked: () => undefined,
  }
  const sweep = startHoldSweep({ store, now, observer })
  const figures = startFiguresKeeper({ store, tally: context.tally, observer })
  const buyers = known ?? (await prepareBuyers(port, minted?.sandbox, mandates))
  const caller = await store.authenticate(hashApiKey(buyers.key))
  assert(caller)
  return {
    target: { port, ...buyers } satisfies Target,
    caller,
    ledger: () => reportLedger(store, caller, mandates),
    close: async () => {
      const closing = app.close()
      // Whoever measures has its answers; a spare connection would be waited for until it times out.
      app.server.closeAllConnections()
      await closing
      await Promise.all([sweep.stop(), figures.stop()])
      await store.close()
    },
  }
}

async function prepareBuyers(port: number, key: string | undefined, mandates: number): Promise<Buyers> {
  assert(key !== undefined, 'the ledger is not new')
  return { key, purchases: await preparePurchases(port, key, mandates) }
}

/**
 * So many agents, each with a mandate whose budget no run exhausts, and the seller that they buy from. They come over the
 * network as in any other service: requests that are injected into the application are other objects, and
 * V8 would serve the real ones more slowly from then on.
 */
async function preparePurchases(port: number, key: string, count: number): Promise<Purchase[]> {
  const post = requestsTo({ port, key })
  const creation = (path: string, payload: object) => ({
    request: post(path, JSON.stringify(payload)),
    status: 201,
  })
  const purchases: Purchase[] = []

  async function create(clients: number, exchanges: Iterator<Exchange>): Promise<void> {
    const { unexpected, sample } = await putUnderLoad(port, clients, Infinity, () => exchanges.next().value)
    assert.equal(unexpected, 0, `the service refuses what the bench needs: ${sample}`)
  }
  const seller = creation('/sellers', { name: 'Example data', domain: merchantDomain, price_config: {} })
  const buyers = Array.from({ length: count }, (_, index) => ({
    ...creation('/agents', { name: `agent ${index}`, capabilities: ['payments'] }),
    follow: (agent: string) => ({
      ...creation('/mandates', {
        agent_id: idOf(agent),
        purpose: 'Buy research data',
        max_spend_total: '900000000000.00',
        max_spend_per_transaction: '10.00',
        allowed_sellers: [merchantDomain],
        allowed_categories: ['data'],
        expires_at: '2099-01-01T00:00:00Z',
      }),
      follow: (mandate: string) => {
        purchases.push({ agentId: idOf(agent), mandateId: idOf(mandate) })
        return undefined
      },
    }),
  }))
  await create(1, [seller].values())
  await create(preparingClients, buyers.values())
  return purchases
}

function idOf(body: string): string {
  return (JSON.parse(body) as { id: string }).id
}

const preparingClients = 16
