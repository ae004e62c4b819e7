import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'

import { createApp } from '../service/src/app.ts'
import { hashApiKey } from '../service/src/domain/api-key.ts'
import { deriveProofKeys } from '../service/src/domain/proof.ts'
import type { Caller } from '../service/src/domain/records.ts'
import { startFiguresKeeper } from '../service/src/console/figures-keeper.ts'
import { createTally } from '../service/src/console/tally.ts'
import { prepareFirstStart } from '../service/src/start/first-start.ts'
import { startHoldSweep } from '../service/src/background/hold-sweep.ts'
import { createIds, createIdsOfTimes } from '../service/src/ids.ts'
import { openPostgresLedgerStore } from '../service/src/store/ledger/postgres/postgres-ledger-store.ts'
import { openSqliteLedgerStore } from '../service/src/store/ledger/sqlite/sqlite-ledger-store.ts'
import type { Store } from '../service/src/store/store.ts'
import { preparePurchases } from './buyers.ts'
import { answerParent } from './child.ts'
import type { Target } from './flows.ts'
import { reportLedger, type LedgerReport } from './ledger.ts'
import { withSingleTransactions, type SingleForm } from './single-transactions.ts'

/** The location of a service's ledger, and how it writes there. */
export type Ledger =
  | {
      readonly kind: 'sqlite'
      /** The path of the database file to create; it must not exist yet. */
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
  /** The buyers, if the ledger is a copy that already has them. */
  readonly buyers?: Buyers | undefined
}

/** What the requests need to know about a ledger. */
export type Buyers = Pick<Target, 'key' | 'purchases'>

interface OpenService {
  readonly caller: Caller
  readonly ledger: () => Promise<LedgerReport>
  readonly close: () => Promise<void>
}

let service: OpenService | undefined

export const serverActs = {
  /** Replaces the service by one on a new ledger with its mandates: the process stays warm. */
  async open(order: OpenOrder): Promise<Target> {
    await service?.close()
    const opened = await openService(order)
    service = opened
    return opened.target
  },
  /** Closes the ledger, so that it can be copied or removed. */
  async close(): Promise<void> {
    await service?.close()
    service = undefined
  },
  caller: (): Caller => openedService().caller,
  cpu: (): NodeJS.CpuUsage => process.cpuUsage(),
  /** Bytes that this process has written to disk so far, as counted by Linux. */
  written: (): number => process.resourceUsage().fsWrite * 512,
  ledger: (): Promise<LedgerReport> => openedService().ledger(),
}

answerParent(serverActs, async () => service?.close())

function openedService(): OpenService {
  assert(service, 'no service is open')
  return service
}

async function openStore(ledger: Ledger): Promise<Store> {
  if (ledger.kind === 'sqlite') {
    const { path, groupCommit } = ledger
    return openSqliteLedgerStore({ path, nextId: createIdsOfTimes(), maxBatch: groupCommit ? undefined : 1 })
  }
  const { url, captures } = ledger
  const maxBatch = captures === 'one by one' ? 1 : undefined
  const store = await openPostgresLedgerStore({ url, nextId: createIdsOfTimes(), maxBatch })
  return captures === 'in batches' || captures === 'one by one'
    ? store
    : withSingleTransactions(store, { url, form: captures })
}

/** The service as in `service/src/start/start.ts`, except for how its store writes. */
async function openService({ ledger, mandates, buyers: known }: OpenOrder) {
  const store = await openStore(ledger)
  const secrets = [randomBytes(32).toString('hex')] as const
  const now = Date.now
  const context = {
    store,
    now,
    ids: createIds(now),
    randomBytes,
    sellerVerification: {
      isRequired: false,
      key: Buffer.alloc(32),
      proveDomain: async () => ({ missing: 'domains are not checked here' }),
    },
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
    // A real start handles this; it is irrelevant here.
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
      // The client has its responses; a spare connection would be waited for until it times out.
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
