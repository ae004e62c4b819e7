import type { List } from '@purser/client'

import { showList } from '../output/show.ts'
import type { Column } from '../output/table.ts'
import type { Io } from '../io.ts'

/** Max page size of the service. */
export const pageSize = 200

interface Listing<Item> {
  readonly list: (query: { readonly limit: number }, options: { readonly signal: AbortSignal }) => List<Item>
  readonly columns: readonly Column<Item>[]
  /** Message for an empty list. */
  readonly none: string
  /** A client-side filter, for what the service cannot filter: all pages are read. */
  readonly isMeant?: (item: Item) => boolean
}

/** Lists items, newest first, and says if there are more. Resolves to the listed items. */
export async function listItems<Item>(
  { list, columns, none, isMeant }: Listing<Item>,
  { limit, json }: { readonly limit: number; readonly json?: true },
  io: Io,
): Promise<readonly Item[]> {
  const asked = list(
    { limit: isMeant ? pageSize : Math.min(limit + 1, pageSize) },
    { signal: io.interruption() },
  )
  const items: Item[] = []
  for await (const item of asked) {
    if (isMeant && !isMeant(item)) continue
    if (items.push(item) > limit) break
  }
  const shown = items.slice(0, limit)
  showList(columns, shown, { none, ...(json && { json }) }, io)
  if (items.length > limit) io.printError(`There are more than ${limit}; --limit shows more.`)
  return shown
}
