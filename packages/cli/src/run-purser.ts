import { CommanderError } from '@commander-js/extra-typings'

import { explainClientError } from './client-errors.ts'
import { calledCommand, pathOf, type CalledCommand } from './command-tree.ts'
import { codeOf } from './error-code.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { harmlessLines } from './output/harmless.ts'
import { createProgram } from './program.ts'
import { refuseKeys } from './refuse-keys.ts'
import type { Io } from './io.ts'
import { wrongCall } from './wrong-call.ts'

/** Runs a command; resolves to the exit code. Reports errors on standard error. */
export async function runPurser(words: readonly string[], io: Io): Promise<number> {
  let exitCode: number = exitCodes.done
  const here = { ...io, exitWith: (code: number) => void (exitCode = code) }
  const program = await createProgram(words, here)
  try {
    refuseKeys(words, io)
    await program.parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    return tellFailure(error, calledCommand(program, words), here)
  }
}

/** Reports why a command failed, and returns the exit code. Rethrows bugs. */
function tellFailure(error: unknown, called: CalledCommand, io: Io): number {
  const { printError, calledAs } = io
  const path = pathOf(called.command)
  const hint = `${[calledAs, ...path, '--help'].join(' ')} shows its usage.`
  if (error instanceof CommanderError) {
    // Help and version output, or the help for a missing command, has already been printed.
    const isSaid = error.code.startsWith('commander.help') || error.code === 'commander.version'
    if (!isSaid) printError(harmlessLines(`${wrongCall(error, called, calledAs)}\n\n${hint}`))
    return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  }
  // A reader that closes the pipe, like `head` does, wants no more results.
  if (codeOf(error) === 'EPIPE') return exitCodes.done
  const explained = explain(error, io)
  if (!explained) throw error
  const { message, exitCode } = explained
  if (exitCode === exitCodes.usage) {
    printError(harmlessLines(`${message}\n\n${hint}`))
  } else if (exitCode !== exitCodes.interrupted) {
    // No message is needed after Ctrl-C.
    printError(
      harmlessLines(`${['purser', ...path].join(' ')}: ${message}${message.endsWith('.') ? '' : '.'}`),
    )
  }
  return exitCode
}

interface Explained {
  readonly message: string
  readonly exitCode: number
}

/** The message and exit code for an error; undefined for a bug. */
function explain(error: unknown, io: Io): Explained | undefined {
  if (error instanceof CommandError) return error
  // Errors of the service package, which may be installed separately.
  if (error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number') {
    return { message: error.message, exitCode: error.exitCode }
  }
  if (error instanceof Error && error.name === 'AbortError') {
    return { message: 'interrupted', exitCode: exitCodes.interrupted }
  }
  // A file or folder that cannot be used: no permission, no space, a name that is too long.
  if (error instanceof Error && 'syscall' in error && ('path' in error || error.syscall === 'write')) {
    return { message: `the operating system refused it (${error.message})`, exitCode: exitCodes.failed }
  }
  return explainClientError(error, io)
}
