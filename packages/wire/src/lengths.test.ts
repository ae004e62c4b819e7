import assert from 'node:assert/strict'
import { test } from 'node:test'

import { openApiDocument } from './openapi/document.ts'

interface Node {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly maxLength?: number
  readonly maxItems?: number
}

/** The places in a document where a string or a list has no upper bound. */
function* unbounded(node: unknown, place: string): Generator<string> {
  if (typeof node !== 'object' || node === null) return
  const { type, enum: words, const: word, maxLength, maxItems } = node as Node
  const isVocabulary = words !== undefined || word !== undefined
  if (type === 'string' && !isVocabulary && maxLength === undefined) yield place
  if (type === 'array' && maxItems === undefined) yield place
  for (const [key, part] of Object.entries(node)) {
    // An export is a stream, so it has no max length.
    if (key !== 'text/csv') yield* unbounded(part, `${place}/${key}`)
  }
}

test('Every string of the interface has a maxLength and every list a maxItems', () => {
  assert.deepEqual([...unbounded(openApiDocument, '')], [])
})
