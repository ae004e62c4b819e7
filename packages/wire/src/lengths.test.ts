import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openApiDocument } from './openapi.ts'

interface Node {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly maxLength?: number
  readonly maxItems?: number
}

/** The places in a part of the document where a text or a list has no upper bound. */
function* unbounded(node: unknown, place: string): Generator<string> {
  if (typeof node !== 'object' || node === null) return
  const { type, enum: words, const: word, maxLength, maxItems } = node as Node
  const isVocabulary = words !== undefined || word !== undefined
  if (type === 'string' && !isVocabulary && maxLength === undefined) yield place
  if (type === 'array' && maxItems === undefined) yield place
  for (const [key, part] of Object.entries(node)) {
    // An export is a stream: it has no end that a schema could name.
    if (key !== 'text/csv') yield* unbounded(part, `${place}/${key}`)
  }
}

test('Every text of the interface has a maxLength and every list a maxItems [decision.155]', () => {
  assert.deepEqual([...unbounded(openApiDocument, '')], [])
})
