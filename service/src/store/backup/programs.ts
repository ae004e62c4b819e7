import { spawn, spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { text } from 'node:stream/consumers'

import { Client } from 'pg'

import { StoreOpenError } from '../open-error.ts'

/** A program of PostgreSQL, such as `pg_dump`, and the release that it is of. */
export interface PostgresProgram {
  readonly path: string
  readonly major: number
}

/**
 * The `pg_dump` or `pg_restore` that suits a server best: of its own release, else of the next newer one. Throws a
 * `StoreOpenError` that says what to install when there is none.
 */
export function findProgram(name: 'pg_dump' | 'pg_restore', serverMajor: number): PostgresProgram {
  const found = [...globSync(`/usr/lib/postgresql/*/bin/${name}`), name].flatMap(
    (path) => readMajor(path) ?? [],
  )
  const fit = found.filter(({ major }) => major >= serverMajor).sort((one, other) => one.major - other.major)
  if (fit[0]) return fit[0]
  const there = found.length === 0 ? 'is not installed here' : `here is of release ${found[0]?.major}`
  throw new StoreOpenError('program_missing', { program: name, there, needed: serverMajor })
}

function readMajor(path: string): PostgresProgram | undefined {
  const { status, stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 })
  const major = status === 0 ? /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1] : undefined
  return major === undefined ? undefined : { path, major: Number(major) }
}

export interface RunOptions {
  /** The database. */
  readonly url: string
  readonly flags: readonly string[]
  /** The variables of this process, such as PGPASSFILE; the address wins over them. */
  readonly environment: Environment
  readonly signal?: AbortSignal | undefined
}

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Runs a program of PostgreSQL on a database, and rejects with a `StoreOpenError` that has the end of what it wrote to
 * standard error when it fails. The password goes through the environment, where other users do not see it.
 */
export async function runProgram(
  { path }: PostgresProgram,
  { url, flags, environment, signal }: RunOptions,
): Promise<void> {
  signal?.throwIfAborted()
  const running = spawn(path, flags, {
    env: { ...environment, ...libpqEnvironment(url) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const stop = () => void running.kill('SIGKILL')
  signal?.addEventListener('abort', stop)
  try {
    const ended = new Promise<number | null>((resolve, reject) => {
      running.once('error', reject)
      running.once('close', resolve)
    })
    const [code, said] = await Promise.all([ended, text(running.stderr)])
    signal?.throwIfAborted()
    if (code === 0) return
    const cause = said.trim().slice(-toldCharacters) || `${path} ended with ${code}`
    throw new StoreOpenError('program_failed', { cause })
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

/** How much of what a program says is repeated. */
const toldCharacters = 1_000

/** The address of a database as programs of PostgreSQL read it from the environment. */
function libpqEnvironment(url: string): Record<string, string> {
  const { host, port, user, password, database } = new Client({ connectionString: url })
  const parameters = new URLSearchParams(url.split('?')[1] ?? '')
  // `pg` alone knows this mode.
  const sslmode = parameters.get('sslmode')?.replace('no-verify', 'require')
  const variables = {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password ?? undefined,
    PGDATABASE: database,
    PGSSLMODE: sslmode,
    PGSSLROOTCERT: parameters.get('sslrootcert') ?? undefined,
    PGSSLCERT: parameters.get('sslcert') ?? undefined,
    PGSSLKEY: parameters.get('sslkey') ?? undefined,
    PGAPPNAME: 'purser',
  }
  return Object.fromEntries(
    Object.entries(variables).filter(([, value]) => typeof value === 'string'),
  ) as Record<string, string>
}
