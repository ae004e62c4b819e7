/** Max nesting depth: proofs are flat, so anything deeper was not issued here. */
const maxDepth = 32

/**
 * The RFC 8785 (JCS) text of a JSON value: keys in UTF-16 order, no white space, numbers as ECMAScript prints
 * them. Undefined if the value is nested too deeply, or is not valid JSON.
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
  const keys = Object.keys(record).sort()
  if (isPlain(record, keys)) return JSON.stringify(pick(record, keys))
  for (const key of keys) {
    const text = canonicalJson(record[key], depth + 1)
    if (text === undefined) return undefined
    parts.push(`${JSON.stringify(key)}:${text}`)
  }
  return `{${parts.join(',')}}`
}

/**
 * Whether an object has only string values, with keys that keep insertion order: the shape of every proof,
 * for which `JSON.stringify` is many times faster.
 */
function isPlain(record: Record<string, unknown>, keys: readonly string[]): boolean {
  return keys.every((key) => typeof record[key] === 'string' && !/^[0-9]|^__proto__$|^toJSON$/.test(key))
}

function pick(record: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {}
  for (const key of keys) picked[key] = record[key]
  return picked
}
