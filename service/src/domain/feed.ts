import { transactionsFrom } from './id-time.ts'

/**
 * Max age of a transaction's id when it appears: the duration of an operation plus clock differences. Older
 * ids are settled: nothing will be added before them.
 */
const settledAfterMs = 15_000

/** The length of an id suffix that is unique within 15 seconds: 40 random bits. */
const tailLength = 8

const timeLength = 10

/**
 * What a reader of the feed has received: everything before a point in time, and these ids after it. Ids are
 * created before they are committed, so a later one may appear first; the last id alone would not be enough.
 */
export interface FeedPlace {
  /** Ids that sort below this text are settled. */
  readonly settledBelow: string
  /** The suffixes of later ids that were sent. */
  readonly tails: ReadonlySet<string>
}

/** Parses a position; undefined if it is invalid. */
export function readFeedPlace(text: string): FeedPlace | undefined {
  const [, time, tails = ''] = /^([0-9a-z]{10})\.((?:[0-9a-z]{8})*)$/.exec(text) ?? []
  if (time === undefined) return undefined
  return { settledBelow: `txn_${time}`, tails: new Set(tails.match(/.{8}/g) ?? []) }
}

/** A position as text, for resuming a feed. */
export function writeFeedPlace({ settledBelow, tails }: FeedPlace): string {
  return `${settledBelow.slice('txn_'.length, 'txn_'.length + timeLength)}.${[...tails].join('')}`
}

/** Whole seconds, so that feeds opened shortly after each other share a position. */
const stepMs = 1_000

/** Ids below this text are settled at the given time. */
export function settledAt(nowMs: number): string {
  const settledMs = nowMs - settledAfterMs
  return transactionsFrom(settledMs - (settledMs % stepMs))
}

/** The newest transactions that a reader has not received, and its next position. */
export function advanceFeed<Item extends { readonly id: string }>(
  place: FeedPlace,
  { items, readDownTo }: { readonly items: readonly Item[]; readonly readDownTo: string | undefined },
  nowMs: number,
): { readonly fresh: Item[]; readonly hasGap: boolean; readonly place: FeedPlace } {
  const above = items.filter(({ id }) => id > place.settledBelow)
  const fresh = above.filter(({ id }) => !place.tails.has(tailOf(id)))
  // Below the range that was read, unseen transactions may have appeared.
  const oldest = readDownTo?.slice(0, 'txn_'.length + timeLength)
  const hasGap = oldest !== undefined && oldest > place.settledBelow
  const settled = [place.settledBelow, settledAt(nowMs), ...(hasGap ? [oldest] : [])]
  const settledBelow = settled.reduce((latest, one) => (one > latest ? one : latest))
  const tails = new Set(above.filter(({ id }) => id > settledBelow).map(({ id }) => tailOf(id)))
  return { fresh, hasGap, place: { settledBelow, tails } }
}

function tailOf(id: string): string {
  return id.slice(-tailLength)
}
