import assert from 'node:assert/strict'
import { test } from 'node:test'

import { RecentlyUsed } from './recently-used.ts'

test('The least recently used entry makes room for a new one', () => {
  const cache = new RecentlyUsed<number>({ max: 2 })
  cache.set('a', 1)
  cache.set('b', 2)
  assert.equal(cache.get('a'), 1)
  cache.set('c', 3)
  assert.deepEqual([cache.get('a'), cache.get('b'), cache.get('c')], [1, undefined, 3])
  cache.delete('a')
  cache.set('d', 4)
  assert.deepEqual([cache.get('a'), cache.get('c'), cache.get('d')], [undefined, 3, 4])
})
