import type { Config } from '../settings/config.ts'
import { startService, type RunningService } from '../start/start.ts'
import { explainStartFailure, tellStartFailure } from './start-failure.ts'
import { stopMessage } from './stop-message.ts'
import { welcome } from './welcome.ts'

/** Starts the service in this process; resolves to whether it started. */
export async function serveAlone(config: Config, calledAs: string): Promise<boolean> {
  try {
    const service = await startService(config)
    // Whoever waits for the welcome may say stop the moment it is there.
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

/** Whoever watches the process starts it anew; one that stayed would answer 503 for ever. */
async function giveUp(service: RunningService, cause: unknown): Promise<never> {
  const reason = cause instanceof Error ? cause.message : 'its thread has ended'
  console.error(
    `Purser ends: nothing can be written to the ledger any more (${reason}). A new start reads what the disk has; retries with their Idempotency-Key then tell what was charged.`,
  )
  await service.stop().catch(() => undefined)
  process.exit(1)
}

/** Stops in good order at the first signal, and drains before that at SIGTERM; a second signal does not wait. */
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
          console.error('Purser could not stop in good order:', error)
          process.exit(1)
        },
      )
    })
  }
}
