import { warningsOf, type Config } from '../settings/config.ts'
import { writeLogLine } from './log-line.ts'
import { outliveReaders } from './standard-streams.ts'
import { explainStartFailure, tellStartFailure } from './start-failure.ts'

/**
 * Starts the service, in this process or in several; it runs until a signal ends it. Resolves to whether
 * it started: if not, standard error says why, and names commands as `calledAs` has them.
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
  // Loaded apart: the primary of several processes does not need the application.
  const { serveWithWorkers } = await import('./workers.ts')
  return serveWithWorkers(config, calledAs)
}

/** Looks at the ledger once, before any process opens it; standard error says what is wrong. */
async function isLedgerFit(config: Config, calledAs: string): Promise<boolean> {
  const { checkLedgerPlace } = await import('../start/ledger-place.ts')
  try {
    for (const msg of await checkLedgerPlace(config, 'start')) writeLogLine({ level: 'warn', msg }, config)
    return true
  } catch (error) {
    const failure = explainStartFailure(error, calledAs)
    if (failure === undefined) throw error
    tellStartFailure(failure)
    return false
  }
}

/** A terminal that closes, or who expects that settings are read anew, must not end payments. */
function outliveTerminal(config: Config): void {
  const msg = 'SIGHUP: the service goes on; its settings are read at the start only'
  process.on('SIGHUP', () => writeLogLine({ level: 'info', msg }, config))
}
