import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

import type { FastifyInstance } from 'fastify'

import { createApp, type AppOptions } from '../src/app.ts'
import { deriveProofKeys } from '../src/domain/proof.ts'
import { createTally } from '../src/console/tally.ts'
import { prepareFirstStart } from '../src/start/first-start.ts'
import { createIds } from '../src/ids.ts'
import { openSqliteLedgerStore } from '../src/store/ledger/sqlite/sqlite-ledger-store.ts'
import type { Store } from '../src/store/store.ts'
import { testStartMs } from './service.ts'

/** The application on a real port, over a store that the test can break. */
export interface AppOverStore {
  readonly app: FastifyInstance
  readonly url: string
  readonly store: Store
  readonly sandboxKey: string
  /** The application's log, one line of JSON per item. */
  readonly log: readonly string[]
}

/**
 * Starts the application for one test; `overrides` replace methods of its store, `options` its other parts.
 */
export async function startAppOverStore(
  context: Pick<TestContext, 'after'>,
  overrides: Partial<Store> = {},
  options: Partial<AppOptions> = {},
): Promise<AppOverStore> {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  const ids = createIds(testNow)
  const store = openSqliteLedgerStore({ path: join(folder, 'purser.db'), nextId: ids.next })
  const secrets: [string] = [randomBytes(32).toString('hex')]
  const log: string[] = []
  const parts = {
    store: { ...store, ...overrides },
    now: testNow,
    ids,
    randomBytes,
    site: { publicUrl: undefined },
    tally: createTally(testNow),
    sellerVerification: {
      isRequired: false,
      key: Buffer.alloc(32),
      proveDomain: async () => ({ missing: 'domains are not checked here' }),
    },
  }
  const app = await createApp({
    ...parts,
    proofKeys: {
      sandbox: deriveProofKeys(secrets, 'sandbox'),
      production: deriveProofKeys(secrets, 'production'),
    },
    chosenKeys: new Set(),
    system: { version: '', workers: 1, place: '', readDisk: async () => null },
    logger: { level: 'info', stream: { write: (line: string) => void log.push(line) } },
    ...options,
  })
  const minted = await prepareFirstStart(parts, { sandbox: undefined, production: undefined })
  await app.listen({ host: '127.0.0.1', port: 0 })
  context.after(async () => {
    await app.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const { port } = app.server.address() as AddressInfo
  return { app, url: `http://127.0.0.1:${port}`, store, sandboxKey: minted?.sandbox ?? '', log }
}

function testNow(): number {
  return testStartMs
}
