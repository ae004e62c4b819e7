import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

import { streamTransactions, type FeedEnd } from '@purser/wire/console/feed'
import type { NamedTransaction } from '@purser/wire/console/transactions'

import { advanceFeed, readFeedPlace, settledAt, writeFeedPlace, type FeedPlace } from '../../domain/feed.ts'
import type { Scope, Transaction } from '../../domain/records.ts'
import { refuse } from '../../http/answers.ts'
import type { Call, Serve } from '../../http/serve.ts'
import { createStreamSlots } from '../../http/stream-slots.ts'
import {
  feedHeartbeatMs,
  feedIntervalMs,
  feedRecheckMs,
  maxFeedBacklogBytes,
  maxFeedEventBytes,
  maxFeeds,
  maxFeedsOfAccount,
} from '../../limits.ts'
import type { Newest } from '../../store/console/store.ts'
import type { RouteContext } from '../context.ts'
import { nameTransactions } from '../named-transactions.ts'

/** The open feeds of a process. */
export interface Feeds {
  readonly open: number
  /** Notifies every reader that the service is stopping, and ends their streams. */
  readonly end: () => void
}

/** The reader of a feed, and its start position. */
interface Reader extends Pick<Call<never, never, never>, 'isStillLetIn' | 'takeTurn'> {
  readonly place: FeedPlace | undefined
}

/** Max number of newest transactions to read, which bounds the cost of a feed. */
const lookedAt = 1_000

/** Max number of transactions to read for the start of a feed, in both environments. */
const lookedAtFirst = 100

/** Max transactions per event, and at the start of a feed. */
const carried = { most: 200, first: 20 }

export function serveConsoleFeed(serve: Serve, { store, now }: Pick<RouteContext, 'store' | 'now'>): Feeds {
  const slots = createStreamSlots({ most: maxFeeds, mostOfAccount: maxFeedsOfAccount })
  const streams = new Set<FeedStream>()
  const newest = shareLooks(async (scope, id) => {
    const atMs = now()
    return { ...(await store.newestTransactions(scope, { id, limit: lookedAt })), atMs }
  })

  serve(streamTransactions, async ({ caller, query, header, isStillLetIn, takeTurn }) => {
    if ((query.environment ?? caller.environment) !== caller.environment)
      return refuse('environment_not_in_session')
    const stream = new FeedStream()
    if (!slots.take(caller.accountId, stream)) return refuse('too_many_streams')
    streams.add(stream)
    stream.once('close', () => streams.delete(stream))
    const place = readFeedPlace(query.last_event_id ?? header('last-event-id') ?? '')
    run(stream, caller, { place, isStillLetIn, takeTurn }).catch((error: unknown) => {
      // The reader reconnects and resumes.
      stream.destroy(error instanceof Error ? error : new Error(String(error)))
    })
    const headers = {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    }
    return { status: 200, body: undefined, stream, headers }
  })

  async function run(stream: FeedStream, scope: Scope, reader: Reader): Promise<void> {
    let { place } = reader
    // Confirm a resumed connection at once, even if there is nothing new.
    let isFirstLook = place !== undefined
    let sinceHeartbeatMs = 0
    let letInAtMs = -Infinity
    const goOn = async () => {
      if (stream.isOver) return
      // Checked in its turn, for which it may have waited long.
      if (performance.now() - letInAtMs >= feedRecheckMs) {
        if (!(await reader.isStillLetIn())) return stream.end('signed_out')
        letInAtMs = performance.now()
      }
      place ??= await begin(stream, scope)
      const looked = await newest(scope, place.settledBelow)
      const step = advanceFeed(place, looked, looked.atMs)
      place = step.place
      if (step.fresh.length > 0 || step.hasGap || isFirstLook) await send(stream, scope, step.fresh, step)
      isFirstLook = false
    }
    while (!stream.isOver) {
      await reader.takeTurn(goOn)
      if (sinceHeartbeatMs >= feedHeartbeatMs) {
        sinceHeartbeatMs = 0
        stream.heartbeat()
      }
      await sleep(feedIntervalMs, undefined, { ref: false })
      sinceHeartbeatMs += feedIntervalMs
    }
  }

  async function send(
    stream: FeedStream,
    scope: Scope,
    newestFirst: readonly Transaction[],
    { place, hasGap }: { readonly place: FeedPlace; readonly hasGap: boolean },
  ): Promise<void> {
    const shown = newestFirst.slice(0, carried.most)
    const isCut = hasGap || shown.length < newestFirst.length
    stream.transactions(await nameTransactions(store, scope, shown), { place, hasGap: isCut })
  }

  /** The start of a new feed: the newest transactions, and the position after them. */
  async function begin(stream: FeedStream, scope: Scope): Promise<FeedPlace> {
    const start = { settledBelow: settledAt(now()), tails: new Set<string>() }
    const older = await store.newestTransactions(scope, { id: '', limit: lookedAtFirst })
    // Read afterwards, so that nothing is missed between the two.
    const recent = await store.newestTransactions(scope, { id: start.settledBelow, limit: lookedAt })
    const { place } = advanceFeed(start, recent, now())
    const known = new Set(recent.items.map(({ id }) => id))
    const latest = [...recent.items, ...older.items.filter(({ id }) => !known.has(id))]
    latest.sort((left, right) => (left.id < right.id ? 1 : -1))
    await send(stream, scope, latest.slice(0, carried.first), { place, hasGap: false })
    return place
  }

  return {
    get open() {
      return slots.open
    },
    end: () => {
      for (const stream of streams) stream.end('service_stopping')
    },
  }
}

