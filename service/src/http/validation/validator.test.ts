import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Type, type Schema, type SchemaOptions } from '@purser/wire/schema/type'

import { compileValidator } from './validator.ts'

const Shop = Type.Object({
  name: Type.String({ minLength: 2, maxLength: 3 }),
  tags: Type.Optional(Type.Array(Type.String(), { maxItems: 1, default: [] })),
  open: Type.Optional(Type.Boolean({ default: true })),
})
const validateShop = compileValidator(Shop, 'body')

test('unknown fields are dropped and defaults added, as new objects each time', () => {
  const first = validateShop({ name: 'abc', other: 1 })
  assert.deepEqual(first, { ok: true, value: { name: 'abc', tags: [], open: true } })
  const second = validateShop({ name: 'abc' })
  assert.ok(first.ok && second.ok)
  assert.notEqual(first.value.tags, second.value.tags)
})

test('an object that keeps unknown fields is returned itself', () => {
  const validate = compileValidator(Type.Object({ a: Type.String() }, { additionalProperties: true }), 'body')
  const input = { b: 1, a: 'x' }
  const checked = validate(input)
  assert.ok(checked.ok)
  assert.equal(checked.value, input)
})

test('an absent body and a null body are missing', () => {
  const items = [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }]
  for (const input of [undefined, null]) assert.deepEqual(validateShop(input), { ok: false, items })
})

test('inherited property names do not count as fields', () => {
  const names = ['constructor', 'toString', '__proto__', 'hasOwnProperty']
  const validate = compileValidator(
    Type.Object(Object.fromEntries(names.map((name) => [name, Type.Unknown()]))),
    'body',
  )
  const checked = validate({})
  assert.ok(!checked.ok)
  assert.deepEqual(
    checked.items.map(({ type, loc }) => [type, loc[1]]),
    names.map((name) => ['missing', name]),
  )
  const polluting = validateShop(JSON.parse('{"name":"abc","__proto__":{"open":false}}'))
  assert.deepEqual(polluting, { ok: true, value: { name: 'abc', tags: [], open: true } })
})

test('errors are in schema order, each with its location and input', () => {
  const input = { open: 1, tags: ['a', 'b'], name: 'a' }
  assert.deepEqual(validateShop(input), {
    ok: false,
    items: [
      {
        type: 'string_too_short',
        loc: ['body', 'name'],
        msg: 'String should have at least 2 characters',
        input: 'a',
        ctx: { min_length: 2 },
      },
      {
        type: 'too_long',
        loc: ['body', 'tags'],
        msg: 'List should have at most 1 item after validation, not 2',
        input: ['a', 'b'],
        ctx: { field_type: 'List', max_length: 1, actual_length: 2 },
      },
      { type: 'bool_type', loc: ['body', 'open'], msg: 'Input should be a valid boolean', input: 1 },
    ],
  })
})

test('the length of a text counts code points', () => {
  assert.equal(validateShop({ name: '😀😀😀' }).ok, true)
  assert.equal(validateShop({ name: '😀' }).ok, false)
  assert.equal(validateShop({ name: '😀😀😀😀' }).ok, false)
})

test('half a surrogate pair is refused, also in a vocabulary, and echoed as valid text', () => {
  const validate = compileValidator(Type.Object({ word: Type.Literal('USDC') }), 'body')
  const checked = validate({ word: 'USDC\uD800' })
  assert.ok(!checked.ok)
  assert.equal(checked.items[0]?.type, 'string_unicode')
  assert.equal(checked.items[0]?.input, 'USDC\uFFFD')
})

test('the last of several equal query parameters counts, and unknown ones are ignored', () => {
  const validate = compileValidator(
    Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, default: 50 })),
      type: Type.Optional(Type.String()),
    }),
    'query',
  )
  assert.deepEqual(validate({}), { ok: true, value: { limit: 50 } })
  assert.deepEqual(validate({ limit: ['0', '7'], type: 'a', other: 'b' }), {
    ok: true,
    value: { limit: 7, type: 'a' },
  })
  const checked = validate({ limit: ['7', '0'] })
  assert.ok(!checked.ok)
  assert.deepEqual(checked.items[0]?.loc, ['query', 'limit'])
  assert.equal(checked.items[0]?.input, '0')
})

test('an object without additional properties refuses unknown fields, at most as many as a 422 lists', () => {
  const read = compileValidator(
    Type.Object({ a: Type.String(), b: Type.Optional(Type.String()) }, { additionalProperties: false }),
    'body',
  )
  assert.deepEqual(read({ a: 'x' }), { ok: true, value: { a: 'x' } })
  const one = read({ c: 1, constructor: 2 })
  assert.ok(!one.ok)
  assert.deepEqual(
    one.items.map(({ type, loc }) => [type, ...loc]),
    [
      ['missing', 'body', 'a'],
      ['extra_forbidden', 'body', 'c'],
      ['extra_forbidden', 'body', 'constructor'],
    ],
  )
  assert.match(one.items[1]?.msg ?? '', /this takes a, b$/)
  const many = read(Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`x${index}`, index])))
  assert.ok(!many.ok && many.items.length <= 21)
})

test('a schema with unsupported keywords does not compile', () => {
  const schemas: Schema[] = [
    Type.Object({ a: Type.String({ format: 'ipv4' }) }),
    Type.String({ format: 'email', maxLength: 10 }),
    Type.String({ 'x-above-zero': true }),
    Type.Array(Type.String(), { uniqueItems: true } as SchemaOptions),
    Type.Record(Type.String(), Type.String({ format: 'ipv4' })),
    Type.Record(Type.String(), Type.String(), { propertyNames: { pattern: '^a' } }),
    Type.Union([Type.String(), Type.Integer()]),
    Type.Union([Type.String()]),
    Type.Number(),
    Type.Object({ a: Type.Optional(Type.String({ default: 'b' })) }, { additionalProperties: true }),
  ]
  for (const schema of schemas) assert.throws(() => compileValidator(schema, 'body'), TypeError)
})
