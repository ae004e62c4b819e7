import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Config } from '../settings/config.ts'
import { closeUntakenConnections } from './handed-connections.ts'
import { closePortTimeoutMs, stopTimeoutMs, workerMetricsTimeoutMs } from '../limits.ts'
import { writeLogLine, type LogLine } from './log-line.ts'
import { listenForMetrics } from '../start/listening.ts'
import type { MetricsServer } from '../metrics/metrics-server.ts'
import { WorkerMetrics } from '../metrics/worker-metrics.ts'
import { refuseStart, tellStartFailure } from './start-failure.ts'
import { stopOnSignals } from './stop-on-signals.ts'
import { codeOf } from '../store/error-code.ts'
import { welcome } from './welcome.ts'
import type { FromStart, FromWorker, ToWorker } from './worker-messages.ts'

/**
 * Starts the service in several processes that share a port; resolves to whether it started. This process, the
 * primary, answers no requests: it distributes connections, restarts workers that died, and shuts all of them down
 * gracefully.
 */
export async function serveWithWorkers(config: Config, calledAs: string): Promise<boolean> {
  const crew = new Crew(config, calledAs)
  stopOnSignals(config, { stop: (drainMs) => finish(crew, drainMs), kill: () => crew.kill() })
  let metricsServer: MetricsServer | undefined
  try {
    metricsServer = await listenForMetrics(config, () => crew.scrape())
  } catch (error) {
    tellStartFailure(error, calledAs)
    return false
  }
  // The first one starts alone: it creates the keys of an empty store, and reports problems that would affect all.
  const first = await crew.start()
  if (first.kind === 'failed') {
    refuseStart(first.message)
    await metricsServer?.close()
    return false
  }
  await crew.startOthers(first)
  console.log(welcome({ ...first, metricsUrl: metricsServer?.url ?? first.metricsUrl }, config, calledAs))
  return true
}

/** How much longer than its own limit a worker may take to stop. */
const stopSlackMs = 3_000

/** A worker that ran this long did not fail to start: the backoff is reset. */
const steadyWorkerMs = 60_000

/** Backoff before restarting a worker, so that one that cannot start does not keep the machine busy. */
export function restartDelayMs(failuresInARow: number): number {
  return Math.min(100 * 2 ** failuresInARow, 10_000)
}

/** The workers of a primary. */
class Crew {
  #config: Config
  readonly #calledAs: string
  /** Whether the first worker has started. */
  #isReady = false
  #isStopping = false
  readonly #metrics: WorkerMetrics

  constructor(config: Config, calledAs: string) {
    this.#config = config
    this.#calledAs = calledAs
    this.#metrics = new WorkerMetrics({ expected: config.workers, timeoutMs: workerMetricsTimeoutMs })
    cluster.setupPrimary({
      // Next to this file, and compiled like it.
      exec: join(import.meta.dirname, `worker${extname(import.meta.filename)}`),
      args: [],
      // The flags of `npm start`; a flag passed to this process comes later and takes precedence.
      execArgv: ['--max-semi-space-size=32', ...process.execArgv],
      serialization: 'advanced',
    })
  }

  /** The metrics of all workers. */
  scrape(): Promise<string> {
    return this.#metrics.scrape()
  }

