import type { Schema } from '../json-schema.ts'

/** One line of a table of fields: `agent.id`, or `api_keys[].key`, where the field lies deeper. */
export interface Field {
  readonly name: string
  readonly isRequired: boolean
  readonly schema: Schema
}

/** Every field of an object, those of the objects in it behind it. */
export function fieldsOf({ properties = {}, required = [] }: Schema, prefix = ''): Field[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const name = prefix + key
    const deeper = schema.items?.properties
      ? fieldsOf(schema.items, `${name}[].`)
      : fieldsOf(schema, `${name}.`)
    return [{ name, isRequired: required.includes(key), schema }, ...deeper]
  })
}

/** The type of a field in a few words. */
export function typeName(schema: Schema): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.enum) return schema.enum.map((word) => `\`${word}\``).join(', ')
  if (schema.anyOf) return schema.anyOf.map(typeName).join(' or ')
  if (schema.type === 'array') return `list of ${typeName(schema.items ?? {})}`
  if (schema.pattern !== undefined) return 'decimal amount'
  return [schema.type, schema.format].filter(Boolean).join(', ')
}

/** What holds for a field beyond its type. */
export function notesOn(schema: Schema): string {
  const { description, maxLength, minimum, maximum } = schema
  const notes = [
    description?.replace(/\.$/, ''),
    schema['x-above-zero'] ? 'above zero' : undefined,
    maxLength === undefined ? undefined : `at most ${maxLength} characters`,
    minimum === undefined || maximum === undefined ? undefined : `from ${minimum} to ${maximum}`,
  ]
  return notes.filter((note) => note !== undefined).join('; ')
}

/** The default value of a field. */
export function standardOf({ default: standard }: Schema): string {
  return standard === undefined ? '' : `\`${JSON.stringify(standard)}\``
}
