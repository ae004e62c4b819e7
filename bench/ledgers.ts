import { join } from 'node:path'

import type { Caller } from '../service/src/domain/records.ts'
import type { Child } from './child.ts'
import type { Buyers, Ledger, serverActs } from './server.ts'
import { PostgresBed } from './postgres-bed.ts'
import { singleForms } from './single-transactions.ts'

/** The stores that can be benchmarked. */
export const storeKinds = ['sqlite', 'postgres'] as const
export type StoreKind = (typeof storeKinds)[number]

/** The services of a run: ours, and those that it is compared with. */
export const services = ['service', 'service without group commit', ...singleForms] as const
export type Service = (typeof services)[number]

/** The number of mandates that share the load. */
export const mandates = 1_000

/** A new ledger, and the buyers under its mandates if it is a copy that has them. */
export interface NewLedger {
  readonly ledger: Ledger
  readonly buyers?: Buyers
}

/** The location of a run's ledgers. */
export interface Ledgers {
  /** The available services. */
  readonly services: readonly Service[]
  /** Further details of the location for the report. */
  readonly server: string | undefined
  /** A new ledger for a service, whose earlier ledger is no longer in use. */
  readonly create: (service: Service, generation: number) => Promise<NewLedger>
  /** A new ledger with mandates for raw SQL, and their owner; only for an SQL server. */
  readonly createRaw?: (generation: number) => Promise<RawLedger>
  /** The processor time of the database server, if visible. */
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

/** Databases of one server, all copied from one that a service has filled with its mandates. */
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
