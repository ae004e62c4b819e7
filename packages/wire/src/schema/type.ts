import type { Type as TypeBox } from 'typebox'

export type { Static, TObject, TSchema, TSchemaOptions } from 'typebox'

type Schema = Readonly<Record<string, unknown>>
type Options = Schema | undefined

/**
 * Builds JSON schemas with the types of `typebox`. Only its types: loading the package at each start of the service
 * would take a fifth of the time that all imports take.
 */
export const Type = {
  Object: (properties: Readonly<Record<string, Schema>>, options: Options) => {
    const required = Object.keys(properties).filter((name) => properties[name]?.[optional] !== true)
    return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options }
  },
  Optional: (schema: Schema) =>
    Object.defineProperties(
      {},
      { ...Object.getOwnPropertyDescriptors(schema), [optional]: { value: true, enumerable: false } },
    ),
  Record: (_key: Schema, value: Schema, options: Options) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  Array: (items: Schema, options: Options) => ({ type: 'array', items, ...options }),
  Union: (anyOf: readonly Schema[], options: Options) => ({ anyOf, ...options }),
  Literal: (value: string | number | boolean, options: Options) => ({
    type: typeof value,
    const: value,
    ...options,
  }),
  String: (options: Options) => ({ type: 'string', ...options }),
  Integer: (options: Options) => ({ type: 'integer', ...options }),
  Number: (options: Options) => ({ type: 'number', ...options }),
  Boolean: (options: Options) => ({ type: 'boolean', ...options }),
  Null: (options: Options) => ({ type: 'null', ...options }),
  Unknown: (options: Options) => ({ ...options }),
  Unsafe: (schema: Schema) => schema,
} as unknown as Pick<typeof TypeBox, Builders>

type Builders =
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'Array'
  | 'Union'
  | 'Literal'
  | 'String'
  | 'Integer'
  | 'Number'
  | 'Boolean'
  | 'Null'
  | 'Unknown'
  | 'Unsafe'

/** Marks a field that an object does not require; hidden, so that it is not part of the schema. */
const optional = '~optional'
