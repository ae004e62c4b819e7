// Runs one PostgreSQL server for the process that started this one, and removes it and its data when that
// process ends, however it dies: then the pipe to it closes.
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'

interface Order {
  readonly program: string
  readonly flags: readonly string[]
  readonly dataFolder: string
  readonly user: { readonly uid?: number; readonly gid?: number }
}

const { program, flags, dataFolder, user } = JSON.parse(process.argv[2] ?? '') as Order

const server = spawn(program, ['-D', dataFolder, ...flags], { stdio: ['ignore', 'ignore', 'pipe'], ...user })
let log = ''
let isReady = false
server.stderr.setEncoding('utf8').on('data', (text: string) => {
  if (isReady) return
  log += text
  if (!log.includes('database system is ready to accept connections')) return
  isReady = true
  process.stdout.write(`ready ${server.pid}\n`)
})
server.on('error', (error) => process.stdout.write(`failed ${error.message}\n`))
server.on('exit', () => {
  if (!isReady) process.stdout.write(`failed ${log.replaceAll('\n', ' ')}\n`)
  rmSync(dirname(dataFolder), { recursive: true, force: true })
  process.exit(0)
})

// Nothing is written to it: it ends when the other side is gone. SIGQUIT stops the server without waiting.
process.stdin.resume().on('close', () => server.kill('SIGQUIT'))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
