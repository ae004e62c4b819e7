import { setImmediate } from 'node:timers/promises'

import { defaultPageSize } from '@purser/wire/pages'

import { maxPageBytes } from '../limits.ts'
import { unprocessable, type Answer } from './answers.ts'

/** The query parameters of a page, as validated. */
export interface PageParameters {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** The start and size of a page. */
export interface PageRequest {
  readonly limit: number
  readonly olderThan: string | undefined
}

/**
 * Number of records per read: few until their size is known, so that a page of large ones never blocks the
 * process for long.
 */
const readAtOnce = { first: 4, most: 50 }

/**
 * The response of a list: the items of the page as a JSON array, and the URL of the next page in
 * `Link: <…>; rel="next"` (RFC 8288) if there is more. A page ends early if the next item would exceed the
 * max size. An invalid cursor is a 422.
 */
export async function answerPage<Item extends { readonly id: string }>(
  parameters: PageParameters,
  url: string,
  load: (page: PageRequest) => Promise<{ items: Item[]; next: string | undefined }>,
  toWire: (item: Item) => unknown,
  /** What the ids of the list look like. */
  ids = recordIds,
): Promise<Answer> {
  const { limit = defaultPageSize, cursor } = parameters
  const olderThan = cursor === undefined ? undefined : decodeCursor(cursor, ids)
  if (cursor !== undefined && olderThan === undefined) return invalidCursor(cursor)
  const { items, next } = await loadPage({ limit, olderThan }, load, toWire)
  const answer = { status: 200, body: undefined, json: `[${items.join(',')}]` }
  return next === undefined ? answer : { ...answer, headers: { link: nextLink(url, next) } }
}

/** The items of a page as JSON, and the id after which the next page starts. */
async function loadPage<Item extends { readonly id: string }>(
  { limit, olderThan }: PageRequest,
  load: (page: PageRequest) => Promise<{ items: Item[]; next: string | undefined }>,
  toWire: (item: Item) => unknown,
): Promise<{ items: string[]; next: string | undefined }> {
  const items: string[] = []
  let bytes = 0
  let next = olderThan
  // A bounded list may return fewer items per step than requested.
  const steps = 1 + Math.ceil((limit - readAtOnce.first) / readAtOnce.most)
  let atOnce = readAtOnce.first
  for (let step = 1; step <= steps; step++) {
    const page = await load({ limit: Math.min(atOnce, limit - items.length), olderThan: next })
    for (const item of page.items) {
      const json = JSON.stringify(toWire(item))
      // Including the comma, or the opening bracket.
      bytes += Buffer.byteLength(json) + 1
      if (bytes >= maxPageBytes && items.length > 0) return { items, next }
      items.push(json)
      next = item.id
    }
    next = page.next
    if (next === undefined || items.length >= limit) break
    // A list of which nothing matched yet is searched in large steps: each reads as much as its limit allows.
    const fitting = bytes === 0 ? Infinity : Math.ceil(((maxPageBytes - bytes) * items.length) / bytes)
    atOnce = Math.min(readAtOnce.most, Math.max(1, fitting))
    await setImmediate()
  }
  return { items, next }
}

function encodeCursor(id: string): string {
  return Buffer.from(id).toString('base64url')
}

const recordIds = /^[a-z]+_[0-9a-z]{26}$/

function decodeCursor(cursor: string, ids: RegExp): string | undefined {
  const id = Buffer.from(cursor, 'base64url').toString()
  return ids.test(id) && encodeCursor(id) === cursor ? id : undefined
}

function nextLink(url: string, next: string): string {
  const address = new URL(url, 'http://relative')
  address.searchParams.set('cursor', encodeCursor(next))
  return `<${address.pathname}${address.search}>; rel="next"`
}

function invalidCursor(cursor: string): Answer {
  return unprocessable([
    {
      type: 'value_error',
      loc: ['query', 'cursor'],
      msg: 'Value error, the cursor is not from a Link header; omit it to start over',
      input: cursor.toWellFormed(),
      ctx: { error: 'not a cursor of this service' },
    },
  ])
}
