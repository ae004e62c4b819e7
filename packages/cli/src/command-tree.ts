import type { CommandUnknownOpts } from '@commander-js/extra-typings'

/** A command, and every command below it. */
export function withAllBelow(command: CommandUnknownOpts): CommandUnknownOpts[] {
  return [command, ...command.commands.flatMap(withAllBelow)]
}

/** The path of a command, after `purser`. */
export function pathOf(command: CommandUnknownOpts): string[] {
  return command.parent ? [...pathOf(command.parent), command.name()] : []
}

/** A command, and the args after its name. */
export interface CalledCommand {
  readonly command: CommandUnknownOpts
  readonly rest: readonly string[]
}

/** Finds the command in the args, and the remaining args. */
export function calledCommand(program: CommandUnknownOpts, words: readonly string[]): CalledCommand {
  const [word, ...rest] = words
  const next = program.commands.find((command) => command.name() === word)
  return next ? calledCommand(next, rest) : { command: program, rest: words }
}
