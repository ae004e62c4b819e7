import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'

import { importsOf } from './imports.ts'
import { sourceFiles, type SourceFile } from './source-files.ts'

const maxFilesOfFolder = 25

const files = sourceFiles(['packages', 'console', 'service', 'bench', 'deploy', 'examples', 'tools']).filter(
  ({ path }) => !path.endsWith('.test.ts'),
)

test('No folder has more than 25 source files, tests aside', () => {
  const folders = Map.groupBy(files, ({ path }) => dirname(path))
  const full = [...folders].filter(([, { length }]) => length > maxFilesOfFolder)
  assert.deepEqual(
    full.map(([folder, { length }]) => `${folder}: ${length}`),
    [],
  )
})

test('There are no import cycles', () => {
  assert.deepEqual(circlesOf(files), [])
})

test('An import cycle is detected, also one of types', () => {
  const planted = [
    { path: 'a.ts', text: "import { b } from './b.ts'" },
    { path: 'b.ts', text: "import type { C } from './c.ts'" },
    { path: 'c.ts', text: "const a = await import('./a.ts')" },
    { path: 'd.ts', text: "import { a } from './a.ts'" },
  ]
  assert.deepEqual(circlesOf(planted), ['a.ts, b.ts, c.ts'])
})

/** The files of each import cycle. */
function circlesOf(sources: readonly SourceFile[]): string[] {
  const edges = new Map(sources.map((file) => [file.path, importsOf(file).map(({ target }) => target)]))
  const reached = new Map(sources.map(({ path }) => [path, reachedFrom(path, edges)]))
  const circles = sources.map(({ path }) =>
    [...(reached.get(path) ?? [])]
      .filter((other) => reached.get(other)?.has(path) === true)
      .sort()
      .join(', '),
  )
  return [...new Set(circles)].filter((circle) => circle !== '')
}

/** All files that a file imports, directly or not; itself too, if it is in a cycle. */
function reachedFrom(path: string, edges: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>()
  const waiting = [...(edges.get(path) ?? [])]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next) || !edges.has(next)) continue
    reached.add(next)
    waiting.push(...(edges.get(next) ?? []))
  }
  return reached
}
