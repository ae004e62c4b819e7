import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'

import './ledger-store.ts'
import { operationsByName } from './operation.ts'

test('Every operation has a unique name and is found by it', async () => {
  const known = new Map(operationsByName)
  const folder = new URL('operations/', import.meta.url)
  const names: string[] = []
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue
    const exported = (await import(new URL(file, folder).href)) as Record<string, unknown>
    for (const value of Object.values(exported)) {
      if (typeof value !== 'object' || value === null || !('decide' in value)) continue
      assert('name' in value)
      names.push(value.name as string)
      assert.equal(known.get(value.name as string), value, `${file}: ${String(value.name)}`)
    }
  }
  assert.ok(names.length > 20)
  assert.equal(new Set(names).size, names.length)
})
