/** One of several service processes, started by `workers.ts`, which sends it the settings. */

import { setTimeout as sleep } from 'node:timers/promises'

import type { Config } from '../settings/config.ts'
import { workerMetricsTimeoutMs } from '../limits.ts'
import { shared } from '../http/maybe-promise.ts'
import { writeLogLine, type LogLine } from './log-line.ts'
import { outliveReaders } from './standard-streams.ts'
import { explainStartFailure } from './start-failure.ts'
import { startService, type RunningService } from '../start/start.ts'
import type { FromWorker, ToWorker } from './worker-messages.ts'

outliveReaders()

let starting: Promise<RunningService> | undefined
let isStopping = false
let logLevel: Config['logLevel'] = 'info'
let drainMs = 0
let calledAs = 'purser'
/** Callers waiting for the metrics of all workers. */
let scraped: ((text: string | undefined) => void) | undefined

process.on('message', (message: ToWorker) => {
  switch (message.kind) {
    case 'start':
      void start(message)
      break
    case 'stop':
      void stop(message.drainMs)
      break
    case 'read_metrics':
      void tellMetrics(message)
      break
    case 'scraped':
      scraped?.(message.text)
      break
    default:
      message satisfies never
  }
})
// A supervisor may send this to every process of the service.
process.on('SIGTERM', () => void stop(drainMs))
// A terminal also sends this to the primary, which decides when to stop.
process.on('SIGINT', () => undefined)
// The primary reports that the service continues.
process.on('SIGHUP', () => undefined)

async function start({ config, calledAs: name }: ToWorker & { kind: 'start' }): Promise<void> {
  calledAs = name
  logLevel = config.logLevel
  drainMs = config.drainSeconds * 1_000
  starting = startService(config, { scrapeAll: shared(askPrimary) })
  try {
    const { url, minted, metricsUrl } = await starting
    tell({ kind: 'ready', url, minted, metricsUrl })
  } catch (error) {
    const message = explainStartFailure(error, calledAs)
    if (message === undefined) throw error
    tell({ kind: 'failed', message }, () => process.exit(1))
  }
}

/** Makes the primary query every worker, including this one. */
async function askPrimary(): Promise<string> {
  const answer = new Promise<string | undefined>((resolve) => (scraped = resolve))
  tell({ kind: 'scrape' })
  const text = await Promise.race([answer, sleep(workerMetricsTimeoutMs * 2, undefined, { ref: false })])
  if (text === undefined) throw new Error('the primary did not answer in time')
  return text
}

async function tellMetrics({ scrapeId, readsLedger }: ToWorker & { kind: 'read_metrics' }): Promise<void> {
  const service = await starting
  if (!service?.metrics) return
  const families = await service.metrics.families({ readsLedger })
  tell({ kind: 'metrics', scrapeId, families })
}

async function stop(requestsGoOnMs: number): Promise<void> {
  if (isStopping) return
  isStopping = true
  try {
    const service = await starting
    await service?.stop(requestsGoOnMs)
    process.exit(0)
  } catch (error) {
    writeLogLine(lineOf(error), { logLevel })
    process.exit(1)
  }
}

/** A worker that is told to stop while starting may learn here that the start failed. */
function lineOf(error: unknown): LogLine {
  const failure = explainStartFailure(error, calledAs)
  if (failure !== undefined) {
    return { level: 'error', msg: `A stopping worker could not start: ${failure}` }
  }
  const err = error instanceof Error ? error : new Error(String(error))
  return { level: 'error', msg: 'A worker could not shut down gracefully', err }
}

function tell(message: FromWorker, whenTold: () => void = () => undefined): void {
  process.send?.(message, undefined, undefined, whenTold)
}
