import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const read = (path: string) => readFileSync(join(import.meta.dirname, path), 'utf8')

test('The guide quotes start failures as they are reported', () => {
  const sources = read('../store/open-error.ts') + read('../start/listening.ts')
  const [, table = ''] = read('../../../docs/guides/operators.md').split('## When it does not start')
  const quotes = [...(table.split('\n## ')[0] ?? '').matchAll(/^\| (`.*?) +\|/gm)]
    .flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)])
    .map(([, quote = '']) => quote)
  assert.ok(quotes.length > 10)
  const parts = quotes.flatMap((quote) => quote.split('…').map((part) => part.trim()))
  assert.deepEqual(
    parts.filter((part) => !sources.includes(part)),
    [],
  )
})
