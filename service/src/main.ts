import { welcome } from './welcome.ts'
import { readConfig } from './config.ts'
import { ListenError, startService, type RunningService } from './start.ts'
import { StoreOpenError } from './store/store.ts'

const reading = readConfig(process.argv.slice(2), process.env, process.cwd())
if ('help' in reading) {
  console.log(reading.help)
} else if ('faults' in reading) {
  console.error(['Purser cannot start:', ...reading.faults.map((fault) => `  - ${fault}`)].join('\n'))
  process.exitCode = 1
} else {
  const { config } = reading
  try {
    const service = await startService(config)
    // Whoever waits for the welcome may say stop the moment it is there.
    stopOnSignals(service)
    console.log(welcome(service, config))
  } catch (error) {
    if (!(error instanceof StoreOpenError || error instanceof ListenError)) throw error
    console.error(`Purser cannot start: ${error.message}.`)
    process.exitCode = 1
  }
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
