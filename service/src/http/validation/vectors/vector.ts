import type { ValidationItem } from '@purser/wire/errors'

/** A request and the response that clients expect, item by item. */
export interface Vector {
  readonly id: string
  readonly title: string
  readonly method: string
  readonly path: string
  /** Without credentials, unless the case is about them: any key that may call the endpoint works. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
  readonly status: number
  /** The `detail` of the response; undefined if the request is valid. */
  readonly detail: readonly ValidationItem[] | string | undefined
  /** Whether the case needs a running service, because no schema is involved. */
  readonly needsService: boolean
}

/** An error without its location and input, which each row provides. */
export type Wrong = Omit<ValidationItem, 'loc' | 'input'> & { readonly echo?: unknown }

/** The change that removes a field. */
export const absent = Symbol('absent')

/** By path (`proof.nonce`): the replacement, or `absent`. */
export type Change = Readonly<Record<string, unknown>>

/** By path: the error there. Its echoed input is the value of the changed body at that path. */
export type Errors = Readonly<Record<string, Wrong>>

/** Case number, title, changes to a valid body, and the resulting errors. */
export type Row = readonly [id: string, title: string, change: Change, errors?: Errors]

/** The vectors for the rows of an endpoint. */
export function vectorsOf(
  endpoint: { method: string; path: string; success: number },
  valid: object,
  rows: readonly Row[],
): Vector[] {
  return rows.map(([id, title, change, errors]) => {
    const sent = changed(valid, change)
    return {
      ...jsonRequest,
      id,
      title,
      method: endpoint.method,
      path: endpoint.path,
      body: Buffer.from(JSON.stringify(sent)),
      status: errors ? 422 : endpoint.success,
      detail: errors && itemsOf(errors, sent),
    }
  })
}

const jsonRequest = { headers: { 'content-type': 'application/json' }, needsService: false } as const

/** The items for these errors of a body, in order. */
export function itemsOf(errors: Errors, body: unknown): ValidationItem[] {
  return Object.entries(errors).map(([path, { type, msg, ctx, ...echo }]) => {
    const keys = path === '' ? [] : path.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key))
    // The item of a missing field echoes the object that lacks it.
    const input = 'echo' in echo ? echo.echo : valueAt(body, type === 'missing' ? keys.slice(0, -1) : keys)
    return { type, loc: ['body', ...keys], msg, input, ...(ctx && { ctx }) }
  })
}

function valueAt(body: unknown, keys: readonly (string | number)[]): unknown {
  return keys.reduce((value, key) => (value as Record<string | number, unknown>)[key], body)
}

/** A changed copy of the body; the empty path is the body itself. */
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
