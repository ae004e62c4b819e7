import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { Client, type ClientConfig } from 'pg'

import { binariesFromNpm, giveToServer, serverUser } from '../../testing/postgres-binaries.ts'
import { mountSmallDisk, type SmallDisk } from './small-disk.ts'

/** How long a server may take until it answers again. */
const startTimeoutMs = 30_000

/** A separate PostgreSQL server for a run, which is killed and restarted on the same data. */
export class MortalPostgres {
  readonly port: number
  /** The disk of its data, or why it cannot be filled. */
  readonly disk: SmallDisk | { readonly missing: string }
  /** How many times the server was started. */
  starts = 0
  readonly #programs: string
  readonly #dataFolder: string
  readonly #password: string
  #process: ChildProcess | undefined

  private constructor(options: {
    readonly port: number
    readonly disk: MortalPostgres['disk']
    readonly programs: string
    readonly dataFolder: string
    readonly password: string
  }) {
    this.port = options.port
    this.disk = options.disk
    this.#programs = options.programs
    this.#dataFolder = options.dataFolder
    this.#password = options.password
  }

  /** A running server with an empty database `purser`; its data is below the folder. */
  static async start(folder: string): Promise<MortalPostgres> {
    const programs = binariesFromNpm().folder
    const diskFolder = join(folder, 'disk')
    const disk = await mountSmallDisk(diskFolder)
    const password = randomBytes(16).toString('hex')
    const passwordPath = join(folder, 'password')
    writeFileSync(passwordPath, password, { mode: 0o600 })
    for (const path of [folder, passwordPath, diskFolder]) giveToServer(path)
    const dataFolder = join(diskFolder, 'data')
    const server = new MortalPostgres({ port: await freePort(), disk, programs, dataFolder, password })
    const user = ['--username=purser', `--pwfile=${passwordPath}`, '--auth=password']
    const content = ['--encoding=UTF8', '--locale=C', '--no-sync', '--wal-segsize=4']
    server.#run('initdb', ['-D', dataFolder, ...user, ...content])
    await server.bringUp()
    const client = await server.connect('postgres')
    await client.query('create database purser')
    await client.end()
    return server
  }

  /** The address of the database, through a port that forwards to it. */
  urlAt(port: number): string {
    return `postgresql://purser:${this.#password}@127.0.0.1:${port}/purser`
  }

  async connect(database = 'purser'): Promise<Client> {
    const { port } = this
    const options = { host: '127.0.0.1', port, user: 'purser', password: this.#password, database }
    const client = new Client({ ...options, connectionTimeoutMillis: 5_000 } satisfies ClientConfig)
    client.on('error', () => undefined)
    await client.connect()
    return client
  }

  /** Starts the server unless it is running, and resolves when it answers. */
  async bringUp(): Promise<void> {
    const giveUpAtMs = performance.now() + startTimeoutMs
    for (;;) {
      if (!this.#isRunning()) this.#process = this.#spawn()
      try {
        const client = await this.connect('postgres')
        await client.end()
        return
      } catch (error) {
        if (performance.now() > giveUpAtMs) throw error
        await sleep(50)
      }
    }
  }

  /** Kills the server and all its processes immediately. */
  async kill(): Promise<void> {
    const server = this.#process
    if (!server || !this.#isRunning()) return
    const ended = once(server, 'exit')
    const children = this.#children()
    server.kill('SIGKILL')
    for (const pid of children) killIfThere(pid)
    await ended
  }

  /** Kills one backend process, after which the server restarts all of them. */
  async killBackend(): Promise<boolean> {
    const client = await this.connect('postgres')
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = 'purser' and backend_type = 'client backend' limit 1`,
    )
    await client.end()
    const [backend] = rows
    return backend !== undefined && killIfThere(backend.pid)
  }

  async close(): Promise<void> {
    await this.kill()
    if ('close' in this.disk) await this.disk.close()
    rmSync(this.#dataFolder, { recursive: true, force: true })
  }

  #isRunning(): boolean {
    return this.#process?.exitCode === null && this.#process.signalCode === null
  }

  #spawn(): ChildProcess {
    this.starts++
    const settings = {
      port: this.port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: 60,
      shared_buffers: '32MB',
      max_wal_size: '32MB',
      min_wal_size: '8MB',
      // Processes are killed, never the machine: nothing needs to be synced to disk.
      fsync: 'off',
      autovacuum: 'off',
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const [program = '', ...rest] = this.#command('postgres', ['-D', this.#dataFolder, ...flags])
    return spawn(program, rest, { stdio: 'ignore', cwd: '/', ...this.#user() })
  }

  #run(name: string, flags: readonly string[]): void {
    const [program = '', ...rest] = this.#command(name, flags)
    const { status, stderr, error } = spawnSync(program, rest, {
      cwd: '/',
      encoding: 'utf8',
      ...this.#user(),
    })
    if (status !== 0) throw new Error(`${name} failed: ${error?.message ?? stderr}`)
  }

  /**
   * Runs the program where the disk is mounted; only root may enter there, so it switches to the server's
   * user afterwards.
   */
  #command(name: string, flags: readonly string[]): readonly string[] {
    const program = join(this.#programs, name)
    if (process.platform !== 'linux') return [program, ...flags]
    // The server must not outlive the run, whatever happens.
    const mortal = ['setpriv', '--pdeathsig=QUIT']
    if (!('prefix' in this.disk)) return [...mortal, program, ...flags]
    const { uid, gid } = serverUser
    const user = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
    return [...this.disk.prefix, ...mortal, ...user, program, ...flags]
  }

  #user(): typeof serverUser {
    return 'prefix' in this.disk ? {} : serverUser
  }

  #children(): number[] {
    const { pid } = this.#process ?? {}
    if (pid === undefined || process.platform !== 'linux') return []
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return text.split(' ').filter(Boolean).map(Number)
  }
}

function killIfThere(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
