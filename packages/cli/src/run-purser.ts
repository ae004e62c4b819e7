import { CommanderError } from '@commander-js/extra-typings'

import { explainClientError } from './client-errors.ts'
import { calledCommand, pathOf, type CalledCommand } from './command-tree.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { harmlessLines } from './output/harmless.ts'
import { createProgram } from './program.ts'
import { refuseKeys } from './refuse-keys.ts'
import type { Surroundings } from './surroundings.ts'
import { wrongCall } from './wrong-call.ts'

/** Runs the command that the words name; resolves to the exit code. What goes wrong is told on standard error. */
export async function runPurser(words: readonly string[], surroundings: Surroundings): Promise<number> {
  let exitCode: number = exitCodes.done
  const here = { ...surroundings, exitWith: (code: number) => void (exitCode = code) }
  const program = await createProgram(words, here)
  try {
    refuseKeys(words, surroundings)
    await program.parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    return tellFailure(error, calledCommand(program, words), here)
  }
}

/** Says why a command failed; gives the exit code. Throws what is no failure but a bug. */
function tellFailure(error: unknown, called: CalledCommand, surroundings: Surroundings): number {
  const { printError, calledAs } = surroundings
  const path = pathOf(called.command)
  const hint = `${[calledAs, ...path, '--help'].join(' ')} says more.`
  if (error instanceof CommanderError) {
    // Help and version, asked for, or the help that stands in for a command that was left out: said already.
    const isSaid = error.code.startsWith('commander.help') || error.code === 'commander.version'
    if (!isSaid) printError(harmlessLines(`${wrongCall(error, called, calledAs)}\n\n${hint}`))
    return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  }
  const explained = explain(error, surroundings)
  if (!explained) throw error
  const { message, exitCode } = explained
  if (exitCode === exitCodes.usage) {
    printError(harmlessLines(`${message}\n\n${hint}`))
  } else if (exitCode !== exitCodes.interrupted) {
    // Whoever pressed Ctrl-C knows; all others are told.
    printError(harmlessLines(`${['purser', ...path].join(' ')}: ${message.replace(/\.$/, '')}.`))
  }
  return exitCode
}

interface Explained {
  readonly message: string
  readonly exitCode: number
}

/** What an error says to a person, and the exit code; undefined when it is a bug. */
function explain(error: unknown, surroundings: Surroundings): Explained | undefined {
  if (error instanceof CommandError) return error
  // The service's own errors, of a package that may be installed apart.
  if (error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number') {
    return { message: error.message, exitCode: error.exitCode }
  }
  if (error instanceof Error && error.name === 'AbortError') {
    return { message: 'interrupted', exitCode: exitCodes.interrupted }
  }
  return explainClientError(error, surroundings)
}
