import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { giveToServer, serverUser } from './postgres-binaries.ts'

const program = '/usr/sbin/pgbouncer'

/** Why PgBouncer cannot be started here, if it cannot. */
export const pgBouncerMissing = existsSync(program) ? undefined : "Debian's pgbouncer is not installed here"

interface Context {
  readonly after: (clean: () => Promise<void>) => void
}

/**
 * Starts Debian's PgBouncer, which is older than 1.21, in front of a database's server, with these settings;
 * resolves to its address of the database. It ends with the test.
 */
export async function startPgBouncer(
  context: Context,
  url: string,
  settings: Readonly<Record<string, string | number>>,
): Promise<string> {
  const { hostname, port: serverPort, username, password } = new URL(url)
  const folder = mkdtempSync(join(tmpdir(), 'purser-pgbouncer-'))
  context.after(async () => rmSync(folder, { recursive: true, force: true }))
  const port = await freePort()
  const users = join(folder, 'users.txt')
  writeFileSync(users, `"${username}" "${password}"\n`)
  const ini = join(folder, 'pgbouncer.ini')
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: users,
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  writeFileSync(
    ini,
    ['[databases]', `* = host=${hostname} port=${serverPort}`, '[pgbouncer]', ...lines, ''].join('\n'),
  )
  for (const path of [folder, users, ini]) giveToServer(path)
  const bouncer = spawn(program, [ini], { stdio: ['ignore', 'ignore', 'pipe'], cwd: '/', ...serverUser })
  const ended = new Promise<void>((resolve) => bouncer.once('exit', () => resolve()))
  context.after(async () => {
    bouncer.kill('SIGKILL')
    await ended
  })
  let log = ''
  await new Promise<void>((resolve, reject) => {
    bouncer.once('error', reject)
    bouncer.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
      if (log.includes('process up')) resolve()
    })
    void ended.then(() => reject(new Error(`pgbouncer does not start: ${log}`)))
  })
  const address = new URL(url)
  address.port = String(port)
  return address.href
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
