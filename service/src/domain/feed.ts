import { idsFrom } from './id-time.ts'

/**
 * How old a transaction's id can be when it appears: as long as an act may take, and clocks may differ. What is
 * older is settled: nothing will be added before it.
 */
const settledAfterMs = 15_000

/** How much of the end of an id tells it from the others of a quarter of a minute: 40 random bits. */
const tailLength = 8

const timeLength = 10

/**
 * What a reader of the feed has had: everything before a moment, and of what came after it, these. Ids are made
 * before they are committed, so a later one may appear first; the last one seen would not be enough to know.
 */
export interface FeedPlace {
  /** Ids below this text are settled. */
  readonly settledBelow: string
  /** The ends of the ids above that were sent. */
  readonly tails: ReadonlySet<string>
}

/** The place that a text tells; undefined when it tells none. */
export function readFeedPlace(text: string): FeedPlace | undefined {
  const [, time, tails = ''] = /^([0-9a-z]{10})\.((?:[0-9a-z]{8})*)$/.exec(text) ?? []
  if (time === undefined) return undefined
  return { settledBelow: `txn_${time}`, tails: new Set(tails.match(/.{8}/g) ?? []) }
}

/** A place as text, with which a reader comes back to where he was. */
export function writeFeedPlace({ settledBelow, tails }: FeedPlace): string {
  return `${settledBelow.slice('txn_'.length, 'txn_'.length + timeLength)}.${[...tails].join('')}`
}

/** Whole seconds, so that feeds that were opened one after the other look at the same place. */
const stepMs = 1_000

/** What is below this text at a moment is settled. */
export function settledAt(nowMs: number): string {
  const settledMs = nowMs - settledAfterMs
  return idsFrom('txn', settledMs - (settledMs % stepMs))
}

/** Which of the newest transactions a reader has not had, and its place once it has them. */
export function advanceFeed<Item extends { readonly id: string }>(
  place: FeedPlace,
  { items, isCutOff }: { readonly items: readonly Item[]; readonly isCutOff: boolean },
  nowMs: number,
): { readonly fresh: Item[]; readonly hasGap: boolean; readonly place: FeedPlace } {
  const above = items.filter(({ id }) => id > place.settledBelow)
  const fresh = above.filter(({ id }) => !place.tails.has(tailOf(id)))
  // Below what was looked at, something may have appeared that nobody saw.
  const oldest = isCutOff ? items.at(-1)?.id.slice(0, 'txn_'.length + timeLength) : undefined
  const hasGap = oldest !== undefined && oldest > place.settledBelow
  const settled = [place.settledBelow, settledAt(nowMs), ...(hasGap ? [oldest] : [])]
  const settledBelow = settled.reduce((latest, one) => (one > latest ? one : latest))
  const tails = new Set(above.filter(({ id }) => id > settledBelow).map(({ id }) => tailOf(id)))
  return { fresh, hasGap, place: { settledBelow, tails } }
}

function tailOf(id: string): string {
  return id.slice(-tailLength)
}
