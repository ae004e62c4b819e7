import type { Config } from '../settings/config.ts'
import { startService, type RunningService } from '../start/start.ts'
import { tellStartFailure } from './start-failure.ts'
import { stopOnSignals } from './stop-on-signals.ts'
import { welcome } from './welcome.ts'

/** Starts the service in this process; resolves to whether it started. */
export async function serveAlone(config: Config, calledAs: string): Promise<boolean> {
  try {
    const service = await startService(config)
    // A signal may arrive as soon as the welcome is printed.
    stopOnSignals(config, { stop: (drainMs) => finish(service, drainMs) })
    console.log(welcome(service, config, calledAs))
    void service.ended.then((cause) => giveUp(service, cause))
    return true
  } catch (error) {
    tellStartFailure(error, calledAs)
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

async function finish(service: RunningService, drainMs: number): Promise<never> {
  try {
    await service.stop(drainMs)
  } catch (error) {
    console.error('Purser could not shut down gracefully:', error)
    process.exit(1)
  }
  process.exit(0)
}
