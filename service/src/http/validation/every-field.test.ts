import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Endpoint } from '@purser/wire/endpoint'

import { answerToBody } from './vectors/answer.ts'
import { findEndpoints } from './vectors/endpoints.ts'
import {
  badDateTime,
  badEmail,
  badUrl,
  badUuid,
  literal,
  missing,
  notAmount,
  notDateTime,
  notDict,
  notList,
  notObject,
  notText,
  notUrl,
  notUuid,
} from './vectors/errors.ts'
import { absent, changed, itemsOf, type Change, type Errors, type Wrong } from './vectors/vector.ts'

/** The part of the wire schemas that describes a field. */
interface Schema {
  readonly type?: string
  readonly format?: string
  readonly pattern?: string
  readonly const?: string
  readonly enum?: readonly string[]
  readonly anyOf?: readonly [Schema, Schema]
  readonly items?: Schema
  readonly properties?: Record<string, Schema>
  readonly required?: readonly string[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maxItems?: number
  readonly 'x-max-whole-digits'?: number
  readonly 'x-above-zero'?: boolean
}

/** A kind of field: a valid value, and the errors for invalid ones. */
interface Kind {
  readonly fits: unknown
  /** The error for JSON of another type; undefined where numbers are accepted. */
  readonly wrongType: Wrong
  readonly acceptsNumbers?: boolean
  /** A value of the right type that is still invalid. */
  readonly wrongValue?: readonly [value: unknown, Wrong]
}

const kinds = {
  text: { fits: 'text', wrongType: notText },
  amount: { fits: '1.00', wrongType: notText, wrongValue: ['ten', notAmount] },
  dateTime: {
    fits: '2099-01-01T00:00:00Z',
    wrongType: notDateTime,
    acceptsNumbers: true,
    wrongValue: ['word', badDateTime('input is too short')],
  },
  url: {
    fits: 'https://example.com/',
    wrongType: notUrl,
    wrongValue: ['word', badUrl('relative URL without a base')],
  },
  uuid: {
    fits: '7f8d1c1e-6a1f-4d57-9c1e-2f4f1b3a9c55',
    wrongType: notUuid,
    wrongValue: ['word', badUuid('invalid character: found `w` at 1')],
  },
  email: {
    fits: 'ada@example.com',
    wrongType: notText,
    wrongValue: ['word', badEmail('An email address must have an @-sign.')],
  },
  hostName: {
    fits: 'example.com',
    wrongType: notText,
    wrongValue: [
      'two words',
      {
        type: 'value_error',
        msg: 'Value error, value is not a host name such as api.example.com, without scheme, port and path',
        ctx: { error: 'value is not a host name such as api.example.com, without scheme, port and path' },
      },
    ],
  },
  timeZone: {
    fits: 'Europe/Berlin',
    wrongType: notText,
    wrongValue: [
      'Mars/Olympus',
      {
        type: 'value_error',
        msg: 'Value error, value is not a time zone such as Europe/Berlin',
        ctx: { error: 'value is not a time zone such as Europe/Berlin' },
      },
    ],
  },
  integer: { fits: 0, wrongType: { type: 'int_type', msg: 'Input should be a valid integer' } },
  boolean: { fits: true, wrongType: { type: 'bool_type', msg: 'Input should be a valid boolean' } },
  list: { fits: [], wrongType: notList },
  dict: { fits: {}, wrongType: notDict },
} as const satisfies Record<string, Kind>

function kindOf(schema: Schema): Kind {
  if (schema.anyOf) return kindOf(schema.anyOf[0])
  const words = schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
  if (words) {
    const said = literal(
      words
        .map((word) => `'${word}'`)
        .join(', ')
        .replace(/, ([^,]*)$/, ' or $1'),
    )
    return { fits: words[0], wrongType: said, wrongValue: ['word', said] }
  }
  if (schema.properties) {
    const fields = Object.entries(schema.properties)
    return {
      fits: Object.fromEntries(fields.map(([name, field]) => [name, kindOf(field).fits])),
      wrongType: notObject,
    }
  }
  if (schema.type === 'array') return kinds.list
  if (schema.type === 'object') return kinds.dict
  if (schema.pattern !== undefined) return kinds.amount
  const formats: Record<string, Kind> = {
    'date-time': kinds.dateTime,
    uri: kinds.url,
    uuid: kinds.uuid,
    email: kinds.email,
    hostname: kinds.hostName,
    'resource-pattern': kinds.url,
    'time-zone': kinds.timeZone,
  }
  if (schema.type === 'integer') return { ...kinds.integer, fits: schema.minimum ?? 0 }
  if (schema.type === 'boolean') return kinds.boolean
  const kind = schema.format === undefined ? kinds.text : formats[schema.format]
  assert.ok(schema.type === 'string' && kind, `no kind for ${JSON.stringify(schema)}`)
  return kind
}

interface Case {
  readonly title: string
  readonly change: Change
  readonly errors?: Errors
}

/** Every kind of JSON value in place of a field. */
const jsonValues = [null, true, 0, 1.5, 'word', [], {}]

function* casesOf(path: string, schema: Schema, required: boolean): Generator<Case> {
  const kind = kindOf(schema)
  yield {
    title: `${path} is absent`,
    change: { [path]: absent },
    ...(required && { errors: { [path]: missing } }),
  }
  for (const value of jsonValues) {
    // A number may or may not fit, depending on its bounds.
    if (typeof value === 'number' && typeof kind.fits === 'number') continue
    const title = `${path} is ${JSON.stringify(value)}`
    const fits =
      jsonType(value) === jsonType(kind.fits) ||
      (value === null && schema.anyOf !== undefined) ||
      (typeof value === 'number' && kind.acceptsNumbers)
    if (!fits) yield { title, change: { [path]: value }, errors: { [path]: kind.wrongType } }
    else if (value === null || typeof value === 'number') yield { title, change: { [path]: value } }
  }
  if (kind.wrongValue) {
    const [value, wrong] = kind.wrongValue
    yield {
      title: `${path} is ${JSON.stringify(value)}`,
      change: { [path]: value },
      errors: { [path]: wrong },
    }
  }
  yield* casesOfLimits(path, schema.anyOf?.[0] ?? schema)
  yield* casesWithin(path, schema)
}

function* casesOfLimits(path: string, schema: Schema): Generator<Case> {
  const isPlain = schema.format === undefined
  const isUrl = schema.format === 'uri'
  if (typeof kindOf(schema).fits === 'string') {
    const echo = '\uFFFD'
    const wrong = {
      type: 'string_unicode',
      msg: 'Input should be a valid string, unable to parse raw data as a unicode string',
      echo,
    }
    yield {
      title: `${path} is half a surrogate pair`,
      change: { [path]: '\uD800' },
      errors: { [path]: wrong },
    }
  }
  if (schema.maxLength !== undefined && (isPlain || isUrl)) {
    const error = 'NUL characters are not allowed'
    const wrong = { type: 'value_error', msg: `Value error, ${error}`, ctx: { error } }
    const text = `${isUrl ? 'https://example.com/' : ''}a\0b`
    yield { title: `${path} has a NUL`, change: { [path]: text }, errors: { [path]: wrong } }
  }
  // Other formats test their length limits themselves.
  if (schema.maxLength !== undefined && (isPlain || isUrl)) {
    const [most, said] = [schema.maxLength, `should have at most ${schema.maxLength} characters`]
    const start = isPlain ? '' : 'https://example.com/'
    const longest = start.padEnd(most, schema.pattern === undefined ? 'x' : '1')
    const type = isPlain ? 'string_too_long' : 'url_too_long'
    const wrong = { type, msg: `${isPlain ? 'String' : 'URL'} ${said}`, ctx: { max_length: most } }
    if (schema['x-max-whole-digits'] === undefined) {
      yield { title: `${path} has the max length`, change: { [path]: longest } }
    }
    yield { title: `${path} is too long`, change: { [path]: `${longest}x` }, errors: { [path]: wrong } }
  }
  const digits = schema['x-max-whole-digits']
  if (digits !== undefined) {
    const most = '9'.repeat(digits)
    const wrong = {
      type: 'decimal_whole_digits',
      msg: `Decimal input should have no more than ${digits} digits before the decimal point`,
      ctx: { whole_digits: digits },
    }
    yield { title: `${path} is the max amount`, change: { [path]: `${most}.999999` } }
    yield { title: `${path} is above the max`, change: { [path]: `1${most}` }, errors: { [path]: wrong } }
  }
  if (schema.pattern !== undefined) {
    const wrong = { type: 'greater_than', msg: 'Input should be greater than 0', ctx: { gt: 0 } }
    const errors = schema['x-above-zero'] ? { errors: { [path]: wrong } } : {}
    yield { title: `${path} is nothing`, change: { [path]: '0.000000' }, ...errors }
    yield { title: `${path} is almost zero`, change: { [path]: '0.000001' } }
  }
}

/** The cases for a field's value. */
function* casesWithin(path: string, schema: Schema): Generator<Case> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const place = path === '' ? name : `${path}.${name}`
    yield* casesOf(place, field, schema.required?.includes(name) ?? false)
  }
  if (schema.items) {
    const { fits, wrongType } = kindOf(schema.items)
    const wrong = jsonValues
      .filter((value) => jsonType(value) !== jsonType(fits))
      .slice(0, (schema.maxItems ?? Infinity) / 2)
    const errors = Object.fromEntries(wrong.map((_, index) => [`${path}.${2 * index + 1}`, wrongType]))
    const items = wrong.flatMap((value) => [fits, value])
    yield { title: `every other item of ${path} is wrong`, change: { [path]: items }, errors }
  }
}

function jsonType(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

const endpoints = await findEndpoints()

test('every field of every body: a missing, mistyped or overlong value is refused by name', async (t) => {
  for (const endpoint of endpoints) {
    if (!endpoint.body) continue
    const schema = endpoint.body as Schema
    for (const { title, change, errors } of casesWithin('', schema)) {
      await t.test(`${endpoint.id}: ${title}`, () =>
        check(endpoint, kindOf(schema).fits as object, change, errors),
      )
    }
  }
})

function check(endpoint: Endpoint, valid: object, change: Change, errors: Errors | undefined): void {
  const body = changed(valid, change)
  const outcome = answerToBody(endpoint, Buffer.from(JSON.stringify(body)), 'application/json')
  if (errors) assert.deepEqual(outcome, { status: 422, items: itemsOf(errors, body) })
  else assert.equal(outcome.status, 'fine')
}
