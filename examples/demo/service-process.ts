import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const mainFile = fileURLToPath(new URL('../../service/src/main.ts', import.meta.url))
const startTimeoutMs = 10_000
const stopTimeoutMs = 3_000

/** The service in a separate process. */
export interface ServiceProcess {
  readonly url: string
  /** The operator's sandbox key, which the service prints once, if its store is empty. */
  readonly operatorKey: string
  /** Restarts it after a stop: same store, same URL, same keys. */
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Starts the service on a free port with an empty store in the folder. */
export async function startServiceProcess(folder: string): Promise<ServiceProcess> {
  let running = launch(folder, '0')
  try {
    const url = await running.printed(/ready at (\S+)\s/)
    const operatorKey = await running.printed(/PURSER_SANDBOX_KEY=(\S+)\s/)
    return {
      url,
      operatorKey,
      restart: async () => {
        running = launch(folder, new URL(url).port)
        await running.printed(/ready at (\S+)\s/)
      },
      stop: () => running.stop(),
    }
  } catch (error) {
    await running.stop()
    throw error
  }
}

function launch(folder: string, port: string) {
  const child = spawn(process.execPath, [mainFile], {
    cwd: folder, // So that your .env files have no effect.
    env: { PURSER_LOG_LEVEL: 'warn', ...process.env, ...settings(folder, port) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32', // So that Ctrl-C reaches only the demo, which then stops the service.
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const ended = new Promise<void>((resolve) => child.once('close', resolve).once('error', () => resolve()))
  // The demo leaves no process behind, however it ends.
  const killAtExit = () => child.kill('SIGKILL')
  process.prependOnceListener('exit', killAtExit)
  void ended.then(() => process.off('exit', killAtExit))

  return {
    /** The first group of the pattern, once the service has printed it. */
    printed(pattern: RegExp): Promise<string> {
      return new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(output)?.[1]
          if (found !== undefined) settle(() => resolve(found))
        }
        const settle = (act: () => void) => {
          clearTimeout(timer)
          child.stdout.off('data', look)
          act()
        }
        const fail = (what: string) =>
          settle(() => reject(new Error(`The service ${what}. It printed:\n${output}`)))
        const timer = setTimeout(
          () => fail(`was not ready within ${startTimeoutMs / 1000} s`),
          startTimeoutMs,
        )
        child.stdout.on('data', look)
        child.once('error', (error) => fail(`could not be started: ${error.message}`))
        void ended.then(() => fail('ended before it was ready'))
        look()
      })
    },
    stop: () => stop(child, ended),
  }
}

/** The demo's own settings; the service generates its keys and secret. */
function settings(folder: string, port: string): NodeJS.ProcessEnv {
  const names = ['BOOTSTRAP_SANDBOX_KEY', 'BOOTSTRAP_PRODUCTION_KEY', 'PROOF_SECRET']
  const unset = names.flatMap((name) => [`PURSER_${name}`, `PURSER_${name}_FILE`])
  return {
    ...Object.fromEntries(unset.map((name) => [name, undefined])),
    PURSER_HOST: '127.0.0.1',
    PURSER_PORT: port,
    PURSER_DATABASE: `sqlite:${join(folder, 'purser.db')}`,
  }
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
  await ended
  clearTimeout(timer)
}
