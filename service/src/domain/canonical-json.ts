/** How deep a value may be nested: a proof is flat, so anything deeper was not made here. */
const maxDepth = 32

/**
 * The RFC 8785 (JCS) text of a JSON value: keys in UTF-16 order, no white space, numbers as ECMAScript
 * prints them. Undefined when the value is nested too deeply, or is nothing that JSON can hold.
 */
export function canonicalJson(value: unknown, depth = 0): string | undefined {
  if (depth > maxDepth) return undefined
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') return Number.isFinite(value) ? JSON.stringify(value) : undefined
  if (typeof value !== 'object') return undefined
  const parts: string[] = []
  if (Array.isArray(value)) {
    for (const item of value) {
      const text = canonicalJson(item, depth + 1)
      if (text === undefined) return undefined
      parts.push(text)
    }
    return `[${parts.join(',')}]`
  }
  const record = value as Record<string, unknown>
  for (const key of Object.keys(record).sort()) {
    const text = canonicalJson(record[key], depth + 1)
    if (text === undefined) return undefined
    parts.push(`${JSON.stringify(key)}:${text}`)
  }
  return `{${parts.join(',')}}`
}
