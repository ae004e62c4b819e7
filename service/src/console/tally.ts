import type { Scope } from '../domain/records.ts'
import { quarterStart } from '../domain/stretches.ts'
import type { Tally } from '../routes/context.ts'
import type { Refusal, Tallies } from '../store/console-store.ts'

/** Most different refusals and keys that are counted between two writings; what comes after goes uncounted. */
const mostCounted = 2_000

/** The longest subject: no domain of a seller is longer, but what a verification names may be. */
const longestSubject = 253

/** Counts what leaves no record, in memory: no refusal costs a write. */
export interface MemoryTally extends Tally {
  /** What was counted since this was last asked; undefined when it was nothing. */
  readonly take: () => Tallies | undefined
}

export function createTally(now: () => number): MemoryTally {
  let refusals = new Map<string, Refusal>()
  let keyUses = new Map<string, Tallies['keyUses'][number]>()

  return {
    countRefusal({ accountId, environment }: Scope, { kind, subject, reason }): void {
      if (subject.length > longestSubject) return
      const startsAtMs = quarterStart(now())
      const key = [accountId, environment, kind, subject, reason, startsAtMs].join('\n')
      const known = refusals.get(key)
      if (!known && refusals.size >= mostCounted) return
      const count = (known?.count ?? 0) + 1
      refusals.set(key, { accountId, environment, kind, subject, reason, startsAtMs, count })
    },

    countUse({ accountId, keyId }): void {
      const usedAtMs = now()
      if (keyUses.size < mostCounted || keyUses.has(keyId)) keyUses.set(keyId, { accountId, keyId, usedAtMs })
    },

    take(): Tallies | undefined {
      if (refusals.size === 0 && keyUses.size === 0) return undefined
      const taken = { refusals: [...refusals.values()], keyUses: [...keyUses.values()] }
      refusals = new Map()
      keyUses = new Map()
      return taken
    },
  }
}
