import { PurserError } from './errors.ts'
import type { CallOptions } from './options.ts'
import type { Send } from './send.ts'
import type { PageQuery } from './wire-types.ts'

/** One page of a list, with the cursor of the next page; null on the last page. */
export interface Page<Item> {
  readonly items: Item[]
  readonly nextCursor: string | null
}

/**
 * A list whose pages are fetched lazily, as it is read (decision 23). Reading it throws the errors of its calls.
 *
 * @example
 * for await (const { id, status } of purser.mandates.list()) console.log(id, status)
 */
export interface List<Item> extends AsyncIterable<Item> {
  /** The first page, or the page at the query's `cursor`. */
  readonly page: () => Promise<Page<Item>>
  /** The first items, up to `limit`, from as many pages as needed. */
  readonly toArray: (options: { readonly limit: number }) => Promise<Item[]>
}

export function listOf<Item>(
  send: Send,
  path: string,
  query: PageQuery | undefined,
  options: CallOptions | undefined,
): List<Item> {
  async function page(cursor = query?.cursor): Promise<Page<Item>> {
    const { headers, body } = await send({ method: 'GET', path, query: { ...query, cursor } }, options)
    return { items: body as Item[], nextCursor: nextCursor(headers.get('link')) }
  }

  async function* items(): AsyncGenerator<Item, void, undefined> {
    let cursor = query?.cursor
    for (;;) {
      const { items, nextCursor } = await page(cursor)
      yield* items
      if (nextCursor === null) return
      if (nextCursor === cursor) throw new PurserError(`The list ${path} links back to its own page`)
      cursor = nextCursor
    }
  }

  async function toArray({ limit }: { readonly limit: number }): Promise<Item[]> {
    const taken: Item[] = []
    if (!(limit > 0)) return taken
    for await (const item of items()) if (taken.push(item) >= limit) break
    return taken
  }

  return { page: () => page(), toArray, [Symbol.asyncIterator]: items }
}

/**
 * The cursor in `Link: <…>; rel="next"` (RFC 8288). Only the cursor is used, so that the link cannot lead
 * elsewhere.
 */
function nextCursor(link: string | null): string | null {
  for (const [, address = '', parameters = ''] of (link ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    if (/;\s*rel="?next"?/i.test(parameters)) {
      return new URL(address, 'http://relative').searchParams.get('cursor')
    }
  }
  return null
}
