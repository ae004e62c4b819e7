import { readFileSync, readdirSync } from 'node:fs'

import { describeUrl } from '../service/src/store/ledger/postgres/address.ts'
import { openPool } from '../service/src/store/ledger/postgres/connection.ts'
import { startPostgres18 } from '../service/testing/postgres.ts'

/** The settings of a small production server: everything is durable, and there is memory for the tables. */
const settings = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  autovacuum: 'on',
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  min_wal_size: '512MB',
}

/** The PostgreSQL server of a run, and its databases. */
export class PostgresBed {
  readonly url: string
  readonly #pool: ReturnType<typeof openPool>
  /** The environment, for the report. */
  readonly server: string
  /** The server's first process, if it runs on this machine and its processes are visible. */
  readonly #mainProcess: number | undefined
  readonly #run = `purser_bench_${process.pid}`
  readonly #made = new Set<string>()

  /** The server named by `PURSER_BENCH_POSTGRES`, or a separate one for this run. */
  static async open(parentFolder: string): Promise<PostgresBed> {
    const named = process.env['PURSER_BENCH_POSTGRES']
    const url = named ?? (await startPostgres18({ settings, parentFolder }))
    const pool = openPool(url, { max: 1 })
    const { rows } = await pool.query<{ version: string; pid: number; durability: string }>(`
      select current_setting('server_version') as version, pg_backend_pid() as pid,
        (select string_agg(name || ' ' || current_setting(name), ', ') from unnest(
          array['fsync', 'full_page_writes', 'synchronous_commit', 'shared_buffers']) as name) as durability`)
    const [{ version, pid, durability } = { version: 'unknown', pid: 0, durability: '' }] = rows
    const place = named === undefined ? 'of this run' : `at ${describeUrl(named)}`
    const server = `PostgreSQL ${version} ${place}, ${durability}`
    return new PostgresBed({ url, pool, server, mainProcess: parentOf(pid) })
  }

  private constructor(parts: {
    readonly url: string
    readonly pool: ReturnType<typeof openPool>
    readonly server: string
    readonly mainProcess: number | undefined
  }) {
    this.url = parts.url
    this.#pool = parts.pool
    this.server = parts.server
    this.#mainProcess = parts.mainProcess
  }

  /** Creates a database, copied from another one of this run if named; resolves to its address. */
  async create(name: string, template?: string): Promise<string> {
    const from =
      template === undefined ? `encoding 'UTF8' template template0` : `template ${this.#full(template)}`
    await this.#pool.query(`create database ${this.#full(name)} ${from}`)
    this.#made.add(name)
    return this.#addressOf(name)
  }

  /** Analyzes and checkpoints a filled database, so that its copies start alike. */
  async settle(name: string): Promise<void> {
    const pool = openPool(this.#addressOf(name), { max: 1 })
    await pool.query('vacuum analyze')
    await pool.end()
  }

  async drop(name: string): Promise<void> {
    await this.#pool.query(`drop database ${this.#full(name)} with (force)`)
    this.#made.delete(name)
  }

  /** The processor time of all server processes so far; undefined if not visible. */
  cpuMicros(): number | undefined {
    const main = this.#mainProcess
    if (main === undefined) return undefined
    const processes = allProcesses()
    // The time of ended children is included in the first process's.
    const ended = processes.get(main)?.endedChildrenTicks ?? 0
    let ticks = ended
    for (const [pid, { parent, ownTicks }] of processes)
      if (pid === main || parent === main) ticks += ownTicks
    return ticks * microsPerTick
  }

  async close(): Promise<void> {
    for (const name of this.#made) await this.drop(name)
    await this.#pool.end()
  }

  #addressOf(name: string): string {
    const address = new URL(this.url)
    address.pathname = `/${this.#full(name)}`
    return address.href
  }

  #full(name: string): string {
    return `${this.#run}_${name}`
  }
}

/** Linux reports processor time in hundredths of a second. */
const microsPerTick = 10_000

interface ProcessTimes {
  readonly parent: number
  readonly ownTicks: number
  readonly endedChildrenTicks: number
}

function parentOf(pid: number): number | undefined {
  const found = readProcess(pid)
  return found?.isPostgres === true && readProcess(found.parent)?.isPostgres === true
    ? found.parent
    : undefined
}

function allProcesses(): Map<number, ProcessTimes> {
  const found = new Map<number, ProcessTimes>()
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    const times = Number.isInteger(pid) ? readProcess(pid) : undefined
    if (times) found.set(pid, times)
  }
  return found
}

/** A process's statistics from Linux; undefined if there is no such process, or no `/proc`. */
function readProcess(pid: number): (ProcessTimes & { readonly isPostgres: boolean }) | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const nameEnd = text.lastIndexOf(')')
    const fields = text
      .slice(nameEnd + 2)
      .split(' ')
      .map(Number)
    const [, parent = 0] = fields
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11)
    return {
      isPostgres: text.slice(0, nameEnd).endsWith('(postgres'),
      parent,
      ownTicks: user + system,
      endedChildrenTicks: endedUser + endedSystem,
    }
  } catch {
    return undefined
  }
}
