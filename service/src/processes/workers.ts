import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Config } from '../settings/config.ts'
import { closeUntakenConnections } from './handed-connections.ts'
import { stopTimeoutMs, workerMetricsTimeoutMs } from '../limits.ts'
import { writeLogLine, type LogLine } from './log-line.ts'
import { listenForMetrics } from '../start/listening.ts'
import type { MetricsServer } from '../metrics/metrics-server.ts'
import { WorkerMetrics } from '../metrics/worker-metrics.ts'
import { explainStartFailure, tellStartFailure } from './start-failure.ts'
import { stopMessage } from './stop-message.ts'
import { codeOf } from '../store/error-code.ts'
import { welcome } from './welcome.ts'
import type { FromStart, FromWorker, ToWorker } from './worker-messages.ts'

/**
 * Starts the service in several processes that share one port; resolves to whether it started. This
 * process, the primary, answers no request: it hands connections on, starts a worker again that died, and
 * stops all in good order.
 */
export async function serveWithWorkers(config: Config, calledAs: string): Promise<boolean> {
  const crew = new Crew(config, calledAs)
  stopOnSignals(crew, config)
  let metricsServer: MetricsServer | undefined
  try {
    metricsServer = await listenForMetrics(config, () => crew.scrape())
  } catch (error) {
    const failure = explainStartFailure(error, calledAs)
    if (failure === undefined) throw error
    tellStartFailure(failure)
    return false
  }
  // The first goes ahead: it makes the keys of an empty store, and tells what would hinder all of them.
  const first = await crew.start()
  if (first.kind === 'failed') {
    tellStartFailure(first.message)
    await metricsServer?.close()
    return false
  }
  await crew.startOthers(first)
  console.log(welcome({ ...first, metricsUrl: metricsServer?.url ?? first.metricsUrl }, config))
  return true
}

/** How much longer than its own bound a worker may take to stop: its process, the store, a busy machine. */
const stopSlackMs = 3_000

/** A worker that ran so long before it died did not fail to start: the waiting begins anew. */
const steadyWorkerMs = 60_000

/** How long a worker that died is waited for, so that one which cannot start does not keep the machine busy. */
export function restartDelayMs(failuresInARow: number): number {
  return Math.min(100 * 2 ** failuresInARow, 10_000)
}

/** The workers of one primary. */
class Crew {
  #config: Config
  readonly #calledAs: string
  /** Where the service answers; known once a worker did. */
  #url: string | undefined
  #isStopping = false
  readonly #metrics: WorkerMetrics

  constructor(config: Config, calledAs: string) {
    this.#config = config
    this.#calledAs = calledAs
    this.#metrics = new WorkerMetrics({ expected: config.workers, timeoutMs: workerMetricsTimeoutMs })
    cluster.setupPrimary({
      // Beside this file, and compiled as it is.
      exec: join(import.meta.dirname, `worker${extname(import.meta.filename)}`),
      args: [],
      // As `npm start` has it; a flag that this process was given comes later, and wins.
      execArgv: ['--max-semi-space-size=32', ...process.execArgv],
      serialization: 'advanced',
    })
  }

  /** The metrics of all workers. */
  scrape(): Promise<string> {
    return this.#metrics.scrape()
  }

