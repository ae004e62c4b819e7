import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const folder = join(import.meta.dirname, '..', 'docs', 'decisions')
const files = readdirSync(folder).filter((name) => name !== 'README.md')
const maxLines = 42

function read(name: string): string {
  return readFileSync(join(folder, name), 'utf8')
}

test('The index of the decisions lists exactly the records, in order and with their titles', () => {
  const rows = read('README.md').matchAll(/^\| \[(\d+)\]\(([^)]+)\) \| (.+?) \| .+ \|$/gm)
  const listed = [...rows].map(([, number, name, title]) => ({ name, heading: `# ${number}. ${title}` }))
  const records = files.map((name) => ({ name, heading: read(name).split('\n')[0] }))
  assert.ok(records.length > 30, 'the records are there')
  assert.deepEqual(listed, records)
})

test('Decisions are numbered from 1 without gaps, and their headings have the number', () => {
  const numbers = files.map((name) => Number(/^(\d{4})-[a-z0-9-]+\.md$/.exec(name)?.[1]))
  assert.deepEqual(
    numbers,
    files.map((_, index) => index + 1),
  )
  for (const [index, name] of files.entries()) assert.ok(read(name).startsWith(`# ${index + 1}. `), name)
})

for (const name of files) {
  test(`${name} has context, decision and consequences, and is short`, () => {
    const text = read(name)
    const chapters = [...text.matchAll(/^## (.+)$/gm)].map(([, chapter]) => chapter)
    assert.deepEqual(chapters, ['Context', 'Decision', 'Consequences'])
    assert.ok(text.trimEnd().split('\n').length <= maxLines, `at most ${maxLines} lines`)
  })

  test(`${name} ends with its tests, and each of them exists`, () => {
    const lastLine = read(name).trimEnd().split('\n').at(-1) ?? ''
    assert.match(lastLine, /^Tests: \[/)
    const links = [...lastLine.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
    assert.ok(links.length > 0 && links.length <= 6, 'one to six files')
    for (const link of links) {
      assert.match(link, /\.test\.ts$/)
      assert.ok(existsSync(join(folder, link)), link)
    }
  })
}

test('Every link in the decisions leads to a file', () => {
  for (const name of ['README.md', ...files]) {
    for (const [, link = ''] of read(name).matchAll(/\]\(([^):#]+)/g)) {
      assert.ok(existsSync(join(folder, link)), `${name} links to ${link}`)
    }
  }
})
