import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

import { sendPlain } from '../../testing/http/plain-http.ts'
import { startProcess, type ReadyProcess } from '../process.ts'
import { collectorDomain } from './market.ts'
import { clockVariable, type ServiceClock } from './clocks/service-clock.ts'

export interface ServicesOptions {
  readonly count: number
  readonly folder: string
  readonly database: string
  readonly clock: ServiceClock
  readonly context: { readonly after: (stop: () => Promise<void>) => void }
}

/** The initial keys of clients: their ids, and the text of each. */
export interface FirstKeys {
  readonly ownerKeyId: string
  readonly collectorKeyId: string
  readonly secrets: Map<string, string>
}

const operatorKey = 'svc_sand_fault_run'

/** Service processes on one database, which are killed and restarted. */
export class Services {
  readonly #options: ServicesOptions
  readonly #settings: Readonly<Record<string, string>>
  readonly #running: (ReadyProcess | undefined)[] = []
  readonly #ended: ReadyProcess[] = []
  readonly #crashes: string[] = []
  #isStopping = false
  /** How many processes have become ready. */
  starts = 0

  constructor(options: ServicesOptions) {
    this.#options = options
    this.#settings = {
      PURSER_DATABASE: options.database,
      PURSER_BOOTSTRAP_SANDBOX_KEY: operatorKey,
      PURSER_PROOF_SECRET: randomBytes(32).toString('hex'),
      PURSER_LOG_LEVEL: 'error',
      NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'clocks/fast-clock.ts')).href}`,
      [clockVariable]: JSON.stringify(options.clock),
    }
  }

  /** The addresses of processes, as far as they are known to be up. */
  get urls(): readonly string[] {
    return this.#running.flatMap((service) => service?.url ?? [])
  }

  /** Log lines that report bugs, and unexpected exits. */
  get bugs(): readonly string[] {
    const logs = [...this.#ended, ...this.#running].map((service) => service?.stderr() ?? '')
    const told = logs.flatMap((log) => log.split('\n').filter((line) => line.includes('a bug:')))
    return [...told, ...this.#crashes]
  }

  async start(): Promise<void> {
    for (let index = 0; index < this.#options.count; index++) await this.#startOne(index)
  }

  /** Kills one process immediately, and starts another in its place. */
  async killOne(index: number): Promise<void> {
    const service = this.#running[index % this.#options.count]
    this.#running[index % this.#options.count] = undefined
    if (service) {
      this.#ended.push(service)
      await service.kill('SIGKILL')
    }
    await this.#startOne(index % this.#options.count)
  }

  /** Shuts all of them down gracefully: accepted requests are completed. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#running.map(async (service) => service?.kill('SIGTERM')))
  }

  /** Creates the keys of an owner, and of a merchant in another account, which sells under its own domain. */
  async makeKeys(): Promise<FirstKeys> {
    const owner = await this.#post(operatorKey, '/accounts/api-keys', {
      role: 'owner',
      environment: 'sandbox',
    })
    const account = await this.#post(operatorKey, '/accounts', {
      name: 'Shop',
      email: 'shop@example.net',
      idp_user_id: 'idp_shop',
    })
    const shopKey = account.api_keys.find((key: { environment: string }) => key.environment === 'sandbox').key
    await this.#post(shopKey, '/sellers', { name: 'Shop', domain: collectorDomain, price_config: {} })
    const collector = await this.#post(shopKey, '/accounts/api-keys', {
      role: 'merchant',
      environment: 'sandbox',
    })
    return {
      ownerKeyId: owner.id,
      collectorKeyId: collector.id,
      secrets: new Map([
        [owner.id, owner.key],
        [collector.id, collector.key],
      ]),
    }
  }

  /** Starts a process; if the database is down at that moment, retries until it is back. */
  async #startOne(index: number): Promise<void> {
    const { context, folder } = this.#options
    for (let attempt = 1; ; attempt++) {
      try {
        const service = await startProcess(context, { folder, settings: this.#settings })
        this.#running[index] = service
        this.starts++
        void this.#watch(index, service)
        return
      } catch (error) {
        if (attempt === 50) throw error
        await sleep(200)
      }
    }
  }

  /** Records when a process exits by itself, and starts another, like a supervisor. */
  async #watch(index: number, service: ReadyProcess): Promise<void> {
    const { code, signal, stderr } = await service.ended
    if (this.#isStopping || this.#running[index] !== service) return
    this.#crashes.push(`a service process ended by itself (${signal ?? code}): ${stderr.slice(-2_000)}`)
    this.#running[index] = undefined
    await this.#startOne(index)
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
  async #post(key: string, path: string, body: unknown): Promise<any> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
    const [url = ''] = this.urls
    const answer = await sendPlain(url, { method: 'POST', path, headers, body: JSON.stringify(body) })
    if (answer.status !== 201) throw new Error(`POST ${path} was answered ${answer.status} ${answer.text}`)
    return answer.body
  }
}