  /** Starts one worker; resolves to what it says first, or to a failure when it ends before. */
  start(failuresInARow = 0): Promise<FromStart> {
    this.#keepPort()
    const worker = fork()
    if (worker instanceof Error) return this.#couldNotStart(worker, failuresInARow)
    closeUntakenConnections(worker)
    const startedAtMs = performance.now()
    const said = firstMessageOf(worker)
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
        `A worker ended (${failure ?? signal ?? `code ${code}`})`,
        isSteady ? 0 : failuresInARow,
      )
    })
    const couldNotStart = new Promise<FromStart>((resolve) => {
      worker.on('error', (error) => {
        // A worker that did start says by its exit what becomes of it.
        if (worker.process.pid !== undefined) this.#log(`A worker could not be reached (${codeOf(error)}).`)
        else resolve(this.#couldNotStart(error, failuresInARow))
      })
    })
    tell(worker, { kind: 'start', config: this.#config, calledAs: this.#calledAs })
    return Promise.race([said, couldNotStart])
  }

  async startOthers(first: FromStart & { kind: 'ready' }): Promise<void> {
    this.#url = first.url
    await Promise.all(Array.from({ length: this.#config.workers - 1 }, () => this.start()))
  }

  /** Has every worker drain, and finish what it accepted, within the bound; resolves to whether all of them did. */
  async stop(drainMs: number): Promise<boolean> {
    this.#isStopping = true
    const workers = liveWorkers()
    const stopped = workers.map(async (worker) => {
      const exit = once(worker, 'exit')
      tell(worker, { kind: 'stop', drainMs })
      const [code] = (await exit) as [number | null]
      return code === 0
    })
    const bound = sleep(drainMs + stopTimeoutMs + stopSlackMs, [false])
    return (await Promise.race([Promise.all(stopped), bound])).every(Boolean)
  }

  /** Ends every worker at once. */
  kill(): void {
    this.#isStopping = true
    for (const worker of liveWorkers()) worker.process.kill('SIGKILL')
  }

  async #tellScrape(worker: Worker): Promise<void> {
    const text = await this.scrape().catch(() => undefined)
    tell(worker, { kind: 'scraped', text })
  }

  /** There is no process: no program, no memory or no room for one more. */
  async #couldNotStart(error: Error, failuresInARow: number): Promise<FromStart> {
    const what = `A worker could not be started (${codeOf(error)})`
    this.#startAgain(what, failuresInARow)
    return { kind: 'failed', message: what }
  }

  #startAgain(what: string, failuresInARow: number): void {
    // Before the service has answered once, a failure is the start's.
    if (this.#isStopping || this.#url === undefined) return
    const delayMs = restartDelayMs(failuresInARow)
    this.#log(`${what}; another one starts in ${delayMs} ms.`)
    setTimeout(() => {
      if (!this.#isStopping) void this.#startInstead(failuresInARow + 1)
    }, delayMs)
  }

  async #startInstead(failuresInARow: number): Promise<void> {
    const { kind } = await this.start(failuresInARow)
    if (kind === 'ready') this.#log('A worker was started again, and answers.', 'info')
  }

  /** The port that was picked is given up with the last worker on it, so the next one asks for it by number. */
  #keepPort(): void {
    if (this.#url === undefined || liveWorkers().length > 0) return
    this.#config = { ...this.#config, port: Number(new URL(this.#url).port) }
  }

  #log(msg: string, level: LogLine['level'] = 'error'): void {
    writeLogLine({ level, msg }, this.#config)
  }
}

/** Stops in good order at the first signal, and drains before that at SIGTERM; a second signal does not wait. */
function stopOnSignals(crew: Crew, { drainSeconds }: Config): void {
  let isStopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isStopping) {
        crew.kill()
        process.exit(1)
      }
      isStopping = true
      const seconds = signal === 'SIGTERM' ? drainSeconds : 0
      console.log(stopMessage(seconds))
      void finish(crew, seconds * 1_000)
    })
  }
}

async function finish(crew: Crew, drainMs: number): Promise<never> {
  const isInGoodOrder = await crew.stop(drainMs)
  crew.kill()
  process.exit(isInGoodOrder ? 0 : 1)
}

/** A worker, or why there is none: some reasons Node throws, and others it tells the worker's listeners. */
function fork(): Worker | Error {
  try {
    return cluster.fork()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function firstMessageOf(worker: Worker): Promise<FromStart> {
  return new Promise((resolve) => {
    // Nothing else is said before: metrics are asked of a worker that is ready.
    worker.once('message', resolve)
    worker.once('exit', (code: number | null, signal: string | null) => {
      resolve({ kind: 'failed', message: `A worker ended before it answered (${signal ?? `code ${code}`})` })
    })
  })
}

/** Tells a worker; one that is gone is told nothing, as its exit says. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}

function liveWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker?.isDead() === false) as Worker[]
}
