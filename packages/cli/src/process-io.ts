import { homedir } from 'node:os'

import { exitCodes } from './exit-codes.ts'
import { readInput, readSecret } from './read-secret.ts'
import type { Io } from './io.ts'

/** The environment of this process. */
export function processIo(): Io {
  const { stdin, stdout, stderr } = process
  // A reader that closes the pipe, like `head` does, wants no more results. Messages may be lost: the command continues.
  let reported: Error | undefined
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error === reported) return
    if (error.code === 'EPIPE') process.exit()
    stderr.write(`purser: standard output could not be written (${error.message}).\n`)
    process.exit(exitCodes.failed)
  })
  stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  return {
    calledAs: process.env['npm_lifecycle_event'] === 'npx' ? 'npx purser' : 'purser',
    environment: process.env,
    folder: process.cwd(),
    homeFolder: homedir(),
    isTerminal: stdout.isTTY,
    columns: stdout.isTTY && stdout.columns > 0 ? stdout.columns : Number.POSITIVE_INFINITY,
    hasColours: stdout.isTTY && stdout.hasColors(),
    isWatched: stderr.isTTY,
    print: (text) => void stdout.write(`${text}\n`),
    write: (bytes) =>
      new Promise((resolve, reject) => {
        stdout.write(bytes, (error) => {
          if (!error) return resolve()
          reported = error
          reject(error)
        })
      }),
    printError: (text) => void stderr.write(`${text}\n`),
    overwrite: (line) => void stderr.write(`\r\u001b[2K${line}`),
    exitWith: (code) => void (process.exitCode = code),
    readSecret: (question) => readSecret({ stdin, stderr }, question),
    readInput: (question) => readInput({ stdin, stderr }, question),
    canAsk: stdin.isTTY && stderr.isTTY,
    interruption,
    now: Date.now,
    random: Math.random,
  }
}

/** How long a command may take to stop after Ctrl-C. */
const interruptionGraceMs = 800

let interrupted: AbortController | undefined

function interruption(): AbortSignal {
  if (!interrupted) {
    const controller = new AbortController()
    interrupted = controller
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (controller.signal.aborted) process.exit(exitCodes.interrupted)
        controller.abort()
        setTimeout(() => process.exit(exitCodes.interrupted), interruptionGraceMs).unref()
      })
    }
  }
  return interrupted.signal
}
