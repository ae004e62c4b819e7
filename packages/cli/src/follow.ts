import { setTimeout as sleep } from 'node:timers/promises'

import { ConnectionError, ServerError, type List } from '@purser/client'

/** The list to follow, newest first. */
interface Followed<Item> {
  readonly list: (query: { readonly limit: number }, options: { readonly signal: AbortSignal }) => List<Item>
  /** Number of existing items to show first. */
  readonly first: number
  readonly intervalMs: number
  readonly signal: AbortSignal
  /** Called with each item once, oldest first. */
  readonly onItems: (items: readonly Item[]) => void
  /** Called when the service stops answering, answers again, or has too many new items. */
  readonly onNotice: (notice: string) => void
}

interface Entry {
  readonly id: string
  readonly created_at: string
}

/**
 * Items can appear out of order: a transaction is timestamped when it begins, but visible when it commits. So
 * each poll goes back this far before the newest item seen.
 */
const overlapMs = 10_000
/** Page size of a poll, small because most polls find little. */
const pageSize = 50
/** Max items per poll, to limit the load on a busy service. */
const maxItems = 1_000
const longestPauseMs = 30_000

/**
 * Shows existing and then new items until the signal aborts. Retries with backoff while the service is down,
 * but the first poll must succeed. Rejects with the client's errors.
 */
export async function follow<Item extends Entry>(followed: Followed<Item>): Promise<never> {
  const { signal, intervalMs, onItems, onNotice } = followed
  let view = await lookFirst(followed)
  if (view.fresh.length > 0) onItems(view.fresh)
  for (let failures = 0; ;) {
    await sleep(pauseMs(intervalMs, failures), undefined, { signal })
    try {
      view = await lookAgain(followed, view)
      if (failures > 0) onNotice('The service answers again.')
      failures = 0
    } catch (error) {
      if (!isPassing(error)) throw error
      if (failures === 0) onNotice('The service does not answer; retrying until it does.')
      failures += 1
      continue
    }
    if (view.isCut) onNotice(`More than ${maxItems} items since the last poll; some may be missing here.`)
    if (view.fresh.length > 0) onItems(view.fresh)
  }
}

function pauseMs(intervalMs: number, failures: number): number {
  return Math.min(intervalMs * 2 ** failures, Math.max(intervalMs, longestPauseMs))
}

/** The result of one poll. */
interface View<Item> {
  /** New items, oldest first. */
  readonly fresh: readonly Item[]
  /** Times of seen items by id, as far back as the next poll goes. */
  readonly seen: ReadonlyMap<string, number>
  readonly youngestMs: number
  /** All items up to this time have been handled. */
  readonly floorMs: number
  readonly isCut: boolean
}

async function lookFirst<Item extends Entry>({ list, first, signal }: Followed<Item>): Promise<View<Item>> {
  const items = await list({ limit: pageSize }, { signal }).toArray({ limit: pageSize })
  const times = items.map(writtenMs)
  return {
    fresh: items.slice(0, first).toReversed(),
    // From here on all of them count as seen, even those not shown.
    seen: new Map(items.map((item) => [item.id, writtenMs(item)])),
    youngestMs: Math.max(0, ...times),
    floorMs: items.length < pageSize ? 0 : Math.min(...times),
    isCut: false,
  }
}

async function lookAgain<Item extends Entry>(
  { list, signal }: Followed<Item>,
  { seen, youngestMs, floorMs }: View<Item>,
): Promise<View<Item>> {
  const sinceMs = Math.max(youngestMs - overlapMs, floorMs + 1)
  const fresh: Item[] = []
  let looked = 0
  for await (const item of list({ limit: pageSize }, { signal })) {
    if (writtenMs(item) < sinceMs) break
    if (!seen.has(item.id)) fresh.push(item)
    if (++looked >= maxItems) break
  }
  const known = [...seen, ...fresh.map((item) => [item.id, writtenMs(item)] as const)]
  const youngestNowMs = Math.max(youngestMs, ...fresh.map(writtenMs))
  return {
    fresh: fresh.toReversed(),
    seen: new Map(known.filter(([, atMs]) => atMs >= youngestNowMs - overlapMs)),
    youngestMs: youngestNowMs,
    floorMs,
    isCut: looked >= maxItems,
  }
}

function writtenMs({ created_at }: Entry): number {
  return Date.parse(created_at)
}

function isPassing(error: unknown): boolean {
  return error instanceof ConnectionError || error instanceof ServerError
}