/** The result of a poll, and when it began. */
interface Look extends Newest {
  readonly atMs: number
}

/** How long a poll is shared by all feeds of its scope, which delays new transactions by as much. */
const sharedForMs = feedIntervalMs / 2

/** Readers at the same position of a scope share one poll. */
function shareLooks(look: (scope: Scope, id: string) => Promise<Look>) {
  const looks = new Map<string, Promise<Look>>()
  return (scope: Scope, id: string): Promise<Look> => {
    const key = `${scope.accountId} ${scope.environment} ${id}`
    const known = looks.get(key)
    if (known) return known
    const looking = look(scope, id)
    looks.set(key, looking)
    const forget = () => looks.delete(key)
    looking.then(() => setTimeout(forget, sharedForMs).unref(), forget)
    return looking
  }
}

/**
 * One reader's stream of server-sent events. A reader that does not read is disconnected before it fills the
 * memory.
 */
class FeedStream extends Readable {
  #isEnded = false

  get isOver(): boolean {
    return this.#isEnded || this.destroyed
  }

  override _read(): void {
    // Everything available has been sent.
  }

  transactions(
    newestFirst: readonly NamedTransaction[],
    { place, hasGap }: { readonly place: FeedPlace; readonly hasGap: boolean },
  ): void {
    const shown = withinBytes(newestFirst)
    const isCut = hasGap || shown.length < newestFirst.length
    const data = `{"transactions":[${shown.toReversed().join(',')}],"has_gap":${isCut}}`
    this.#send(`id: ${writeFeedPlace(place)}\nevent: transactions\ndata: ${data}\n\n`)
  }

  heartbeat(): void {
    this.#send(': \n\n')
  }

  end(reason: FeedEnd): void {
    if (this.isOver) return
    this.#send(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`)
    this.#isEnded = true
    this.push(null)
  }

  #send(text: string): void {
    if (this.isOver) return
    if (this.readableLength > maxFeedBacklogBytes) this.destroy()
    else this.push(text)
  }
}

/** As many transactions as fit into one event, as JSON. */
function withinBytes(transactions: readonly NamedTransaction[]): string[] {
  const shown: string[] = []
  let bytes = 0
  for (const transaction of transactions) {
    const json = JSON.stringify(transaction)
    bytes += Buffer.byteLength(json)
    if (bytes > maxFeedEventBytes && shown.length > 0) break
    shown.push(json)
  }
  return shown
}
