import { defaultPageSize } from '@purser/wire/pages'

import { ok, unprocessable, type Answer } from './answers.ts'

/** The query parameters of a page, as validated. */
export interface PageParameters {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Where a page starts and how much it holds. */
export interface PageRequest {
  readonly limit: number
  readonly olderThan: string | undefined
}

/**
 * The answer of a list: the items of the page as a JSON array, and the address of the next page in
 * `Link: <…>; rel="next"` (RFC 8288) when there is more. A cursor that was not given out here is a 422.
 */
export async function answerPage<Item>(
  parameters: PageParameters,
  url: string,
  load: (page: PageRequest) => Promise<{ items: Item[]; next: string | undefined }>,
  toWire: (item: Item) => unknown,
): Promise<Answer> {
  const { limit = defaultPageSize, cursor } = parameters
  const olderThan = cursor === undefined ? undefined : decodeCursor(cursor)
  if (cursor !== undefined && olderThan === undefined) return invalidCursor(cursor)
  const page = await load({ limit, olderThan })
  const body = page.items.map(toWire)
  return page.next === undefined ? ok(body) : ok(body, { link: nextLink(url, page.next) })
}

function encodeCursor(id: string): string {
  return Buffer.from(id).toString('base64url')
}

function decodeCursor(cursor: string): string | undefined {
  const id = Buffer.from(cursor, 'base64url').toString()
  return /^[a-z]+_[0-9a-z]{26}$/.test(id) && encodeCursor(id) === cursor ? id : undefined
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
      msg: 'Value error, the cursor is not one that a Link header gave; leave it out to start anew',
      input: cursor.toWellFormed(),
      ctx: { error: 'not a cursor of this service' },
    },
  ])
}
