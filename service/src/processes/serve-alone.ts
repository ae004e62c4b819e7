import type { Config } from '../settings/config.ts'
import { startService, type RunningService } from '../start/start.ts'
import { explainStartFailure, tellStartFailure } from './start-failure.ts'
import { stopMessage } from './stop-message.ts'
import { welcome } from './welcome.ts'

/** Starts the service in this process; resolves to whether it started. */
export async function serveAlone(config: Config, calledAs: string): Promise<boolean> {
  try {
    const service = await startService(config)
    // A signal may arrive as soon as the welcome is printed.
    stopOnSignals(service, config)
    console.log(welcome(service, config))
    void service.ended.then((cause) => giveUp(service, cause))
    return true
  } catch (error) {
    const failure = explainStartFailure(error, calledAs)
    if (failure === undefined) throw error
    tellStartFailure(failure)
    return false
  }
}

/** A supervisor restarts the process; staying alive would mean answering 503 forever. */
async function giveUp(service: RunningService, cause: unknown): Promise<never> {
  const reason = cause instanceof Error ? cause.message : 'its thread has ended'
  console.error(
    `Purser exits: the ledger can no longer be written (${reason}). A restart reads what is on disk; retries with the same Idempotency-Key then report what was charged.`,
  )
  await service.stop().catch(() => undefined)
  process.exit(1)
}

/** Shuts down gracefully at the first signal, draining first at SIGTERM; a second signal exits immediately. */
function stopOnSignals(service: RunningService, { drainSeconds }: Config): void {
  let isStopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isStopping) process.exit(1)
      isStopping = true
      const seconds = signal === 'SIGTERM' ? drainSeconds : 0
      console.log(stopMessage(seconds))
      service.stop(seconds * 1_000).then(
        () => process.exit(0),
        (error: unknown) => {
          console.error('Purser could not shut down gracefully:', error)
          process.exit(1)
        },
      )
    })
  }
}
