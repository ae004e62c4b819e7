import type { Config } from './config.ts'
import { outliveReaders } from './standard-streams.ts'

/**
 * Starts the service, in this process or in several; it runs until a signal ends it. Resolves to whether
 * it started: if not, standard error says why, and names commands as `calledAs` has them.
 */
export async function serve(config: Config, calledAs: string): Promise<boolean> {
  outliveReaders()
  if (config.workers === 1) {
    const { serveAlone } = await import('./serve-alone.ts')
    return serveAlone(config, calledAs)
  }
  // Loaded apart: the primary of several processes does not need the application.
  const { serveWithWorkers } = await import('./workers.ts')
  return serveWithWorkers(config, calledAs)
}
