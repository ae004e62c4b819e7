import { join } from 'node:path'

import type { Caller } from '../service/src/domain/records.ts'
import type { Child } from './child.ts'
import type { Buyers, Ledger, serverActs } from './server.ts'
import { PostgresBed } from './postgres-bed.ts'
import { singleForms } from './single-transactions.ts'

/** The stores that a run can be about. */
export const storeKinds = ['sqlite', 'postgres'] as const
export type StoreKind = (typeof storeKinds)[number]

/** The services of a run: ours, and what it is compared with. */
export const services = ['service', 'service without group commit', ...singleForms] as const
export type Service = (typeof services)[number]

/** How many mandates the load is spread over. */
export const mandates = 1_000

/** A new ledger, and who buys under its mandates if it is a copy of one that has them. */
export interface NewLedger {
  readonly ledger: Ledger
  readonly buyers?: Buyers
}

/** Where the ledgers of a run are kept. */
export interface Ledgers {
  /** Which services there are. */
  readonly services: readonly Service[]
  /** What else is to be known of the place, for the report. */
  readonly server: string | undefined
  /** A new ledger for a service; nothing uses the one that it had before. */
  readonly create: (service: Service, generation: number) => Promise<NewLedger>
  /** A new ledger with mandates for raw SQL, and whose they are; only where there is SQL to be sent. */
  readonly createRaw?: (generation: number) => Promise<RawLedger>
  /** The processor time of what keeps the ledgers besides the services, if it can be seen. */
  readonly cpuMicros: () => number | undefined
  readonly close: () => Promise<void>
}

export interface RawLedger {
  readonly url: string
  readonly caller: Caller
  readonly purchases: Buyers['purchases']
}

/** Files in a folder. */
export function sqliteLedgers(folder: string): Ledgers {
  return {
    services: ['service', 'service without group commit'],
    server: undefined,
    create: (service, generation) => {
      const groupCommit = service === 'service'
      const path = join(folder, `${generation}-${groupCommit ? 'with' : 'without'}.db`)
      return Promise.resolve({ ledger: { kind: 'sqlite', path, groupCommit } })
    },
    cpuMicros: () => undefined,
    close: () => Promise.resolve(),
  }
}

/** Databases of one server, all of them copies of one that a service has filled with its mandates. */
export async function postgresLedgers(
  parentFolder: string,
  process: Child<typeof serverActs>,
): Promise<Ledgers> {
  const bed = await PostgresBed.open(parentFolder)
  const url = await bed.create('template')
  const { key, purchases } = await process.ask('open', {
    ledger: { kind: 'postgres', url, captures: 'in batches' },
    mandates,
  })
  const caller = await process.ask('caller')
  await process.ask('close')
  await bed.settle('template')

  const last = new Map<string, string>()
  async function copyTemplate(kind: string, generation: number): Promise<string> {
    const old = last.get(kind)
    if (old !== undefined) await bed.drop(old)
    const name = `${kind.replaceAll(' ', '_').toLowerCase()}_${generation}`
    last.set(kind, name)
    return bed.create(name, 'template')
  }

  return {
    services,
    server: bed.server,
    create: async (service, generation) => ({
      ledger: {
        kind: 'postgres',
        url: await copyTemplate(service, generation),
        captures:
          service === 'service'
            ? 'in batches'
            : service === 'service without group commit'
              ? 'one by one'
              : service,
      },
      buyers: { key, purchases },
    }),
    createRaw: async (generation) => ({ url: await copyTemplate('raw', generation), caller, purchases }),
    cpuMicros: () => bed.cpuMicros(),
    close: () => bed.close(),
  }
}
