import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

import type { SeededRandom } from '../../testing/seeded-random.ts'
import { ProxiedConnection, type Faults, type WireFault } from './proxied-connection.ts'

export interface PostgresProxyOptions {
  readonly upstreamPort: number
  readonly random: SeededRandom
  /** How many of 100 transactions fail as if they conflicted with another (40001 and 40P01). */
  readonly clashPercent?: number
}

/** At most the shortest stall. */
const silenceMs = 40

/** Between the service and PostgreSQL; forwards everything except for the faults that it must inject. */
export class PostgresProxy implements Faults {
  readonly random: SeededRandom
  readonly clashes = { '40001': 0, '40P01': 0 }
  /** How many transactions could have been made to conflict. */
  transactions = 0
  /** How many connections have ended, whoever closed them. */
  endedConnections = 0
  /** How many times the server answered a COMMIT and the client never got the answer. */
  untoldCommits = 0
  /** How many times nothing was forwarded for a while. */
  silences = 0
  readonly #server: Server
  readonly #connections = new Set<ProxiedConnection>()
  readonly #clashPercent: number
  #upstreamPort: number
  #armed: { readonly fault: WireFault; readonly struck: () => void } | undefined
  #isStalled = false
  #isRefusing = false
  #areClashesOn = true
  #passedAtMs = performance.now()

  constructor({ upstreamPort, random, clashPercent = 0 }: PostgresProxyOptions) {
    this.#upstreamPort = upstreamPort
    this.random = random
    this.#clashPercent = clashPercent
    this.#server = createServer((client) => this.#accept(client))
  }

  /** Resolves to the port of the proxy. */
  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    this.cutAll()
    this.#server.close()
    await once(this.#server, 'close')
  }

  get connectionCount(): number {
    return this.#connections.size
  }

  /** Arms a fault; resolves to true once it is injected, or to false if there was no opportunity in time. */
  async strike(fault: WireFault, withinMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(() => resolve(false), withinMs)
    this.#armed = { fault, struck: () => resolve(true) }
    const hasStruck = await promise
    clearTimeout(timer)
    this.#armed = undefined
    return hasStruck
  }

  /** The armed fault, if it is one of these; the caller must then inject it. */
  take<Fault extends WireFault>(faults: readonly Fault[]): Fault | undefined {
    const fault = faults.find((one) => one === this.#armed?.fault)
    if (!fault) return undefined
    this.#armed?.struck()
    this.#armed = undefined
    return fault
  }

  /** Cuts one connection; false if there is none. */
  cutOne(): boolean {
    const connections = [...this.#connections]
    if (connections.length === 0) return false
    connections[this.random.below(connections.length)]?.cut()
    return true
  }

  cutAll(): void {
    for (const connection of this.#connections) connection.cut()
  }

  /** Stops forwarding in both directions until `flow` is called. */
  stall(): void {
    this.#isStalled = true
    for (const connection of this.#connections) connection.stall()
  }

  flow(): void {
    this.#isStalled = false
    for (const connection of this.#connections) connection.flow()
  }

  /** Whether new connections are refused. */
  set isRefusing(isRefusing: boolean) {
    this.#isRefusing = isRefusing
  }

  /** Whether transactions are made to conflict. */
  set areClashesOn(areOn: boolean) {
    this.#areClashesOn = areOn
  }

  /** How many statements a new transaction may run before it conflicts; undefined for no conflict. */
  planClash(): number | undefined {
    const isChosen = this.random.below(100) < this.#clashPercent
    const statements = this.random.below(4)
    if (!this.#areClashesOn) return undefined
    this.transactions++
    return isChosen ? statements : undefined
  }

  /** Call this with everything that is forwarded. */
  notePassing(): void {
    const nowMs = performance.now()
    if (nowMs - this.#passedAtMs >= silenceMs) this.silences++
    this.#passedAtMs = nowMs
  }

  #accept(client: Socket): void {
    if (this.#isRefusing) return void client.destroy()
    const upstream = connect(this.#upstreamPort, '127.0.0.1')
    const connection = new ProxiedConnection(this, client, upstream)
    this.#connections.add(connection)
    void connection.ended.then(() => this.#forget(connection))
    if (this.#isStalled) connection.stall()
  }

  #forget(connection: ProxiedConnection): void {
    this.#connections.delete(connection)
    this.endedConnections++
  }
}
