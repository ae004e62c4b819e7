import { createHash, randomFillSync } from 'node:crypto'

import { v7 } from 'uuid'

import type { RandomBytes } from './domain/api-key.ts'
import type { Scope } from './domain/records.ts'
import { idText, type IdKind } from './domain/type-id.ts'

export interface Ids {
  /**
   * A new TypeID: a prefix and a time-ordered 128-bit suffix. Later ids of a process sort after earlier ones, unless the
   * clock was set back by more than `maxSetBackMs`: then they follow it, as the times of the records do.
   */
  next(kind: IdKind): string
  /** A new UUIDv7. */
  nonce(): string
  /** The id of a stop with an idempotency key: equal for the same key, account and environment. */
  ofStop(scope: Scope, name: string): string
}

/** How far the time in an id may be ahead of the clock: lists by time search this far around. */
const maxSetBackMs = 10 * 60_000

/** The source of ids, from a clock (milliseconds since 1970) and random bytes. */
export function createIds(now: () => number, randomBytes: RandomBytes = pooledRandomBytes()): Ids {
  let lastMs = 0
  let seq = 0

  function nextUuid(): Buffer {
    const nowMs = now()
    const random = randomBytes(16)
    if (nowMs > lastMs || nowMs < lastMs - maxSetBackMs) {
      lastMs = nowMs
      // A random start in the lower half leaves room to count up within one millisecond.
      seq = ((random[6] ?? 0) << 23) | ((random[7] ?? 0) << 15)
    } else if (++seq > 0x7fff_ffff) {
      lastMs += 1
      seq = 0
    }
    return v7({ msecs: lastMs, seq, random }, Buffer.allocUnsafe(16))
  }

  return {
    next: (kind) => idText(kind, nextUuid()),
    nonce: () => idText('nonce', nextUuid()),
    ofStop: ({ accountId, environment }, name) => {
      const hash = createHash('sha256')
        .update(JSON.stringify([accountId, environment, name]))
        .digest()
      return idText('stop', hash.subarray(0, 16))
    },
  }
}

/** A source of ids with the times of records instead of the current time. */
export function createIdsOfTimes(): (kind: IdKind, atMs: number) => string {
  let timeMs = 0
  const ids = createIds(() => timeMs)
  return (kind, atMs) => {
    timeMs = atMs
    return ids.next(kind)
  }
}

/** Random bytes drawn many at a time: a system call for each id would cost more than the id. */
function pooledRandomBytes(): RandomBytes {
  const pool = Buffer.alloc(65_536)
  let used = pool.length
  return (size) => {
    if (used + size > pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += size
    return pool.subarray(used - size, used)
  }
}
