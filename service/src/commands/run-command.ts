import { StoreOpenError } from '../store/store.ts'
import {
  CommandError,
  exitCodes,
  UsageError,
  type Command,
  type ExitCode,
  type Surroundings,
} from './command.ts'
import { migrateCopy } from './migrate-copy.ts'
import { migrateStatus } from './migrate-status.ts'
import { migrateUp } from './migrate-up.ts'
import { serveCommand } from './serve.ts'

/** Every command, in the order in which `purser --help` lists them. */
const commands: readonly Command[] = [serveCommand, migrateStatus, migrateUp, migrateCopy]

/** Runs the command that the words name; resolves to the exit code. */
export async function runCommand(words: readonly string[], surroundings: Surroundings): Promise<ExitCode> {
  const { print, printError } = surroundings
  const command = commands.find(({ name }) => startsWith(words, name.split(' ')))
  if (!command) return answerNoCommand(words, surroundings)
  const args = words.slice(command.name.split(' ').length)
  if (asksForHelp(args)) {
    print(command.help)
    return exitCodes.done
  }
  try {
    return await command.run(args, surroundings)
  } catch (error) {
    if (error instanceof UsageError) {
      printError(`${error.message}\n\npurser ${command.name} --help says more.`)
      return exitCodes.usage
    }
    if (error instanceof CommandError || error instanceof StoreOpenError) {
      printError(`purser ${command.name}: ${error.message}.`)
      return exitCodes.failed
    }
    throw error
  }
}

/** The list of commands, or of those that begin with the words, such as `purser migrate`. */
function answerNoCommand(words: readonly string[], { print, printError }: Surroundings): ExitCode {
  const begun = words.filter((word) => !word.startsWith('-'))
  const listed = commands.filter(({ name }) => startsWith(name.split(' '), begun))
  if (listed.length > 0 && words.every((word) => begun.includes(word) || isHelp(word))) {
    const isAsked = words.some(isHelp)
    ;(isAsked ? print : printError)(listOf(listed))
    return isAsked ? exitCodes.done : exitCodes.usage
  }
  printError(`purser has no command ${JSON.stringify(words.join(' '))}.\n\n${listOf(commands)}`)
  return exitCodes.usage
}

function listOf(listed: readonly Command[]): string {
  return [
    'Purser: spending mandates for software agents.',
    '',
    'Usage: purser <command> [flags]',
    '',
    ...listed.map(({ name, summary }) => `  ${name.padEnd(16)} ${summary}`),
    '',
    'purser <command> --help says more about one of them.',
    'Exit codes: 0 done, 1 failed, 2 called wrongly.',
  ].join('\n')
}

function startsWith(words: readonly string[], beginning: readonly string[]): boolean {
  return beginning.every((word, index) => words[index] === word)
}

function asksForHelp(args: readonly string[]): boolean {
  return args.some(isHelp)
}

function isHelp(word: string): boolean {
  return word === '--help' || word === '-h' || word === 'help'
}
