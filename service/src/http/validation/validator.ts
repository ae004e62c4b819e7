import type { Static, Schema } from '@purser/wire/schema/type'

import type { ValidationItem } from '@purser/wire/errors'
import { maxLengths } from '@purser/wire/lengths'

import { dateTimeReader } from './date-time.ts'
import { emailReader } from './email.ts'
import { hostNameReader } from './host-name.ts'
import { integerReader } from './integer.ts'
import { listReader } from './list.ts'
import { literalReader } from './literal.ts'
import { dictReader, modelReader } from './model.ts'
import { errorOf, Refusal, refuse, type Reader } from './refusal.ts'
import { resourcePatternReader } from './resource-pattern.ts'
import { boundedReader, textReader } from './text.ts'
import { timeZoneReader } from './time-zone.ts'
import { unionReader } from './union.ts'
import { urlReader } from './url.ts'
import { uuidReader } from './uuid.ts'

/** The result of validating an input against a schema. */
export type Validation<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly items: ValidationItem[] }

/** The source of an input: bodies contain JSON values, queries text. */
export type Where = 'body' | 'query'

/**
 * Compiles a function that returns the validated value of an input, or the items of the 422 (Errors). Values are not
 * converted; unknown fields are dropped and defaults added. Throws for a schema with unsupported keywords.
 */
export function compileValidator<T extends Schema>(
  schema: T,
  where: Where,
): (input: unknown) => Validation<Static<T>> {
  const read = readerOf(schema, where)
  return (input) => {
    // A null body counts as absent, like an empty one.
    if (input === undefined || input === null)
      return { ok: false, items: [errorOf('missing', [where], null)] }
    const value = read(input)
    if (value instanceof Refusal) return { ok: false, items: value.under(where).items }
    return { ok: true, value: value as Static<T> }
  }
}

function readerOf(schema: Schema, where: Where): Reader {
  const expect = (...keywords: string[]) => refuseOtherKeywords(schema, ['type', ...keywords])
  if (schema.anyOf) {
    expect('anyOf')
    return anyOfReader(schema.anyOf, where)
  }
  if (schema.const !== undefined || schema.enum) {
    expect('const', 'enum')
    return literalReader(schema.enum ?? [schema.const])
  }
  switch (schema.type) {
    case 'string':
      return stringReader(schema, expect)
    case 'integer':
      expect('minimum', 'maximum')
      return integerReader(schema, where)
    case 'boolean':
      expect()
      return (input) => (typeof input === 'boolean' ? input : refuse('bool_type', input))
    case 'array':
      expect('items', 'maxItems')
      return listReader(readerOf(schema.items ?? {}, where), schema.maxItems)
    case 'object':
      return objectReader(schema, where, expect)
    case undefined:
      expect()
      return (input) => input
    default:
      throw new TypeError(`no reader for the type ${schema.type}`)
  }
}

function stringReader(schema: Schema, expect: (...keywords: string[]) => void): Reader {
  switch (schema.format) {
    case undefined:
      expect('minLength', 'maxLength', 'pattern', 'x-max-whole-digits', 'x-above-zero')
      return textReader(schema)
    case 'uri':
      expect('format', 'maxLength')
      return urlReader(schema.maxLength)
    case 'date-time':
      expect('format', 'maxLength')
      return boundedReader(dateTimeReader, schema.maxLength)
    case 'resource-pattern':
      expect('format', 'maxLength')
      return resourcePatternReader(schema.maxLength)
    case 'time-zone':
      expect('format', 'maxLength')
      return boundedReader(timeZoneReader, schema.maxLength)
    case 'hostname':
      expect('format', 'maxLength')
      return boundedReader(hostNameReader, schema.maxLength)
    case 'uuid':
    case 'email':
      // Both readers have their own limit and message.
      expect('format', 'maxLength')
      refuseOtherBound(schema, maxLengths[schema.format])
      return schema.format === 'uuid' ? uuidReader : emailReader
    default:
      throw new TypeError(`no reader for the format ${schema.format}`)
  }
}

function objectReader(schema: Schema, where: Where, expect: (...keywords: string[]) => void): Reader {
  if (!schema.properties) {
    expect('patternProperties', 'maxProperties', 'propertyNames')
    const [values = {}, ...others] = Object.values(schema.patternProperties ?? {})
    if (others.length > 0) throw new TypeError('the values of a map have one schema')
    const { propertyNames: names } = schema
    if (names) refuseOtherKeywords(names, ['minLength', 'maxLength'])
    return dictReader({
      maxProperties: schema.maxProperties,
      readName: names ? textReader(names) : (name) => name,
      readValue: readerOf(values, where),
    })
  }
  expect('properties', 'required', 'additionalProperties')
  const fields = Object.entries(schema.properties).map(([name, field]) => ({
    name,
    read: readerOf(field, where),
    required: schema.required?.includes(name) ?? false,
    default: field.default,
  }))
  return modelReader(fields, {
    others: othersOf(schema),
    fromQuery: where === 'query',
  })
}

function othersOf({ additionalProperties }: Schema) {
  if (additionalProperties === undefined) return 'drop'
  return additionalProperties ? 'keep' : 'refuse'
}

/** One schema and null, or several objects and a text. */
function anyOfReader(options: readonly Schema[], where: Where): Reader {
  const [option, ...others] = options.filter(({ type }) => type !== 'null')
  const isNullable = others.length + 1 < options.length
  if (!option || others.length > 0 === isNullable) {
    throw new TypeError('a union can only be of one schema and null, or of several schemas')
  }
  if (others.length > 0) {
    if (!options.every((one) => one.type === 'object' || one.const !== undefined))
      throw new TypeError('a union of several schemas has only objects and fixed texts')
    return unionReader(
      options.map((one) => ({
        required: one.type === 'object' ? (one.required ?? []) : undefined,
        read: readerOf(one, where),
      })),
    )
  }
  const read = readerOf(option, where)
  return (input) => (input === null ? null : read(input))
}

function refuseOtherBound({ format, maxLength }: Schema, own: number): void {
  if (maxLength !== undefined && maxLength !== own) {
    throw new TypeError(`the format ${format} is read with a bound of its own, which is ${own}`)
  }
}

/** Annotations without constraints. */
const annotations = ['title', 'description', 'examples', 'default']

/** An unchecked keyword would accept what the interface forbids. */
function refuseOtherKeywords(schema: Schema, keywords: readonly string[]): void {
  for (const keyword of Object.keys(schema)) {
    if (annotations.includes(keyword) || keywords.includes(keyword)) continue
    throw new TypeError(`the keyword ${keyword} is not checked in ${JSON.stringify(schema)}`)
  }
}
