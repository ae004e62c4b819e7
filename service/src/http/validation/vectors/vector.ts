import type { ValidationItem } from '@purser/wire/errors'

/** A request and the answer that clients of the interface expect to it, item by item. */
export interface Vector {
  readonly id: string
  readonly title: string
  readonly method: string
  readonly path: string
  /** Without credentials, unless the case is about them: any key that reaches the endpoint will do. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
  readonly status: number
  /** The `detail` of the answer; undefined where the request is well-formed. */
  readonly detail: readonly ValidationItem[] | string | undefined
  /** Whether only a running service can answer, because no schema has a part in it. */
  readonly needsService: boolean
}

/** A fault without its place and its input, which the row that uses it gives. */
export type Wrong = Omit<ValidationItem, 'loc' | 'input'> & { readonly echo?: unknown }

/** The change that takes a field away. */
export const absent = Symbol('absent')

/** By path (`proof.nonce`): what stands there instead, or `absent`. */
export type Change = Readonly<Record<string, unknown>>

/** By path: what is wrong there. The input that the item echoes is what the changed body has at that place. */
export type Faults = Readonly<Record<string, Wrong>>

/** The number of the case, what it is about, what is changed in a body without faults, and what is then wrong. */
export type Row = readonly [id: string, title: string, change: Change, faults?: Faults]

/** The vectors of an endpoint's rows. */
export function vectorsOf(
  endpoint: { method: string; path: string; success: number },
  valid: object,
  rows: readonly Row[],
): Vector[] {
  return rows.map(([id, title, change, faults]) => {
    const sent = changed(valid, change)
    return {
      ...jsonRequest,
      id,
      title,
      method: endpoint.method,
      path: endpoint.path,
      body: Buffer.from(JSON.stringify(sent)),
      status: faults ? 422 : endpoint.success,
      detail: faults && itemsOf(faults, sent),
    }
  })
}

const jsonRequest = { headers: { 'content-type': 'application/json' }, needsService: false } as const

/** The items of these faults of a body, in order. */
export function itemsOf(faults: Faults, body: unknown): ValidationItem[] {
  return Object.entries(faults).map(([path, { type, msg, ctx, ...echo }]) => {
    const keys = path === '' ? [] : path.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key))
    // A missing field shows the object that it is missing from.
    const input = 'echo' in echo ? echo.echo : valueAt(body, type === 'missing' ? keys.slice(0, -1) : keys)
    return { type, loc: ['body', ...keys], msg, input, ...(ctx && { ctx }) }
  })
}

function valueAt(body: unknown, keys: readonly (string | number)[]): unknown {
  return keys.reduce((value, key) => (value as Record<string | number, unknown>)[key], body)
}

/** The body with a change made; the empty path is the body itself. */
export function changed(valid: object, change: Change): unknown {
  if ('' in change) return change['']
  const body = structuredClone(valid)
  for (const [path, value] of Object.entries(change)) {
    const keys = path.split('.')
    const last = keys.pop() ?? ''
    const holder = valueAt(body, keys) as Record<string, unknown>
    if (value === absent) delete holder[last]
    else holder[last] = value
  }
  return body
}
