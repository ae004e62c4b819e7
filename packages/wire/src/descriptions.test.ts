import assert from 'node:assert/strict'
import { test } from 'node:test'

import { answersOf } from './endpoint.ts'
import { endpoints } from './openapi.ts'
import type { Schema } from './schema/type.ts'

/** Every field of the interface by its path, including nested fields. */
const fields = new Map<string, Schema>()
for (const one of endpoints) {
  const { id, body, query, params } = one
  for (const part of [body, query, params]) if (part) collect(part, id)
  for (const [status, { schema }] of Object.entries(answersOf(one))) {
    collect(schema, `${id} ${status}`)
  }
}

function collect({ properties = {}, items, anyOf = [] }: Schema, place: string): void {
  for (const [name, field] of Object.entries(properties)) {
    fields.set(`${place}.${name}`, field)
    collect(field, `${place}.${name}`)
  }
  if (items) collect(items, `${place}[]`)
  for (const option of anyOf) collect(option, place)
}

function placesOf(isWrong: (field: Schema) => boolean): string[] {
  return [...fields].filter(([, field]) => isWrong(field)).map(([place]) => place)
}

function isNullable({ type, anyOf = [] }: Schema): boolean {
  return type === 'null' || anyOf.some((option) => option.type === 'null')
}

const units = /\b(USDC|seconds|milliseconds|bytes|number|percentile|max|from 0)\b/i

function hasUnit({ type, pattern, anyOf = [] }: Schema): boolean {
  return type === 'integer' || type === 'number' || pattern !== undefined || anyOf.some(hasUnit)
}

test('Every field of the interface has a description that is a sentence', () => {
  assert.ok(fields.size > 800, `${fields.size} fields`)
  assert.deepEqual(
    placesOf(({ description = '' }) => !/^[A-Z0-9`].{5,}\.$/.test(description)),
    [],
  )
})

test('The description of a nullable field says what null means', () => {
  assert.ok([...fields.values()].some(isNullable))
  assert.deepEqual(
    placesOf((field) => isNullable(field) && !/\bnull\b/i.test(field.description ?? '')),
    [],
  )
})

test('The description of a number or an amount names its unit', () => {
  assert.deepEqual(
    placesOf((field) => hasUnit(field) && !units.test(field.description ?? '')),
    [],
  )
})

test('Every response of every endpoint has its own description', () => {
  for (const one of endpoints) {
    assert.deepEqual(Object.keys(one.responseDescriptions), Object.keys(one.responses), one.id)
    const texts = Object.values(answersOf(one)).map(({ description }) => description)
    assert.equal(new Set(texts).size, texts.length, one.id)
    for (const text of texts) assert.match(text, /\.$/, one.id)
  }
})
