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

/** What is put under load: the services, SQL with no service before it, and the bare echo. */
export type Server = Service | 'raw SQL' | 'echo'

/** A block that was measured: what was asked, what came of it, and what it cost the server. */
export interface Block extends BlockOrder, BlockReport {
  readonly service: Server
  readonly perSecond: number
  readonly cpuMicros: number
  /** What the database server took for one operation besides, where that can be seen. */
  readonly databaseMicros: number | undefined
}

export type Order = BlockOrder & {
  readonly service: Server
  /** It only warms what is new with the ledgers, such as connections and their plans, and does not count. */
  readonly isRehearsal?: boolean
}

/** What `npm start` runs Node with, for the echo too. */
const nodeFlags = ['--max-semi-space-size=32']

/** The processes of a run, and the folder that their databases lie in. */
export class Rig {
  readonly folder: string
  readonly ledger = new LedgerCheck()
  readonly #parentFolder: string
  readonly #client: Child<typeof clientActs> = startChild('./client.ts')
  readonly #echo: Child<typeof echoActs> = startChild('./echo.ts', nodeFlags)
  #raw: Child<typeof rawSqlActs> | undefined
  #processes: Child<typeof serverActs>[] = []
  #ledgers: Ledgers | undefined
  /** The last rate of each kind of block, which says how many proofs the next one needs. */
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

  /** The database server of the run, if there is one. */
  get server(): string | undefined {
    return this.#ledgers?.server
  }

  /** New ledgers for everything that is to be measured, in processes that are warm already. */
  async renew(orders: readonly Order[]): Promise<void> {
    const generation = ++this.#generation
    const ledgers = this.#opened()
    // A service lets go of its ledger before that is taken away.
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

  /** Where a service answers, and with which key it is asked. */
  targetOf(service: Service): Target {
    const target = this.#targets.get(service)
    if (!target) throw new Error(`the ${service} has no ledger yet`)
    return target
  }

  /** Load of one kind for a short time, and then a look at the ledger. */
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
    if (!this.#raw) throw new Error('there is no SQL to be sent')
    return this.#raw
  }

  /**
   * The processes that serve change places with every new ledger: what a process went through, such as
   * the growth of its heap, would otherwise count for one of the services and not for the others.
   */
  #processOf(service: Service): Child<typeof serverActs> {
    const child = this.#processes[(services.indexOf(service) + this.#generation) % this.#processes.length]
    if (!child) throw new Error(`no process is the ${service}`)
    return child
  }

  #childOf(server: Server): { readonly ask: (name: 'cpu') => Promise<NodeJS.CpuUsage> } {
    if (server === 'echo') return this.#echo
    return server === 'raw SQL' ? this.#rawSql() : this.#processOf(server)
  }

  /** A quarter more than the last rate asks for; a block that runs out of proofs ends early. */
  #proofsFor(order: Order): number {
    const rate = this.#rates.get(kindOf(order)) ?? firstGuess
    return Math.ceil(rate * order.seconds * 1.25) + order.clients
  }

  async #cpuMicros(child: { readonly ask: (name: 'cpu') => Promise<NodeJS.CpuUsage> }): Promise<number> {
    const { user, system } = await child.ask('cpu')
    return user + system
  }
}

/** Operations per second that are taken for granted before there is a figure. */
const firstGuess = 2_000

function kindOf({ service, flow, clients, spread }: Order): string {
  return [service, flow, clients, spread].join(' ')
}
