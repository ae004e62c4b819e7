import type { CommandUnknownOpts } from '@commander-js/extra-typings'

/** A command, and every command below it. */
export function withAllBelow(command: CommandUnknownOpts): CommandUnknownOpts[] {
  return [command, ...command.commands.flatMap(withAllBelow)]
}

/** The words that call a command, after `purser`. */
export function pathOf(command: CommandUnknownOpts): string[] {
  return command.parent ? [...pathOf(command.parent), command.name()] : []
}

/** The command that words name, and what follows its name. */
export interface CalledCommand {
  readonly command: CommandUnknownOpts
  readonly rest: readonly string[]
}

/** The command that the words name, as far as they name one, and the words that follow. */
export function calledCommand(program: CommandUnknownOpts, words: readonly string[]): CalledCommand {
  const [word, ...rest] = words
  const next = program.commands.find((command) => command.name() === word)
  return next ? calledCommand(next, rest) : { command: program, rest: words }
}
