import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { test } from 'node:test'

import { projectFolder } from './source-files.ts'

/** Every file and folder of the project, relative to its root; folders end with a slash. */
const paths = globSync('**/*', {
  cwd: projectFolder,
  withFileTypes: true,
  exclude: (entry) => ['node_modules', '.git', '.next'].includes(entry.name),
}).map((entry) => {
  const path = join(entry.parentPath, entry.name).slice(projectFolder.length + 1)
  return entry.isDirectory() ? `${path}/` : path
})

/** Generated folders. */
const built = ['dist/', 'service/console/']

for (const page of ['ARCHITECTURE.md', 'CONTRIBUTING.md']) {
  test(`${page} names only what exists`, () => {
    assert.ok(paths.length > 1_000, 'the files of the project are found')
    assert.deepEqual(unknownNames(readFileSync(join(projectFolder, page), 'utf8')), [])
  })
}

test('A name that does not exist is found in a tree, in a sentence and in a link', () => {
  const planted = [
    '```',
    'service/src/',
    '  main.ts              settings → processes/gone.ts',
    '  domain/  routes/     and money.ts',
    '    sqlite/            elsewhere',
    '```',
    'In `service/src/gone`, `domain/money.ts`, `store/gone.ts` and `packages/wire/src/<gone>s.ts` (`POST /v1/gone`,',
    '`npm run gone`); see [gone](docs/gone.md) and [the decisions](docs/decisions/README.md).',
  ].join('\n')
  assert.deepEqual(unknownNames(planted), [
    'processes/gone.ts',
    'service/src/routes/sqlite/',
    'docs/gone.md',
    'service/src/gone',
    'store/gone.ts',
  ])
})

/** The names of files and folders in a page that do not exist. */
function unknownNames(page: string): string[] {
  const [before = '', tree = '', ...after] = page.split('```')
  const prose = [before, ...after.filter((_, at) => at % 2 === 0)].join('\n')
  const links = [...prose.matchAll(/\]\(([^):#]+)[^)]*\)/g)].map(([, path = '']) => path)
  const spans = [...prose.matchAll(/`([^`]+)`/g)].flatMap(([, span = '']) => namesIn(span))
  return [
    ...unknownInTree(tree),
    ...links.filter((path) => !isPath(path)),
    ...spans.filter((name) => !isKnown(name)),
  ]
}

/** The paths in a tree of folders, and other names in its lines. */
function unknownInTree(tree: string): string[] {
  /** The folder of each line above, by indentation. */
  const folders = new Map<number, string>()
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', first = ''] =
      /^( *)((?:[\w.*/-]+(?:\/|\.\w+) {2,})*(?:[\w.*/-]+(?:\/|\.\w+)$)?)/.exec(line) ?? []
    const depth = indent.length
    // Continuation lines of a description are indented further.
    const names =
      depth > 8
        ? []
        : first
            .trim()
            .split(/ +/)
            .filter((name) => name !== '')
    const parent = folders.get(depth - 2) ?? ''
    const placed = names.map((name) => parent + name)
    const last = placed.at(-1)
    if (last?.endsWith('/') === true) folders.set(depth, last)
    const rest = names.length === 0 ? line : line.slice(depth + first.length)
    return [...placed.filter((path) => !isPath(path)), ...namesIn(rest).filter((name) => !isKnown(name))]
  })
}

/** What looks like a path; `<resource>` matches anything. */
function namesIn(text: string): string[] {
  const words = text.replaceAll(/<\w+>/g, '*').split(/[\s,;:()`]+/)
  return words
    .map((word) => word.replace(/^(\.\.\/)+/, '').replace(/\.$/, ''))
    .filter(
      (word) => /^[\w*][\w.*-]*(\/[\w.*-]+)*(\/|\.(ts|tsx|js|json|md|yaml))$/.test(word) || isOurs(word),
    )
}

function isOurs(word: string): boolean {
  return /^(bench|console|deploy|docs|examples|packages|service|tools)\/[\w./*-]+$/.test(word)
}

function isPath(path: string): boolean {
  return (
    built.includes(path) || paths.some((one) => one === path || one === `${path}/` || matchesGlob(one, path))
  )
}

/** Whether a name is a path, the end of one, or a package. */
function isKnown(name: string): boolean {
  return (
    isPath(name) ||
    existsSync(join(projectFolder, 'node_modules', name)) ||
    paths.some((path) => `/${path}`.endsWith(`/${name}`) || matchesGlob(path, `**/${name}`))
  )
}
