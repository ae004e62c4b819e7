import { setTimeout as sleep } from 'node:timers/promises'

import { ConnectionError, ServerError, type List } from '@purser/client'

/** What is followed: a list whose items are newest first. */
interface Followed<Item> {
  readonly list: (query: { readonly limit: number }, options: { readonly signal: AbortSignal }) => List<Item>
  /** How many of those that are there already are shown first. */
  readonly first: number
  readonly intervalMs: number
  readonly signal: AbortSignal
  /** Called with each item once, oldest first. */
  readonly onItems: (items: readonly Item[]) => void
  /** Called when the service stops answering, when it answers again, and when too much came at once. */
  readonly onNotice: (notice: string) => void
}

interface Entry {
  readonly id: string
  readonly created_at: string
}

/**
 * What was written a moment ago can come to light after something younger: a transaction takes its time when it
 * begins, and appears when it is committed. So each look goes back this far behind the youngest that was seen.
 */
const overlapMs = 10_000
/** How much is asked for at once: a quiet list is read in one short answer. */
const pageSize = 50
/** Most items of one look, so that following never keeps a busy service busy. */
const maxItems = 1_000
const longestPauseMs = 30_000

/**
 * Shows what is there and then what comes, until the signal aborts. A service that is away for a while is waited
 * for, with longer and longer pauses; but the first look must succeed. Rejects with what the client throws.
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
      if (failures === 0) onNotice('The service does not answer; it is tried again until it does.')
      failures += 1
      continue
    }
    if (view.isCut) onNotice(`More than ${maxItems} came since the last look; some may be missing here.`)
    if (view.fresh.length > 0) onItems(view.fresh)
  }
}

function pauseMs(intervalMs: number, failures: number): number {
  return Math.min(intervalMs * 2 ** failures, Math.max(intervalMs, longestPauseMs))
}

/** What one look has found. */
interface View<Item> {
  /** What was not seen before, oldest first. */
  readonly fresh: readonly Item[]
  /** When what was seen was written, by id, as far back as the next look goes. */
  readonly seen: ReadonlyMap<string, number>
  readonly youngestMs: number
  /** Everything that was written up to here is behind us. */
  readonly floorMs: number
  readonly isCut: boolean
}

async function lookFirst<Item extends Entry>({ list, first, signal }: Followed<Item>): Promise<View<Item>> {
  const items = await list({ limit: pageSize }, { signal }).toArray({ limit: pageSize })
  const times = items.map(writtenMs)
  return {
    fresh: items.slice(0, first).toReversed(),
    // All of them are known from here on, those that are not shown too.
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
