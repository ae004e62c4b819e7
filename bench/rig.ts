import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startChild, type Child } from './child.ts'
import type { BlockOrder, BlockReport, clientActs } from './client.ts'
import type { echoActs } from './echo.ts'
import { LedgerCheck } from './ledger.ts'
import type { serverActs } from './server.ts'

/** The server processes: the service, the service without group commit, and the bare echo. */
export const servers = ['service', 'service without group commit', 'echo'] as const
export type Server = (typeof servers)[number]

/** A block that was measured: what was asked, what came of it, and what it cost the server. */
export interface Block extends BlockOrder, BlockReport {
  readonly service: Server
  readonly perSecond: number
  readonly cpuMicros: number
}

export type Order = BlockOrder & { readonly service: Server }

/** How many mandates the load is spread over. */
export const mandates = 1_000

/** The processes of a run, and the folder that their databases lie in. */
export class Rig {
  readonly folder: string
  readonly ledger = new LedgerCheck()
  readonly #client: Child<typeof clientActs> = startChild('./client.ts')
  readonly #echo: Child<typeof echoActs> = startChild('./echo.ts')
  /**
   * The two processes that serve change places with every new ledger: what a process went through, such
   * as the growth of its heap, would otherwise count for one of the services and not for the other.
   */
  #services: Record<Exclude<Server, 'echo'>, Child<typeof serverActs>> = {
    service: startChild('./server.ts'),
    'service without group commit': startChild('./server.ts'),
  }
  /** The last rate of each kind of block, which says how many proofs the next one needs. */
  readonly #rates = new Map<string, number>()
  #generation = 0

  constructor() {
    const parent = process.env['PURSER_BENCH_DIR'] ?? tmpdir()
    mkdirSync(parent, { recursive: true })
    this.folder = mkdtempSync(join(parent, 'purser-bench-'))
  }

  async open(): Promise<void> {
    const port = await this.#echo.ask('open')
    await this.#client.ask('know', { name: 'echo', target: { port } })
  }

  /** New ledgers for both services, in the processes that are warm already. */
  async renew(): Promise<void> {
    const generation = ++this.#generation
    const { service, 'service without group commit': other } = this.#services
    this.#services = { service: other, 'service without group commit': service }
    for (const [name, server] of Object.entries(this.#services)) {
      const groupCommit = name === 'service'
      const path = join(this.folder, `${generation}-${groupCommit ? 'with' : 'without'}.db`)
      const target = await server.ask('open', { path, groupCommit, mandates })
      await this.#client.ask('know', { name, target })
      this.ledger.begin(name)
    }
  }

  /** Load of one kind for a short time, and then a look at the ledger. */
  async run(order: Order): Promise<Block> {
    const { service, flow, spread } = order
    if (flow === 'verify') await this.#client.ask('seed', { service, spread, count: this.#proofsFor(order) })
    const before = await this.#cpuMicros(service)
    const report = await this.#client.ask('block', order)
    const cpuMicros = (await this.#cpuMicros(service)) - before
    if (service !== 'echo') {
      this.ledger.count(service, report.captured)
      this.ledger.check(service, await this.#services[service].ask('ledger'))
    }
    const perSecond = report.operations / report.seconds
    this.#rates.set(kindOf(order), perSecond)
    return { ...order, ...report, perSecond, cpuMicros: cpuMicros / report.operations }
  }

  async close(): Promise<void> {
    const children = [this.#client, this.#echo, ...Object.values(this.#services)]
    await Promise.all(children.map((child) => child.stop()))
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** A quarter more than the last rate asks for; a block that runs out of proofs ends early. */
  #proofsFor(order: Order): number {
    const rate = this.#rates.get(kindOf(order)) ?? firstGuess
    return Math.ceil(rate * order.seconds * 1.25) + order.clients
  }

  async #cpuMicros(server: Server): Promise<number> {
    const child = server === 'echo' ? this.#echo : this.#services[server]
    const { user, system } = await child.ask('cpu')
    return user + system
  }
}

/** Operations per second that are taken for granted before there is a figure. */
const firstGuess = 2_000

function kindOf({ service, flow, clients, spread }: Order): string {
  return [service, flow, clients, spread].join(' ')
}
