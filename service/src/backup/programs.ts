import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'

import { Client } from 'pg'

import { StoreOpenError } from '../store/open-error.ts'
import { runToEnd } from './run-program.ts'

/** A program of PostgreSQL, such as `pg_dump`, with its release. */
export interface PostgresProgram {
  readonly path: string
  readonly major: number
}

/**
 * The `pg_dump` or `pg_restore` that suits a server best: of the same release, otherwise of the next newer one. Throws a
 * `StoreOpenError` that says what to install if there is none.
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
  /** This process's variables, such as PGPASSFILE; the address takes precedence. */
  readonly environment: Environment
  readonly signal?: AbortSignal | undefined
}

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Runs a program of PostgreSQL on a database. If it fails, rejects with a `StoreOpenError` that has the end of its standard
 * error. The password is passed in the environment, where other users do not see it.
 */
export async function runProgram(
  program: PostgresProgram,
  { url, flags, environment, signal }: RunOptions,
): Promise<void> {
  const env = {
    ...environment,
    ...elsewhere,
    ...libpqEnvironment(url),
    ...systemAuthorities(program, { url, environment }),
  }
  try {
    await runToEnd(program.path, flags, { env, signal })
  } catch (error) {
    signal?.throwIfAborted()
    throw new StoreOpenError('program_failed', { cause: (error as Error).message.slice(-maxCauseLength) })
  }
}

/** How much of a program's standard error is repeated. */
const maxCauseLength = 1_000

/** Variables that would lead libpq to another server than the address. */
const elsewhere = { PGSERVICE: undefined, PGHOSTADDR: undefined, PGTARGETSESSIONATTRS: undefined }

/** A database's address as libpq's environment variables. */
function libpqEnvironment(url: string): Record<string, string> {
  const { host, port, user, password, database } = new Client({ connectionString: url })
  const parameters = new URLSearchParams(url.split('?')[1] ?? '')
  const variables = {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: database,
    // Only `pg` knows `no-verify`.
    PGSSLMODE: parameters.get('sslmode')?.replace('no-verify', 'require'),
    PGSSLROOTCERT: parameters.get('sslrootcert'),
    PGSSLCERT: parameters.get('sslcert'),
    PGSSLKEY: parameters.get('sslkey'),
    PGAPPNAME: 'purser',
  }
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )
}

/**
 * Makes libpq verify the server with the system's certificate authorities if nothing else is set, like `pg` does. Throws a
 * `StoreOpenError` if the program cannot.
 */
function systemAuthorities(
  { path, major }: PostgresProgram,
  { url, environment }: Pick<RunOptions, 'url' | 'environment'>,
): Record<string, string> {
  const parameters = new URLSearchParams(url.split('?')[1] ?? '')
  if (!parameters.get('sslmode')?.startsWith('verify-')) return {}
  const ownFile = join(environment['HOME'] ?? homedir(), '.postgresql/root.crt')
  if (parameters.get('sslrootcert') || environment['PGSSLROOTCERT'] || existsSync(ownFile)) return {}
  // libpq accepts these authorities only with this mode.
  if (major >= 16) return { PGSSLMODE: 'verify-full', PGSSLROOTCERT: 'system' }
  const cause = `${basename(path)} of release ${major} does not know the system's certificate authorities; add their file to the address, as in sslrootcert=/etc/ssl/certs/ca-certificates.crt`
  throw new StoreOpenError('program_failed', { cause })
}
