import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

import { calledCommand, pathOf } from './command-tree.ts'
import { createProgram } from './program.ts'
import type { Io } from './io.ts'

const root = new URL('../../../', import.meta.url)
const pages = [
  'README.md',
  'packages/cli/README.md',
  'service/README.md',
  ...readdirSync(new URL('docs/guides', root)).map((name) => `docs/guides/${name}`),
]
const program = await createProgram(['--help'], { columns: 80 } as Io)

test('Every command in the guides exists, with its options', () => {
  const shown = pages.flatMap((page) =>
    commandsIn(readFileSync(new URL(page, root), 'utf8')).map((words) => [page, words] as const),
  )
  assert.ok(shown.length > 30)
  assert.deepEqual(
    shown.flatMap(([page, words]) =>
      faultsOf(words).map((fault) => `${page}: purser ${words.join(' ')}: ${fault}`),
    ),
    [],
  )
})

test('No line of a code block ends in a comment, which zsh would treat as args', () => {
  const commented = [...pages, 'bench/README.md', 'CONTRIBUTING.md'].flatMap((page) =>
    shellBlocks(readFileSync(new URL(page, root), 'utf8'))
      // A script is run by its own shell.
      .filter((block) => !block.startsWith('#!'))
      .flatMap((block) => block.split('\n'))
      .filter((line) => /(^|\s)#(\s|$)/.test(line))
      .map((line) => `${page}: ${line}`),
  )
  assert.deepEqual(commented, [])
})

function shellBlocks(markdown: string): string[] {
  return [...markdown.matchAll(/^ *```sh\n([^]*?)^ *```/gm)].map(([, block = '']) => block)
}

/** The words after `purser` of each command in the code blocks, as far as they are plain words. */
function commandsIn(markdown: string): string[][] {
  return shellBlocks(markdown)
    .flatMap((block) => block.replaceAll(/\\\n/g, ' ').split('\n'))
    .flatMap((line) => [...line.matchAll(/(?:^|\s|\()(?:npx )?purser ([a-z-][^|#;)>]*)/g)])
    .map(([, words = '']) => words.trim().split(/\s+/))
}

function faultsOf(words: readonly string[]): string[] {
  const { command, rest } = calledCommand(program, words)
  if (words[0] === '--help') return []
  if (command.commands.length > 0) return [`${pathOf(command).join(' ')} is no whole command`]
  const known = command.options.map(({ long }) => long)
  return rest.filter((word) => /^--\w/.test(word) && !known.includes(word)).map((word) => `no option ${word}`)
}
