/**
 * The service as it is started alone, with limits that no setting has: clients that read nothing are
 * disconnected after a second instead of half a minute, and any named protection can be turned off to show
 * what it is for.
 */
import type { AppLimits } from '../src/app.ts'
import { readConfig } from '../src/settings/config.ts'
import { connectionLimits } from '../src/limits.ts'
import { startService } from '../src/start/start.ts'

const limits = { connections: { ...connectionLimits, writeTimeoutMs: 1_000 } } satisfies AppLimits

/** The application's options if a protection is turned off. */
const without = {
  nothing: limits,
  'turns of accounts': { ...limits, reads: { maxInProgress: Infinity, maxWaiting: Infinity } },
  'bounds of connections': {
    connections: {
      ...connectionLimits,
      oneAtATime: false,
      writeTimeoutMs: Infinity,
      maxBuffered: Infinity,
      maxBufferedOfConnection: Infinity,
    },
  },
} satisfies Record<string, AppLimits>

/** A protection that can be turned off. */
export type Bound = keyof typeof without

if (import.meta.main) {
  const [bound, ...flags] = process.argv.slice(2) as [Bound, ...string[]]
  const reading = readConfig(flags, process.env, process.cwd())
  if (!('config' in reading)) throw new Error(JSON.stringify(reading))
  const { url } = await startService(reading.config, { limits: without[bound] })
  console.log(`Purser is ready at ${url}\n`)
}
