import { CommanderError } from '@commander-js/extra-typings'

import { explainClientError } from './client-errors.ts'
import { calledCommand, pathOf } from './command-tree.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { harmlessLines } from './output/harmless.ts'
import { createProgram } from './program.ts'
import { refuseKeys } from './refuse-keys.ts'
import type { Surroundings } from './surroundings.ts'

/** Runs the command that the words name; resolves to the exit code. What goes wrong is told on standard error. */
export async function runPurser(words: readonly string[], surroundings: Surroundings): Promise<number> {
  let exitCode: number = exitCodes.done
  const here = { ...surroundings, exitWith: (code: number) => void (exitCode = code) }
  const program = await createProgram(words, here)
  try {
    refuseKeys(words)
    await program.parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    const { command, rest } = calledCommand(program, words)
    if (error instanceof CommanderError) {
      // Help and version, asked for, or the help that stands in for a command that was left out.
      if (error.code.startsWith('commander.help') || error.code === 'commander.version') {
        return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
      }
      const message =
        error.code === 'commander.unknownCommand'
          ? unknownCommand([...pathOf(command), ...rest.slice(0, 1)], error.message)
          : wrongCall(error)
      here.printError(harmlessLines(`${message}\n\n${helpHint(pathOf(command))}`))
      return exitCodes.usage
    }
    const explained = explain(error)
    if (!explained) throw error
    const { message, exitCode: code } = explained
    // Whoever pressed Ctrl-C knows.
    if (code === exitCodes.interrupted) return code
    const name = ['purser', ...pathOf(command)].join(' ')
    here.printError(
      harmlessLines(
        code === exitCodes.usage
          ? `${message}\n\n${helpHint(pathOf(command))}`
          : `${name}: ${message.replace(/\.$/, '')}.`,
      ),
    )
    return code
  }
}

interface Explained {
  readonly message: string
  readonly exitCode: number
}

/** What an error says to a person, and the exit code; undefined when it is a bug. */
function explain(error: unknown): Explained | undefined {
  if (error instanceof CommandError) return error
  // The service's own errors, of a package that may be installed apart.
  if (error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number') {
    return { message: error.message, exitCode: error.exitCode }
  }
  if (error instanceof Error && error.name === 'AbortError') {
    return { message: 'interrupted', exitCode: exitCodes.interrupted }
  }
  return explainClientError(error)
}

function unknownCommand(words: readonly string[], message: string): string {
  const suggestion = message.split('\n')[1]
  const lines = [`purser has no command ${JSON.stringify(words.join(' '))}.`]
  return [...lines, ...(suggestion ? [suggestion] : [])].join('\n')
}

function helpHint(path: readonly string[]): string {
  return `${['purser', ...path, '--help'].join(' ')} says more.`
}

/** How the parser was called wrongly, as a sentence. */
function wrongCall({ code, message }: CommanderError): string {
  const [, missing = ''] = /'([^ ']+)/.exec(message) ?? []
  if (code === 'commander.missingMandatoryOptionValue') return `${missing} is missing`
  if (code === 'commander.missingArgument') return `<${missing}> is missing`
  const text = message.replace(/^error: /, '')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
