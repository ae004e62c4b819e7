import type { Readable } from 'node:stream'

/** Max open streams, in total and per account. */
export interface StreamLimits {
  readonly most: number
  readonly mostOfAccount: number
}

/**
 * Shares open streams fairly: if all slots are taken, an account replaces the oldest stream of the account
 * with the most streams, unless it would then have more than that account.
 */
export function createStreamSlots({ most, mostOfAccount }: StreamLimits) {
  /** The open streams of each account, oldest first. */
  const openOf = new Map<string, Set<Readable>>()
  let open = 0

  function release(accountId: string, stream: Readable): void {
    const own = openOf.get(accountId)
    if (!own?.delete(stream)) return
    open -= 1
    if (own.size === 0) openOf.delete(accountId)
  }

  /** Frees a slot for an account with this many streams; returns whether it could. */
  function makeRoom(count: number): boolean {
    let largest: readonly [accountId: string, streams: Set<Readable>] | undefined
    for (const entry of openOf) if (entry[1].size > (largest?.[1].size ?? count + 1)) largest = entry
    const [accountId = '', streams = new Set<Readable>()] = largest ?? []
    const [oldest] = streams
    if (!oldest) return false
    release(accountId, oldest)
    oldest.destroy(new Error('the stream was ended, because another account has fewer'))
    return true
  }

  return {
    get open(): number {
      return open
    },

    /** Assigns the stream a slot until it closes; false if there is none for this account. */
    take(accountId: string, stream: Readable): boolean {
      const own = openOf.get(accountId)?.size ?? 0
      if (own >= mostOfAccount || (open >= most && !makeRoom(own))) return false
      open += 1
      const streams = openOf.get(accountId) ?? new Set()
      openOf.set(accountId, streams.add(stream))
      stream.once('close', () => release(accountId, stream))
      return true
    },
  }
}
