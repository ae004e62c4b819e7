/** Any value on one line, for messages, except a key. */
export function spell(value: unknown): string {
  if (typeof value === 'string') return value.startsWith('svc_') ? 'a key' : JSON.stringify(value)
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}
