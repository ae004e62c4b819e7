import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

import { mintApiKey } from '../service/src/domain/api-key.ts'

export interface ServiceProcess {
  readonly process: ChildProcess
  readonly port: number
  /** The owner's key of its sandbox. */
  readonly key: string
}

/** Starts the service of a checkout on a new ledger, as `npm start` does. */
export async function startService({
  folder,
  database,
  settings = {},
}: {
  readonly folder: string
  readonly database: string
  readonly settings?: Readonly<Record<string, string>>
}): Promise<ServiceProcess> {
  const key = mintApiKey('sandbox', randomBytes)
  const child = spawn(process.execPath, ['--max-semi-space-size=32', 'service/src/main.ts'], {
    cwd: folder,
    env: {
      ...process.env,
      PURSER_PORT: '0',
      PURSER_DATABASE: database,
      PURSER_PROOF_SECRET: randomBytes(32).toString('hex'),
      PURSER_BOOTSTRAP_SANDBOX_KEY: key,
      PURSER_BOOTSTRAP_PRODUCTION_KEY: mintApiKey('production', randomBytes),
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { process: child, port: await portOf(child), key }
}

async function portOf({ stdout }: ChildProcess): Promise<number> {
  if (stdout) {
    for await (const line of createInterface(stdout)) {
      const [, port] = /ready at http:\/\/[^:]+:(\d+)/.exec(line) ?? []
      if (port === undefined) continue
      stdout.resume()
      return Number(port)
    }
  }
  throw new Error('the service exited before it was ready')
}

export async function stopService(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null) return
  const exited = once(service, 'exit')
  service.kill('SIGTERM')
  await exited
}

/** CPU time of a service and its workers so far. Linux counts it in hundredths of a second. */
export function cpuMicrosOf({ pid }: ChildProcess): number {
  let ticks = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const fields = statFieldsOf(name)
    const [, parent] = fields
    if (Number(name) !== pid && parent !== pid) continue
    const [user = 0, system = 0] = fields.slice(11)
    ticks += user + system
  }
  return ticks * 10_000
}

/** The fields of `/proc/<process>/stat` after the name; empty if the process has just ended. */
function statFieldsOf(process: string): number[] {
  try {
    const text = readFileSync(`/proc/${process}/stat`, 'utf8')
    return text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
  } catch {
    return []
  }
}
