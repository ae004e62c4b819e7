/** The `JSON.parse` context of a primitive value: its source text. */
export type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

// TypeScript's standard library does not have these two yet.
export const parse = JSON.parse as (json: string, reviver: Reviver) => unknown
export const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown }

/**
 * A JSON value whose numbers `JSON.stringify` writes as in the source text, including those that JavaScript cannot
 * represent.
 */
export function parseExactly(json: string): unknown {
  return parse(json, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== String(value) ? rawJSON(source) : value,
  )
}
