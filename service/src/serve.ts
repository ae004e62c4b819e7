import type { Config } from './config.ts'

/**
 * Starts the service, in this process or in several; it runs until a signal ends it. Resolves to whether
 * it started: if not, standard error says why.
 */
export async function serve(config: Config): Promise<boolean> {
  if (config.workers === 1) {
    const { serveAlone } = await import('./serve-alone.ts')
    return serveAlone(config)
  }
  // Loaded apart: the primary of several processes does not need the application.
  const { serveWithWorkers } = await import('./workers.ts')
  return serveWithWorkers(config)
}
