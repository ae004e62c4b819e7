import type { Config } from '../settings/config.ts'

/** Shuts down gracefully at the first signal, draining first at SIGTERM; a second signal exits immediately. */
export function stopOnSignals(
  { drainSeconds }: Pick<Config, 'drainSeconds'>,
  { stop, kill }: { readonly stop: (drainMs: number) => Promise<void>; readonly kill?: () => void },
): void {
  let isStopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isStopping) {
        kill?.()
        process.exit(1)
      }
      isStopping = true
      const seconds = signal === 'SIGTERM' ? drainSeconds : 0
      const first = seconds === 0 ? '' : `it accepts requests for another ${seconds} s, then `
      console.log(`Purser is stopping: ${first}it finishes accepted requests.`)
      void stop(seconds * 1_000)
    })
  }
}
