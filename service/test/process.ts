import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { compileCache } from '../testing/compile-cache.ts'

/** The service in a separate process, like `npm start`. */
export interface ServiceProcess {
  readonly pid: number
  readonly stdout: () => string
  readonly stderr: () => string
  /** Resolves to the match once its standard output matches; rejects if the process ends before. */
  readonly sees: (pattern: RegExp) => Promise<RegExpExecArray>
  /** Stops reading its output: its next write fails. */
  readonly stopReading: (stream: 'stdout' | 'stderr') => void
  /** How it ended, with everything that it wrote. */
  readonly ended: Promise<Ending>
  /** Sends a signal, and resolves to how the process ended. */
  readonly kill: (signal: NodeJS.Signals) => Promise<Ending>
}

/** A service process that answers. */
export interface ReadyProcess extends ServiceProcess {
  readonly url: string
  /** From its start to the line that says it is ready. */
  readonly startMs: number
}

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface ProcessOptions {
  /** The working folder, with `.env` and `data/`. */
  readonly folder: string
  /**
   * The environment; otherwise only PATH and the compile cache are passed on, and PURSER_PORT defaults to 0.
   */
  readonly settings?: Readonly<Record<string, string>>
  readonly flags?: readonly string[]
  /** What to run: `main.ts`, as `npm start` does, by default; or the `purser` command. */
  readonly program?: keyof typeof programs
  /** Another script to run instead. */
  readonly script?: string
  /** The Node to run it with; the tests' own by default. */
  readonly node?: string
}

type Context = { readonly after: (stop: () => Promise<void>) => void }

const programs = {
  'main.ts': join(import.meta.dirname, '../src/main.ts'),
  'purser.ts': join(import.meta.dirname, '../../packages/cli/src/purser.ts'),
}

/** A folder for one test, removed when the test ends. */
export function makeFolder(context: Context): string {
  const folder = mkdtempSync(join(tmpdir(), 'purser-test-'))
  context.after(async () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts the service and waits until it answers. */
export async function startProcess(context: Context, options: ProcessOptions): Promise<ReadyProcess> {
  const startedAtMs = performance.now()
  const service = spawnProcess(context, options)
  const [, url = ''] = await service.sees(/Purser is ready at (http\S+)\n/)
  return { ...service, url, startMs: performance.now() - startedAtMs }
}

/** Starts the service and waits until it exits by itself: for starts that are refused. */
export function runProcess(context: Context, options: ProcessOptions): Promise<Ending> {
  const service = spawnProcess(context, options)
  // A start that is not refused would not exit, and fails the test.
  const end = () => service.kill('SIGKILL')
  service.sees(/Purser is ready/).then(end, () => undefined)
  return service.ended
}

/** Starts the service. Whatever happens to the test, the process does not outlive it. */
export function spawnProcess(
  context: Context,
  { folder, settings, flags = [], program = 'main.ts', script, node = process.execPath }: ProcessOptions,
): ServiceProcess {
  const child = spawn(node, [script ?? programs[program], ...flags], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...compileCache, PURSER_PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  let watchers: (() => void)[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    for (const look of watchers) look()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = new Promise<Ending>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  const kill = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return ended
  }
  context.after(async () => void (await kill('SIGKILL')))

  function sees(pattern: RegExp): Promise<RegExpExecArray> {
    const found = pattern.exec(stdout)
    if (found) return Promise.resolve(found)
    return new Promise((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(stdout)
        if (!match) return
        watchers = watchers.filter((watcher) => watcher !== look)
        resolve(match)
      }
      watchers.push(look)
      const giveUp = () => reject(new Error(`the service ended without ${pattern}:\n${stdout}\n${stderr}`))
      ended.then(giveUp, reject)
    })
  }

  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    sees,
    stopReading: (stream) => child[stream].destroy(),
    ended,
    kill,
  }
}
