import { execFile, execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { compileCache } from '../../service/testing/compile-cache.ts'
import { projectFolder } from '../../tools/source-files.ts'

type Context = { readonly after: (stop: () => void) => void }
type Environment = Readonly<Record<string, string>>

/** What a program prints that a screen shows, run as its reader would run it. */
export async function runProgram(
  context: Context,
  program: string,
  environment: Environment,
): Promise<string> {
  const path = fileOf(context, program)
  const { stdout } = await promisify(execFile)(process.execPath, [path], {
    env: { PATH: process.env['PATH'], ...compileCache, ...environment },
    timeout: 30_000,
  })
  return stdout
}

/** The address of a server that a screen shows, on a port that is free; it ends with the test. */
export async function runServer(
  context: Context,
  program: string,
  environment: Environment,
): Promise<string> {
  const port = await freePort()
  const moved = program.replace(
    'app.listen(3000)',
    `app.listen(${port}, '127.0.0.1', () => console.log('open'))`,
  )
  if (moved === program) throw new Error('the program listens elsewhere now')
  const child = spawn(process.execPath, [fileOf(context, moved)], {
    env: { PATH: process.env['PATH'], ...compileCache, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  context.after(() => void child.kill())
  await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve)
    child.once('error', reject).once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
  })
  return `http://127.0.0.1:${port}`
}

/** What a `curl` line asks for, as the shell hands it over, sent as curl would send it. */
export async function runCurl(line: string, environment: Environment): Promise<Response> {
  const words = execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }; ${line}`], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...environment },
  })
  const headers = new Headers()
  let [method, url, body]: (string | undefined)[] = []
  const left = words.split('\0').slice(0, -1)
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const option = word.startsWith('-') ? word : undefined
    if (option === undefined) url = word
    else if (option === '-X') method = left.shift()
    else if (option === '-d') body = left.shift()
    else if (option === '-H') headers.append(...headerOf(left.shift() ?? ''))
    else throw new Error(`curl has no ${option} here`)
  }
  return fetch(url ?? '', { method: method ?? 'GET', headers, ...(body === undefined ? {} : { body }) })
}

function headerOf(text: string): [name: string, value: string] {
  const colon = text.indexOf(':')
  return [text.slice(0, colon), text.slice(colon + 1).trim()]
}

/** A file with a program, from where it finds the packages of this project. */
function fileOf(context: Context, program: string): string {
  const parent = join(projectFolder, 'node_modules/.cache')
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'purser-snippet-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'program.mjs')
  writeFileSync(path, program)
  return path
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