  /** Starts a worker; resolves once it is ready, or to a failure. */
  start(failuresInARow = 0): Promise<FromStart> {
    const worker = fork()
    if (worker instanceof Error) return this.#couldNotStart(worker, failuresInARow)
    closeUntakenConnections(worker)
    const startedAtMs = performance.now()
    const started = startOf(worker)
    let failure: string | undefined
    worker.on('message', (message: FromWorker) => {
      switch (message.kind) {
        case 'failed':
          failure = message.message
          break
        case 'ready':
          this.#metrics.add(worker.id, (question) => tell(worker, { kind: 'read_metrics', ...question }))
          break
        case 'metrics':
          this.#metrics.received(worker.id, message)
          break
        case 'scrape':
          void this.#tellScrape(worker)
          break
        default:
          message satisfies never
      }
    })
    worker.once('exit', (code: number | null, signal: string | null) => {
      this.#metrics.ended(worker.id)
      const isSteady = performance.now() - startedAtMs > steadyWorkerMs
      this.#startAgain(
        `A worker exited (${failure ?? signal ?? `code ${code}`})`,
        isSteady ? 0 : failuresInARow,
      )
    })
    const couldNotStart = new Promise<FromStart>((resolve) => {
      worker.on('error', (error) => {
        // If the worker did start, its exit tells the rest.
        if (worker.process.pid !== undefined) this.#log(`A worker could not be reached (${codeOf(error)}).`)
        else resolve(this.#couldNotStart(error, failuresInARow))
      })
    })
    tell(worker, { kind: 'start', config: this.#config, calledAs: this.#calledAs })
    return Promise.race([started, couldNotStart])
  }

  async startOthers(first: FromStart & { kind: 'ready' }): Promise<void> {
    if (this.#isStopping) return
    this.#isReady = true
    // The first one may have picked a port.
    this.#config = { ...this.#config, port: Number(new URL(first.url).port) }
    await Promise.all(Array.from({ length: this.#config.workers - 1 }, () => this.start()))
  }

  /** Drains every worker and lets it finish accepted requests, within the limit; resolves to whether all did. */
  async stop(drainMs: number): Promise<boolean> {
    this.#isStopping = true
    const workers = liveWorkers()
    const stopped = workers.map(async (worker) => {
      const exit = once(worker, 'exit')
      tell(worker, { kind: 'stop', drainMs })
      const [code] = (await exit) as [number | null]
      return code === 0
    })
    const drainTimeoutMs = drainMs === 0 ? 0 : drainMs + closePortTimeoutMs
    const bound = sleep(drainTimeoutMs + stopTimeoutMs + stopSlackMs, [false])
    return (await Promise.race([Promise.all(stopped), bound])).every(Boolean)
  }

  /** Kills every worker. */
  kill(): void {
    this.#isStopping = true
    for (const worker of liveWorkers()) worker.process.kill('SIGKILL')
  }

  async #tellScrape(worker: Worker): Promise<void> {
    const text = await this.scrape().catch(() => undefined)
    tell(worker, { kind: 'scraped', text })
  }

  /** No process could be created: missing program, no memory, or process limit. */
  async #couldNotStart(error: Error, failuresInARow: number): Promise<FromStart> {
    const what = `A worker could not be started (${codeOf(error)})`
    this.#startAgain(what, failuresInARow)
    return { kind: 'failed', message: what }
  }

  #startAgain(what: string, failuresInARow: number): void {
    // Before the service is ready, this is a startup failure.
    if (this.#isStopping || !this.#isReady) return
    const delayMs = restartDelayMs(failuresInARow)
    this.#log(`${what}; the next attempt is in ${delayMs} ms.`)
    setTimeout(() => {
      if (!this.#isStopping) void this.#startInstead(failuresInARow + 1)
    }, delayMs)
  }

  async #startInstead(failuresInARow: number): Promise<void> {
    const { kind } = await this.start(failuresInARow)
    if (kind === 'ready') this.#log('A worker was restarted and is ready.', 'info')
  }

  #log(msg: string, level: LogLine['level'] = 'error'): void {
    writeLogLine({ level, msg }, this.#config)
  }
}

async function finish(crew: Crew, drainMs: number): Promise<never> {
  const isInGoodOrder = await crew.stop(drainMs)
  crew.kill()
  process.exit(isInGoodOrder ? 0 : 1)
}

/** A worker, or why there is none: Node throws some errors, and emits others on the worker. */
function fork(): Worker | Error {
  try {
    return cluster.fork()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Resolves once a worker is ready or has failed to start. */
function startOf(worker: Worker): Promise<FromStart> {
  return new Promise((resolve) => {
    worker.on('message', (message: FromWorker) => {
      // A worker that already listens may be scraped before it is ready.
      if (message.kind === 'ready' || message.kind === 'failed') resolve(message)
    })
    worker.once('exit', (code: number | null, signal: string | null) => {
      resolve({
        kind: 'failed',
        message: `A worker exited before it was ready (${signal ?? `code ${code}`})`,
      })
    })
  })
}

/** Sends a message to a worker; ignored if it has exited. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}

function liveWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker?.isDead() === false) as Worker[]
}
