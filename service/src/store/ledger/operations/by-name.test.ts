import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'

import { operationsByName } from './by-name.ts'

test('Every operation has a unique name and is found by it', async () => {
  const names: string[] = []
  for (const file of readdirSync(new URL('.', import.meta.url), { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts') || file === 'by-name.ts') continue
    const exported = (await import(new URL(file, import.meta.url).href)) as Record<string, unknown>
    for (const value of Object.values(exported)) {
      if (typeof value !== 'object' || value === null || !('decide' in value)) continue
      assert('name' in value)
      names.push(value.name as string)
      assert.equal(operationsByName.get(value.name as string), value, `${file}: ${String(value.name)}`)
    }
  }
  assert.ok(names.length > 20)
  assert.equal(new Set(names).size, names.length)
})
