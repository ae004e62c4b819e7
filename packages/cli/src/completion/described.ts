import type { CommandUnknownOpts } from '@commander-js/extra-typings'

import { pathOf, withAllBelow } from '../command-tree.ts'

/** What can follow the words of one command, as the parser knows it. */
export interface Completed {
  /** The words after `purser`; none for the program itself. */
  readonly path: readonly string[]
  /** The commands below it, and the possible values of its arguments. */
  readonly words: readonly Word[]
  readonly options: readonly CompletedOption[]
}

export interface Word {
  readonly word: string
  readonly meaning: string
}

export interface CompletedOption extends Word {
  /** What follows the option: nothing, one of some words, a file, or something else. */
  readonly value: 'none' | 'file' | 'any' | readonly string[]
}

/** Every command, with its possible completions. */
export function describeCommands(program: CommandUnknownOpts): Completed[] {
  return withAllBelow(program).map((command) => ({
    path: pathOf(command),
    words: [
      ...command.commands.map((sub) => ({ word: sub.name(), meaning: sub.summary() })),
      ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((word) => ({ word, meaning: description })),
      ),
    ],
    options: optionsOf(command),
  }))
}

function optionsOf(command: CommandUnknownOpts): CompletedOption[] {
  // The parser does not list --help with the other options.
  const visible = command.createHelp().visibleOptions(command)
  return visible.flatMap(({ long, description, argChoices, required, optional, flags }) => {
    if (!long) return []
    const takesValue = required || optional
    const value = argChoices ?? (!takesValue ? 'none' : /<(file|path)>/.test(flags) ? 'file' : 'any')
    return [{ word: long, meaning: firstClause(description), value } as const]
  })
}

/** Shells show a line for each word. */
function firstClause(text: string): string {
  return text.split(/[;(]/, 1)[0]?.trim() ?? ''
}
