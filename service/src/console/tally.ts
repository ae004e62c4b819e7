import type { Scope } from '../domain/records.ts'
import { quarterStart } from '../domain/stretches.ts'
import { maxCountersOfAccount } from '../limits.ts'
import type { Tally } from '../routes/context.ts'
import type { Refusal, Tallies } from '../store/console/store.ts'

/** Counts what leaves no record, in memory: no refusal costs a write. */
export interface MemoryTally extends Tally {
  /** What was counted since the last call; undefined when that is nothing. */
  readonly take: () => Tallies | undefined
}

/** What one account has counted since the last writing. */
interface AccountCounters {
  readonly refusals: Map<string, Refusal>
  readonly keyUses: Map<string, Tallies['keyUses'][number]>
}

/** A tally in which each account has a quota of counters, so that no account can use up those of another. */
export function createTally(now: () => number): MemoryTally {
  let accounts = new Map<string, AccountCounters>()

  function countersOf(accountId: string): AccountCounters {
    let counters = accounts.get(accountId)
    if (!counters) accounts.set(accountId, (counters = { refusals: new Map(), keyUses: new Map() }))
    return counters
  }

  return {
    countRefusal({ accountId, environment }: Scope, { kind, subject, reason }): void {
      const { refusals } = countersOf(accountId)
      const startsAtMs = quarterStart(now())
      const key = [environment, kind, subject, reason, startsAtMs].join('\n')
      const known = refusals.get(key)
      if (!known && refusals.size >= maxCountersOfAccount) return
      const count = (known?.count ?? 0) + 1
      refusals.set(key, { accountId, environment, kind, subject, reason, startsAtMs, count })
    },

    countUse({ accountId, keyId }): void {
      const { keyUses } = countersOf(accountId)
      if (keyUses.size >= maxCountersOfAccount && !keyUses.has(keyId)) return
      keyUses.set(keyId, { accountId, keyId, usedAtMs: now() })
    },

    take(): Tallies | undefined {
      if (accounts.size === 0) return undefined
      const taken = [...accounts.values()]
      accounts = new Map()
      return {
        refusals: taken.flatMap(({ refusals }) => [...refusals.values()]),
        keyUses: taken.flatMap(({ keyUses }) => [...keyUses.values()]),
      }
    },
  }
}
