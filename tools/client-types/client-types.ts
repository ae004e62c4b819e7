import { errorCodes } from '@purser/wire/errors'
import type { Schema } from '@purser/wire/schema/type'

import { formatted } from '../formatted.ts'
import { namedSchemas, vocabularies, type NamedSchema } from './wire-schemas.ts'

/**
 * The files that bring the types of packages/wire to the client, by path: plain interfaces, because the published
 * client has no dependencies, and type assertions that they match the schemas.
 */
export async function clientTypeFiles(): Promise<Record<string, string>> {
  const files = {
    'packages/client/src/wire-types.ts': typesFile(),
    'tools/client-types/same-types.ts': sameTypesFile(),
  }
  const written = Object.entries(files).map(async ([path, code]) => [path, await formatted(path, code)])
  return Object.fromEntries(await Promise.all(written)) as Record<string, string>
}

const madeBy = '// Generated from packages/wire by `npm run client-types`; a test compares them.'

function typesFile(): string {
  return [
    madeBy,
    '',
    ...vocabularies.map(({ type, words }) => `export type ${type} = ${unionOf(words)}\n`),
    '/** The code in `detail` of an error response. */',
    `export type ErrorCode = ${unionOf(errorCodes)}\n`,
    ...namedSchemas.map(
      ({ name, schema }) => `${comment(schema)}export interface ${name} ${objectType(schema)}\n`,
    ),
  ].join('\n')
}

function sameTypesFile(): string {
  const modules = [...new Set(namedSchemas.map(({ module }) => module))]
  return [
    madeBy,
    ...modules.map((module) => `import type * as ${localName(module)} from '@purser/wire/${module}'`),
    "import type { Static } from '@purser/wire/schema/type'",
    '',
    "import type * as client from '../../packages/client/src/wire-types.ts'",
    '',
    '/** True if each type is assignable to the other. */',
    'type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false',
    '',
    'type AllTrue<Checks extends Readonly<Record<string, true>>> = Checks',
    '',
    '/** Does not compile if a type of the client differs from its schema. */',
    'export type SameTypes = AllTrue<{',
    ...namedSchemas.map((one) => `${one.name}: Same<client.${one.name}, ${staticOf(one)}>`),
    '}>',
  ].join('\n')
}

function staticOf({ module, access: [name, ...keys] }: NamedSchema): string {
  const path = keys.map((key) => `['${key}']`).join('')
  return `Static<NonNullable<(typeof ${localName(module)}.${name})${path}>>`
}

function localName(module: string): string {
  return module.replaceAll(/[/-](\w)/g, (_, letter: string) => letter.toUpperCase())
}

function objectType({ properties = {}, required = [] }: Schema): string {
  const fields = Object.entries(properties).map(
    ([name, schema]) => `${comment(schema)}${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`,
  )
  return `{\n${fields.join('\n')}\n}`
}

/** The type of a schema: by name if it has one. */
function typeOf(schema: Schema): string {
  // A field with its own description of a named schema is a copy with the same properties.
  const named = namedSchemas.find((one) => one.schema.properties === schema.properties && schema.properties)
  if (named) return named.name
  if (schema.const !== undefined) return unionOf([schema.const])
  if (schema.enum) return vocabularyOf(schema.enum) ?? unionOf(schema.enum)
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ')
  switch (schema.type) {
    case 'array':
      return `Array<${typeOf(schema.items ?? {})}>`
    case 'object':
      return schema.properties ? objectType(schema) : `Record<string, ${valueTypeOf(schema)}>`
    case 'integer':
    case 'number':
      return 'number'
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type
    case undefined:
      return 'unknown'
    default:
      throw new Error(`The client has no type for ${JSON.stringify(schema)}`)
  }
}

/** The type of the values of a map. */
function valueTypeOf({ patternProperties = {} }: Schema): string {
  const [values = {}] = Object.values(patternProperties)
  return typeOf(values)
}

function vocabularyOf(words: readonly string[]): string | undefined {
  return vocabularies.find((one) => one.words.join() === words.join())?.type
}

function unionOf(words: readonly (string | boolean)[]): string {
  return words.map((word) => JSON.stringify(word)).join(' | ')
}

function comment({ description }: Schema): string {
  return description === undefined ? '' : `/** ${description} */\n`
}
