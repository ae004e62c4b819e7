import { pathOf, withAllBelow } from '../../packages/cli/src/command-tree.ts'
import { exits } from '../../packages/cli/src/exit-codes.ts'
import { createProgram } from '../../packages/cli/src/program.ts'
import type { Io } from '../../packages/cli/src/io.ts'

type Command = ReturnType<typeof withAllBelow>[number]
type Option = Command['options'][number]

/** The page of the `purser` command, generated from the parser. */
export async function commandLinePage(): Promise<string> {
  // Nothing is run, so only the width of the help is needed.
  const program = await createProgram(['--help'], { columns: 80 } as Io)
  const leaves = withAllBelow(program).filter(({ commands }) => commands.length === 0)
  const groups = [...new Set(leaves.map((leaf) => leaf.helpGroup()))]
  return [
    '# The purser command',
    '',
    'Every command with its options. Generated from its definitions by `npm run docs`; the',
    '[guide](../guides/command-line.md) says how to use it.',
    '',
    '## Exit codes',
    '',
    '| Code | When |',
    '|---|---|',
    ...Object.values(exits).map(({ code, when }) => `| ${code} | ${when} |`),
    ...groups.flatMap((group) => [
      '',
      `## ${group.replace(/:$/, '')}`,
      ...leaves.filter((leaf) => leaf.helpGroup() === group).flatMap(commandSection),
    ]),
  ].join('\n')
}

function commandSection(command: Command): string[] {
  const name = ['purser', ...pathOf(command)].join(' ')
  const rows = command.options.map(optionRow)
  const description = command.description() || `${sentence(command.summary())}.`
  return [
    '',
    `### ${name}`,
    '',
    '```',
    `${name} ${command.usage()}`,
    '```',
    '',
    escaped(description),
    ...(rows.length === 0 ? [] : ['', '| Option | Meaning |', '|---|---|', ...rows]),
  ]
}

function optionRow({ flags, description, argChoices, mandatory, defaultValue }: Option): string {
  const remarks = [
    ...(argChoices ? [`one of ${argChoices.map((word) => `\`${word}\``).join(', ')}`] : []),
    ...(defaultValue === undefined ? [] : [`\`${String(defaultValue)}\` by default`]),
    ...(mandatory ? ['required'] : []),
  ]
  return `| \`${flags}\` | ${[escaped(description), ...remarks].join('; ')} |`
}

function escaped(text: string): string {
  return text.replaceAll(/([|*<>])/g, '\\$1')
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
