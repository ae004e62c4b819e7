import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

import { errorCodes } from '@purser/wire/errors'
import { endpoints } from '@purser/wire/openapi'

import { Purser } from '../../packages/client/src/client.ts'
import { projectFolder, sourceFiles } from '../source-files.ts'
import { clientCalls } from './client-calls.ts'
import { generatedFolders, referencePages } from './pages.ts'

const pages = await referencePages()

test('The pages of the reference are up to date; `npm run docs` writes them', () => {
  for (const [path, text] of Object.entries(pages)) {
    assert.equal(readFileSync(join(projectFolder, path), 'utf8'), text, path)
  }
})

test('Every endpoint and every error has a page, and there are no other pages', () => {
  const [endpointFiles = [], errorFiles = []] = generatedFolders.map((folder) =>
    readdirSync(join(projectFolder, folder)),
  )
  assert.equal(endpointFiles.length, endpoints.length)
  assert.ok(errorFiles.length > errorCodes.length, 'the refusals have theirs too')
  const kept = [...endpointFiles, ...errorFiles].length
  assert.equal(kept, Object.keys(pages).filter((path) => path.split('/').length === 4).length)
})

test('Every endpoint has a client call, which exists', () => {
  const purser = new Purser({ apiKey: null })
  assert.deepEqual(Object.keys(clientCalls).sort(), endpoints.map(({ id }) => id).sort())
  for (const call of Object.values(clientCalls)) {
    const [, path = ''] = /^purser\.([\w.]+)\(/.exec(call) ?? []
    const found = path
      .split('.')
      .reduce((value: unknown, key) => (value as Record<string, unknown>)[key], purser)
    assert.equal(typeof found, 'function', call)
  }
})

test('Every link in the reference, the guides, the READMEs and llms.txt leads to an existing file', () => {
  const guides = readdirSync(join(projectFolder, 'docs/guides')).map((name) => `docs/guides/${name}`)
  const packages = readdirSync(join(projectFolder, 'packages')).map((name) => `packages/${name}/README.md`)
  const readmes = packages.filter((path) => existsSync(join(projectFolder, path)))
  const others = ['README.md', 'service/README.md', ...readmes, ...guides]
  const texts = { ...pages, ...Object.fromEntries(others.map((path) => [path, read(path)])) }
  let links = 0
  for (const [path, text] of Object.entries(texts)) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      assert.ok(existsSync(join(projectFolder, dirname(path), target)), `${path} links to ${target}`)
      links++
    }
  }
  assert.ok(links > 300, `${links} links`)
})

function read(path: string): string {
  return readFileSync(join(projectFolder, path), 'utf8')
}

test('Every error message that a guide explains is one that the service prints', () => {
  const printed = sourceFiles(['service/src', 'packages/cli/src'])
    .filter(({ path }) => !path.endsWith('.test.ts'))
    .map(({ text }) => text)
    .join('\n')
  const rows = ['docs/guides/migrate.md', 'docs/guides/operators.md'].flatMap((path) => {
    const [, table = ''] = /^\| It says .*\n.*\n((?:\|.*\n)+)/m.exec(read(path)) ?? []
    return table.split('\n').map((row) => row.split('|')[1] ?? '')
  })
  const quoted = rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text))
  assert.ok(quoted.length > 15, `${quoted.length} messages`)
  for (const part of quoted.flatMap((text) => text.split('…'))) {
    assert.ok(printed.includes(part.trim()), `"${part}" is printed nowhere`)
  }
})
