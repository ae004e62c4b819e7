import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'

import { projectFolder } from '../../tools/source-files.ts'

const built = join(projectFolder, 'service/console')
const page = readFileSync(join(built, 'index.html'), 'utf8')

/** Most bytes of JavaScript, gzipped, that stand between a first visit and the overview. */
const firstLoadBytes = 250_000

test('A first load brings at most 250 KB of JavaScript, gzipped', () => {
  const scripts = [...page.matchAll(/(?:src|href)="\/console\/([^"]+\.js)"/g)].map(([, path = '']) => path)
  assert.ok(scripts.length >= 2, 'the page names its scripts')
  const bytes = scripts.reduce((sum, path) => sum + gzipSync(readFileSync(join(built, path))).length, 0)
  assert.ok(bytes <= firstLoadBytes, `${bytes} bytes`)
})

test('The page contains no inline script, style or picture, which its policy forbids', () => {
  assert.doesNotMatch(page, /<style|style=|<script(?![^>]*\bsrc=)|\bon[a-z]+=|data:/i)
  for (const [, address = ''] of page.matchAll(/(?:src|href)="([^"]+)"/g))
    assert.match(address, /^\/console\//)
})

test('No file of the console names another origin to load from', () => {
  const files = readdirSync(join(built, 'assets'))
  assert.ok(files.length > 20)
  for (const file of files.filter((name) => name.endsWith('.css'))) {
    const text = readFileSync(join(built, 'assets', file), 'utf8')
    for (const [, address = ''] of text.matchAll(/url\(["']?([^"')]+)/g)) {
      assert.match(address, /^\/console\/assets\//, file)
    }
  }
})

test('The license of every bundled library and font is next to the files', () => {
  const libraries = readLicence('libraries.md')
  const named = ['@base-ui/react', '@tanstack/react-query', 'd3-scale', 'react', 'react-dom', 'react-router']
  for (const name of named) {
    assert.match(libraries, new RegExp(`^## ${name} - [\\d.]+ \\((MIT|ISC)\\)\\n\\n.*\\S`, 'm'))
  }
  for (const font of readdirSync(join(built, 'assets')).filter((name) => name.endsWith('.woff2'))) {
    const [family = ''] = /^[a-z-]+?(?=-latin)/.exec(font) ?? []
    assert.match(readLicence(`${family}.txt`), /SIL Open Font License/, font)
  }
})

function readLicence(name: string): string {
  return readFileSync(join(built, 'licences', name), 'utf8')
}
