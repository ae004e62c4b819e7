import { parseArgs } from 'node:util'

import { flows, type Flow } from './flows.ts'
import { storeKinds, type StoreKind } from './ledgers.ts'

/** What a run measures, and for how long. */
export interface Options {
  readonly store: StoreKind
  readonly flows: readonly Flow[]
  /** Rounds of the comparisons with many clients, and the duration of their blocks. */
  readonly rounds: number
  readonly blockSeconds: number
  /** The same for the comparison with one client, whose figures depend on the disk's latency. */
  readonly singleRounds: number
  readonly singleSeconds: number
  readonly warmUpSeconds: number
  readonly isQuick: boolean
  readonly publish: boolean
}

// Four rounds, or a multiple of four: only then has each process had each position in both directions equally
// often. One process is often a few percent faster than another with the same code, for its whole life.
const full = { rounds: 8, blockSeconds: 1.5, singleRounds: 24, singleSeconds: 0.5, warmUpSeconds: 1.5 }
const quick = { rounds: 4, blockSeconds: 0.6, singleRounds: 8, singleSeconds: 0.25, warmUpSeconds: 1 }

export const help = `npm run bench -- [--store <store>] [--quick] [--only <flow>,…] [--publish]

  --store    sqlite, or postgres beside services that write one transaction a request
  --quick    fewer and shorter rounds: one to two minutes, for a first look
  --only     only these flows: ${flows.join(', ')}
             (the targets are checked when verify is among them)
  --publish  also writes docs/bench.json and docs/bench.svg, or docs/bench-postgres.json and .svg

PURSER_BENCH_POSTGRES names a PostgreSQL server; one of the bench's own is started otherwise.
PURSER_BENCH_DIR names the folder for the databases; the system's folder for temporary files otherwise.`

/** The options from the command line, or what to print instead. */
export function readOptions(
  argv: readonly string[],
): { readonly options: Options } | { readonly text: string; readonly isFault: boolean } {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        store: { type: 'string', default: 'sqlite' },
        quick: { type: 'boolean' },
        only: { type: 'string' },
        publish: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    })
    if (values.help) return { text: help, isFault: false }
    const isQuick = values.quick ?? false
    const chosen = values.only === undefined ? flows : values.only.split(',').map(readFlow)
    return {
      options: {
        ...(isQuick ? quick : full),
        store: readStore(values.store),
        flows: chosen,
        isQuick,
        publish: values.publish ?? false,
      },
    }
  } catch (error) {
    return { text: `${error instanceof Error ? error.message : String(error)}\n\n${help}`, isFault: true }
  }
}

function readFlow(text: string): Flow {
  const flow = flows.find((known) => known === text)
  if (!flow) throw new Error(`Unknown flow ${JSON.stringify(text)}.`)
  return flow
}

/** The store that an option names. */
export function readStore(text: string): StoreKind {
  const store = storeKinds.find((known) => known === text)
  if (!store) throw new Error(`Unknown store ${JSON.stringify(text)}: use ${storeKinds.join(' or ')}.`)
  return store
}
