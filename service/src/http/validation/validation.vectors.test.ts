import assert from 'node:assert/strict'
import { test } from 'node:test'

import { vectors } from './validation.vectors.ts'
import { answerToBody, answerToQuery, type Outcome } from './vectors/answer.ts'
import { findEndpoints } from './vectors/endpoints.ts'
import type { Vector } from './vectors/vector.ts'

const endpoints = await findEndpoints()

test('every request of the table gets its response, item by item', async (t) => {
  for (const vector of vectors.filter(({ needsService }) => !needsService)) {
    await t.test(`${vector.id} ${vector.method} ${vector.path}: ${vector.title}`, () => {
      const outcome = outcomeOf(vector)
      if (outcome.status === 'fine') assert.equal(vector.detail, undefined)
      else if (outcome.status === 400) assert.equal(vector.status, 400)
      else assert.deepEqual(outcome.items, vector.detail)
    })
  }
})

test('the table is complete', () => {
  assert.equal(vectors.length, 187)
  assert.equal(new Set(vectors.map(({ id }) => id)).size, 187)
})

function outcomeOf(vector: Vector): Outcome {
  const address = new URL(vector.path, 'http://localhost')
  const endpoint = endpoints.find(({ method, path }) => method === vector.method && path === address.pathname)
  assert.ok(endpoint, `${vector.method} ${vector.path} is not an endpoint`)
  if (vector.method === 'GET') return answerToQuery(endpoint, Object.fromEntries(address.searchParams))
  return answerToBody(endpoint, vector.body ?? Buffer.alloc(0), vector.headers['content-type'])
}
