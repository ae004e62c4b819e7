import type { Schema } from '@purser/wire/schema/type'

/** A row in a table of fields: `agent.id`, or `api_keys[].key` for a nested field. */
export interface Field {
  readonly name: string
  readonly isRequired: boolean
  readonly schema: Schema
}

/** All fields of an object, followed by the fields of nested objects. */
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

/** The constraints of a field other than its type. */
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

/** The default of a field. */
export function standardOf({ default: standard }: Schema): string {
  return standard === undefined ? '' : `\`${JSON.stringify(standard)}\``
}
