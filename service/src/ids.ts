import { createHash, randomFillSync } from 'node:crypto'

import { stringify, v7 } from 'uuid'

import type { RandomBytes } from './domain/api-key.ts'
import type { Scope } from './domain/records.ts'

/** What an id is of; the prefix is for the eye, nobody may parse it. */
export const idPrefixes = {
  account: 'acct',
  apiKey: 'key',
  agent: 'agent',
  mandate: 'mandate',
  seller: 'seller',
  transaction: 'txn',
  auditEvent: 'event',
  session: 'session',
  stop: 'stop',
} as const
export type IdKind = keyof typeof idPrefixes

export interface Ids {
  /** A new TypeID: a prefix and a time-ordered 128-bit suffix. Later ids of a process sort after earlier ones. */
  next(kind: IdKind): string
  /** A new UUIDv7. */
  nonce(): string
  /** The id of a stop that its caller has named: the same for the same name, within the account and environment alone. */
  ofStop(scope: Scope, name: string): string
}

/** The source of ids, from a clock (milliseconds since 1970) and random bytes. */
export function createIds(now: () => number, randomBytes: RandomBytes = pooledRandomBytes()): Ids {
  let lastMs = 0
  let seq = 0

  function nextUuid(): Uint8Array {
    const nowMs = now()
    const random = randomBytes(16)
    if (nowMs > lastMs) {
      lastMs = nowMs
      // A random start in the lower half leaves room to count up within one millisecond.
      seq = ((random[6] ?? 0) << 23) | ((random[7] ?? 0) << 15)
    } else if (++seq > 0x7fff_ffff) {
      lastMs += 1
      seq = 0
    }
    return v7({ msecs: lastMs, seq, random }, new Uint8Array(16))
  }

  return {
    next: (kind) => `${idPrefixes[kind]}_${encodeBase32(nextUuid())}`,
    nonce: () => stringify(nextUuid()),
    ofStop: ({ accountId, environment }, name) => {
      const hash = createHash('sha256')
        .update(JSON.stringify([accountId, environment, name]))
        .digest()
      return `${idPrefixes.stop}_${encodeBase32(hash.subarray(0, 16))}`
    },
  }
}

const crockford = '0123456789abcdefghjkmnpqrstvwxyz'

/** 128 bits as 26 characters of Crockford's base32, most significant first, as TypeID has it. */
function encodeBase32(bytes: Uint8Array): string {
  let text = ''
  let pending = 0
  let pendingBits = 2 // 26 characters hold 130 bits: two zeros lead
  for (const byte of bytes) {
    pending = (pending << 8) | byte
    pendingBits += 8
    while (pendingBits >= 5) {
      pendingBits -= 5
      text += crockford[(pending >> pendingBits) & 31]
    }
    pending &= (1 << pendingBits) - 1
  }
  return text
}

/** Random bytes drawn a page at a time: a system call for each id would cost more than the id. */
function pooledRandomBytes(): RandomBytes {
  const pool = Buffer.alloc(4096)
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
