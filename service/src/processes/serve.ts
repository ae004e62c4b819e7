import { warningsOf, type Config } from '../settings/config.ts'
import { writeLogLine } from './log-line.ts'
import { outliveReaders } from './standard-streams.ts'
import { tellStartFailure } from './start-failure.ts'

/**
 * Starts the service, in this process or in several; it runs until a signal. Resolves to whether it started. If not,
 * standard error says why, with commands spelled like `calledAs`.
 */
export async function serve(config: Config, calledAs: string): Promise<boolean> {
  outliveReaders()
  outliveTerminal(config)
  for (const msg of warningsOf(config)) writeLogLine({ level: 'warn', msg }, config)
  if (!(await isLedgerFit(config, calledAs))) return false
  if (config.workers === 1) {
    const { serveAlone } = await import('./serve-alone.ts')
    return serveAlone(config, calledAs)
  }
  // Loaded on demand: the primary of several processes does not need the application.
  const { serveWithWorkers } = await import('./workers.ts')
  return serveWithWorkers(config, calledAs)
}

/** Checks the ledger once, before any process opens it; standard error shows problems. */
async function isLedgerFit(config: Config, calledAs: string): Promise<boolean> {
  const { checkLedgerPlace } = await import('../start/ledger-place.ts')
  try {
    for (const msg of await checkLedgerPlace(config, 'start')) writeLogLine({ level: 'warn', msg }, config)
    return true
  } catch (error) {
    tellStartFailure(error, calledAs)
    return false
  }
}

/** A closed terminal, or an attempt to reload settings, must not end payments. */
function outliveTerminal(config: Config): void {
  const msg = 'SIGHUP ignored: settings are read at startup only'
  process.on('SIGHUP', () => writeLogLine({ level: 'info', msg }, config))
}
