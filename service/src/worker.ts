/** One of several processes of the service, started by `workers.ts`, which hands it its settings. */

import type { Config } from './config.ts'
import { writeLogLine, type LogLine } from './log-line.ts'
import { isStartFailure } from './serve-alone.ts'
import { outliveReaders } from './standard-streams.ts'
import { startService, type RunningService } from './start.ts'
import type { FromWorker, ToWorker } from './worker-messages.ts'

outliveReaders()

let starting: Promise<RunningService> | undefined
let isStopping = false
let logLevel: Config['logLevel'] = 'info'

process.on('message', (message: ToWorker) => {
  switch (message.kind) {
    case 'start':
      void start(message.config)
      break
    case 'stop':
      void stop()
      break
    default:
      message satisfies never
  }
})
process.on('SIGTERM', () => void stop())
// A terminal sends this to the primary, too, which says when to stop.
process.on('SIGINT', () => undefined)

async function start(config: Config): Promise<void> {
  logLevel = config.logLevel
  starting = startService(config)
  try {
    const { url, minted } = await starting
    tell({ kind: 'ready', url, minted })
  } catch (error) {
    if (!isStartFailure(error)) throw error
    tell({ kind: 'failed', message: error.message }, () => process.exit(1))
  }
}

async function stop(): Promise<void> {
  if (isStopping) return
  isStopping = true
  try {
    const service = await starting
    await service?.stop()
    process.exit(0)
  } catch (error) {
    writeLogLine(lineOf(error), { logLevel })
    process.exit(1)
  }
}

/** A worker that waits for its own start to stop learns there that it could not start. */
function lineOf(error: unknown): LogLine {
  if (isStartFailure(error)) {
    return { level: 'error', msg: `A worker that was told to stop could not start: ${error.message}` }
  }
  const err = error instanceof Error ? error : new Error(String(error))
  return { level: 'error', msg: 'A worker could not stop in good order', err }
}

function tell(message: FromWorker, whenTold: () => void = () => undefined): void {
  process.send?.(message, undefined, undefined, whenTold)
}
