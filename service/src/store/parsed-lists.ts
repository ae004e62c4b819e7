const maxLists = 10_000
/** Max characters of the texts that are remembered. */
const maxTotalLength = 16 * 1024 * 1024

const parsed = new Map<string, readonly string[]>()
let totalLength = 0

/**
 * The list that a JSON text of the store holds. The same text gives the same list, so that what is worked out for a list
 * of a thousand sellers (`admitsSeller`) is worked out once. Nobody may change it.
 */
export function parseList(text: string): readonly string[] {
  const known = parsed.get(text)
  if (known) return known
  const list = Object.freeze(JSON.parse(text) as string[])
  parsed.set(text, list)
  totalLength += text.length
  for (const oldest of parsed.keys()) {
    if (parsed.size <= maxLists && totalLength <= maxTotalLength) break
    parsed.delete(oldest)
    totalLength -= oldest.length
  }
  return list
}
