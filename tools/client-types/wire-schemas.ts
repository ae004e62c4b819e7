import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Schema } from '@purser/wire/schema/type'

import { projectFolder } from '../source-files.ts'

/** A named object schema, and its TypeScript path: module, export, and keys. */
export interface NamedSchema {
  readonly name: string
  readonly module: string
  readonly access: readonly string[]
  readonly schema: Schema
}

/** A vocabulary with a type: `export type Role = (typeof roles)[number]`. */
export interface Vocabulary {
  readonly type: string
  readonly words: readonly string[]
}

const folder = join(projectFolder, 'packages/wire/src')
const moduleNames = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => name.slice(0, -'.ts'.length))
  .sort()

const modules = await Promise.all(
  moduleNames.map(async (name) => ({
    name,
    text: readFileSync(join(folder, `${name}.ts`), 'utf8'),
    exports: (await import(join(folder, `${name}.ts`))) as Record<string, unknown>,
  })),
)

/** Every vocabulary of the interface, in file order. */
export const vocabularies: readonly Vocabulary[] = modules.flatMap(({ text, exports }) =>
  [...text.matchAll(/export type (\w+) = \(typeof (\w+)\)\[number\]/g)].map(([, type = '', words = '']) => ({
    type,
    words: exports[words] as readonly string[],
  })),
)

/** Every named object of the interface, including the query parameters of lists. */
export const namedSchemas: readonly NamedSchema[] = modules.flatMap(({ name: module, exports }) =>
  Object.entries(exports).flatMap(([name, value]): NamedSchema[] => {
    if (isObjectSchema(value)) return [{ name, module, access: [name], schema: value }]
    if (!isEndpoint(value) || !isObjectSchema(value.query) || hasName(value.query)) return []
    const queryName = `${name[0]?.toUpperCase()}${name.slice(1)}Query`
    return [{ name: queryName, module, access: [name, 'query'], schema: value.query }]
  }),
)

function hasName(schema: Schema): boolean {
  return modules.some(({ exports }) => Object.values(exports).includes(schema))
}

/** Whether a value is an object schema that the client names; one with a `title` is named in OpenAPI only. */
function isObjectSchema(value: unknown): value is Schema {
  if (typeof value !== 'object' || value === null || 'title' in value) return false
  return 'properties' in value && 'type' in value
}

function isEndpoint(value: unknown): value is { readonly query?: unknown } {
  return typeof value === 'object' && value !== null && 'method' in value && 'path' in value
}
