import type { CommanderError, CommandUnknownOpts } from '@commander-js/extra-typings'

import { pathOf, withAllBelow, type CalledCommand } from './command-tree.ts'

/** Explains a usage error in a sentence, with the parser's suggestion. */
export function wrongCall(
  { code, message }: CommanderError,
  { command, rest }: CalledCommand,
  calledAs: string,
): string {
  const [, ...suggestion] = message.split('\n')
  switch (code) {
    case 'commander.missingMandatoryOptionValue':
      return wordsTooMany(command, calledAs) ?? `${unknownOption(command)}${missingOptions(command)}`
    case 'commander.excessArguments':
      return wordsTooMany(command, calledAs) ?? sentence(message)
    case 'commander.missingArgument':
      return `<${command.registeredArguments[wordsOf(command).length]?.name()}> is missing`
    case 'commander.unknownCommand': {
      const words = [...pathOf(command), ...rest.slice(0, 1)].join(' ')
      // At the top, the parser suggests the last words of commands, such as show; whole commands help.
      const advice = command.parent ? suggestion : commandsLike(command, rest[0] ?? '')
      return [`purser has no command ${JSON.stringify(words)}.`, ...advice].join('\n')
    }
    default:
      return sentence(message)
  }
}

/** The whole commands that one mistaken word may mean: its plural, or the last word of a few commands. */
function commandsLike(program: CommandUnknownOpts, word: string): string[] {
  const group = program.commands.find((command) => command.name() === `${word}s`)
  const paths = group
    ? [pathOf(group)]
    : withAllBelow(program)
        .map(pathOf)
        .filter((path) => path.length > 1 && path.at(-1) === word)
  if (paths.length === 0 || paths.length > 3) return []
  return [`(Did you mean ${paths.map((path) => path.join(' ')).join(' or ')}?)`]
}

/** The parser's message without its prefix. */
function sentence(message: string): string {
  const text = message.replace(/^error: /, '')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Explains extra args, with a correct call; undefined if there are none. */
function wordsTooMany(command: CommandUnknownOpts, calledAs: string): string | undefined {
  const words = wordsOf(command)
  const taken = words.slice(0, command.registeredArguments.length)
  const [first, ...others] = words.slice(command.registeredArguments.length)
  if (first === undefined) return undefined
  const required = requiredOptions(command)
  const missing = required.filter((option) => !isGiven(command, option))
  // The one extra arg is probably the value of the one missing option.
  const meant = others.length === 0 && missing.length === 1 ? missing[0] : undefined
  const options = required.map((option) =>
    option === meant ? `${option.long} ${typed(first)}` : option.flags,
  )
  const call = [calledAs, ...pathOf(command), ...taken.map(typed), ...options].join(' ')
  const named = [first, ...others].map((word) => JSON.stringify(word)).join(' ')
  return [
    others.length === 0 ? `Unexpected argument ${named}.` : `Unexpected arguments ${named}.`,
    `Use: ${call}${missing.length === 0 && hasOptions(command) ? '; quote values with spaces' : ''}`,
  ].join(' ')
}

/** The missing required options. */
function missingOptions(command: CommandUnknownOpts): string {
  const missing = requiredOptions(command).filter((option) => !isGiven(command, option))
  const names = missing.map(({ long, flags }) => long ?? flags)
  const last = names.pop() ?? ''
  return names.length === 0 ? `${last} is missing` : `${names.join(', ')} and ${last} are missing`
}

function requiredOptions({ options }: CommandUnknownOpts) {
  return options.filter(({ mandatory }) => mandatory)
}

function isGiven(command: CommandUnknownOpts, option: CommandUnknownOpts['options'][number]): boolean {
  return command.getOptionValue(option.attributeName()) !== undefined
}

/** The unknown option, which the parser reports only if nothing is missing. */
function unknownOption({ args }: CommandUnknownOpts): string {
  const unknown = args.find((word) => word.startsWith('--'))
  return unknown === undefined ? '' : `Unknown option '${unknown}', and `
}

/** The args that belong to no option. */
function wordsOf({ args }: CommandUnknownOpts): readonly string[] {
  const firstUnknown = args.findIndex((word) => word.startsWith('-'))
  return firstUnknown < 0 ? args : args.slice(0, firstUnknown)
}

/** Whether there are options, whose values may lack quotes. */
function hasOptions(command: CommandUnknownOpts): boolean {
  return command.options.some((option) => command.getOptionValueSource(option.attributeName()) === 'cli')
}

/** Quotes an arg for the shell. */
function typed(word: string): string {
  return /^[\w.,:/@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
