import type { Config } from './config.ts'
import { ListenError, startService, type RunningService } from './start.ts'
import { StoreOpenError } from './store/store.ts'
import { welcome } from './welcome.ts'

/** Starts the service in this process; resolves to whether it started. */
export async function serveAlone(config: Config): Promise<boolean> {
  try {
    const service = await startService(config)
    // Whoever waits for the welcome may say stop the moment it is there.
    stopOnSignals(service)
    console.log(welcome(service, config))
    return true
  } catch (error) {
    if (!isStartFailure(error)) throw error
    console.error(`Purser cannot start: ${error.message}.`)
    return false
  }
}

/** Whether an error is one that its message explains in a sentence. */
export function isStartFailure(error: unknown): error is StoreOpenError | ListenError {
  return error instanceof StoreOpenError || error instanceof ListenError
}

/** Stops in good order at the first signal; a second one does not wait. */
function stopOnSignals(service: RunningService): void {
  let isStopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isStopping) process.exit(1)
      isStopping = true
      console.log('Purser is stopping: it finishes what it accepted.')
      service.stop().then(
        () => process.exit(0),
        (error: unknown) => {
          console.error('Purser could not stop in good order:', error)
          process.exit(1)
        },
      )
    })
  }
}
