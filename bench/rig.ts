import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startChild, type Child } from './child.ts'
import type { BlockOrder, BlockReport, clientActs } from './client.ts'
import type { echoActs } from './echo.ts'
import type { Target } from './flows.ts'
import { LedgerCheck } from './ledger.ts'
import {
  mandates,
  postgresLedgers,
  services,
  sqliteLedgers,
  type Ledgers,
  type Service,
  type StoreKind,
} from './ledgers.ts'
import type { rawSqlActs } from './raw-sql.ts'
import type { serverActs } from './server.ts'

/** The targets of the load: the services, SQL without a service, and the bare echo. */
export type Server = Service | 'raw SQL' | 'echo'

/** A measured block: its request, its result, and its cost on the server. */
export interface Block extends BlockOrder, BlockReport {
  readonly service: Server
  readonly perSecond: number
  readonly cpuMicros: number
  /** The database server's time per operation, if visible. */
  readonly databaseMicros: number | undefined
}

export type Order = BlockOrder & {
  readonly service: Server
  /** Only warms up what is new with the ledgers, such as connections and their plans, and does not count. */
  readonly isRehearsal?: boolean
}

/** The flags of `npm start` for Node, also used for the echo. */
const nodeFlags = ['--max-semi-space-size=32']

/** The processes of a run, and the folder of their databases. */
export class Rig {
  readonly folder: string
  readonly ledger = new LedgerCheck()
  readonly #parentFolder: string
  readonly #client: Child<typeof clientActs> = startChild('./client.ts')
  readonly #echo: Child<typeof echoActs> = startChild('./echo.ts', nodeFlags)
  #raw: Child<typeof rawSqlActs> | undefined
  #processes: Child<typeof serverActs>[] = []
  #ledgers: Ledgers | undefined
  /** The last rate of each kind of block, which determines how many proofs the next one needs. */
  readonly #rates = new Map<string, number>()
  #generation = 0
  readonly #targets = new Map<Service, Target>()

  constructor() {
    this.#parentFolder = process.env['PURSER_BENCH_DIR'] ?? tmpdir()
    mkdirSync(this.#parentFolder, { recursive: true })
    this.folder = mkdtempSync(join(this.#parentFolder, 'purser-bench-'))
  }

  /** Starts everything that a run on a store needs. */
  async open(store: StoreKind): Promise<void> {
    const port = await this.#echo.ask('open')
    await this.#client.ask('know', { name: 'echo', target: { port } })
    this.#ledgers = store === 'sqlite' ? sqliteLedgers(this.folder) : await this.#openPostgres()
    while (this.#processes.length < this.#ledgers.services.length) this.#startService()
  }

  /** The run's database server, if there is one. */
  get server(): string | undefined {
    return this.#ledgers?.server
  }

  /** New ledgers for everything to be measured, in processes that are already warm. */
  async renew(orders: readonly Order[]): Promise<void> {
    const generation = ++this.#generation
    const ledgers = this.#opened()
    // A service closes its ledger before that is removed.
    for (const child of this.#processes) await child.ask('close')
    for (const name of ledgers.services) {
      if (!orders.some(({ service }) => service === name)) continue
      const target = await this.#processOf(name).ask('open', {
        ...(await ledgers.create(name, generation)),
        mandates,
      })
      await this.#client.ask('know', { name, target })
      this.#targets.set(name, target)
      this.ledger.begin(name)
    }
    if (this.#raw && ledgers.createRaw && orders.some(({ service }) => service === 'raw SQL')) {
      await this.#raw.ask('close')
      await this.#raw.ask('open', await ledgers.createRaw(generation))
      this.ledger.begin('raw SQL')
    }
  }

  /** The address of a service, and the key to use. */
  targetOf(service: Service): Target {
    const target = this.#targets.get(service)
    if (!target) throw new Error(`the ${service} has no ledger yet`)
    return target
  }

  /** Runs one kind of load for a short time, then checks the ledger. */
  async run(order: Order): Promise<Block> {
    const { service, flow, spread } = order
    if (flow === 'verify' && service !== 'raw SQL') {
      await this.#client.ask('seed', { service, spread, count: this.#proofsFor(order) })
    }
    const child = this.#childOf(service)
    const before = await this.#cpuMicros(child)
    const databaseBefore = this.#opened().cpuMicros()
    const report =
      service === 'raw SQL'
        ? await this.#rawSql().ask('block', { ...order, count: this.#proofsFor(order) })
        : await this.#client.ask('block', order)
    const databaseAfter = this.#opened().cpuMicros()
    const cpuMicros = (await this.#cpuMicros(child)) - before
    if (service !== 'echo') {
      this.ledger.count(service, report.captured)
      this.ledger.check(
        service,
        await (service === 'raw SQL' ? this.#rawSql() : this.#processOf(service)).ask('ledger'),
      )
    }
    const perSecond = report.operations / report.seconds
    if (!order.isRehearsal) this.#rates.set(kindOf(order), perSecond)
    return {
      ...order,
      ...report,
      perSecond,
      cpuMicros: cpuMicros / report.operations,
      databaseMicros:
        service === 'echo' || databaseBefore === undefined || databaseAfter === undefined
          ? undefined
          : (databaseAfter - databaseBefore) / report.operations,
    }
  }

  async close(): Promise<void> {
    const children = [this.#client, this.#echo, ...(this.#raw ? [this.#raw] : []), ...this.#processes]
    await Promise.all(children.map((child) => child.stop()))
    await this.#ledgers?.close()
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #openPostgres(): Promise<Ledgers> {
    this.#raw = startChild('./raw-sql.ts')
    return postgresLedgers(this.#parentFolder, this.#startService())
  }

  #startService(): Child<typeof serverActs> {
    const child: Child<typeof serverActs> = startChild('./server.ts', nodeFlags)
    this.#processes.push(child)
    return child
  }

  #opened(): Ledgers {
    if (!this.#ledgers) throw new Error('the rig is not open')
    return this.#ledgers
  }

  #rawSql(): Child<typeof rawSqlActs> {
    if (!this.#raw) throw new Error('there is no SQL server')
    return this.#raw
  }

  /**
   * The server processes swap roles with every new ledger: otherwise the history of a process, such as the
   * growth of its heap, would affect one of the services only.
   */
  #processOf(service: Service): Child<typeof serverActs> {
    const child = this.#processes[(services.indexOf(service) + this.#generation) % this.#processes.length]
    if (!child) throw new Error(`no process runs the ${service}`)
    return child
  }

  #childOf(server: Server): { readonly ask: (name: 'cpu') => Promise<NodeJS.CpuUsage> } {
    if (server === 'echo') return this.#echo
    return server === 'raw SQL' ? this.#rawSql() : this.#processOf(server)
  }

  /** A quarter more than the last rate needs; a block that runs out of proofs ends early. */
  #proofsFor(order: Order): number {
    const rate = this.#rates.get(kindOf(order)) ?? firstGuess
    return Math.ceil(rate * order.seconds * 1.25) + order.clients
  }

  async #cpuMicros(child: { readonly ask: (name: 'cpu') => Promise<NodeJS.CpuUsage> }): Promise<number> {
    const { user, system } = await child.ask('cpu')
    return user + system
  }
}

/** Assumed operations per second before there is a measurement. */
const firstGuess = 2_000

function kindOf({ service, flow, clients, spread }: Order): string {
  return [service, flow, clients, spread].join(' ')
}
