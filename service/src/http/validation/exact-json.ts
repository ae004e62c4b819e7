/** What `JSON.parse` hands over with each value: the text that it was read from, of what is no object and no list. */
export type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

// The standard library does not describe these two yet.
export const parse = JSON.parse as (json: string, reviver: Reviver) => unknown
export const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown }

/** A JSON value whose numbers `JSON.stringify` writes as the text has them, also those that JavaScript cannot hold. */
export function parseExactly(json: string): unknown {
  return parse(json, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== String(value) ? rawJSON(source) : value,
  )
}
