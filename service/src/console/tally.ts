import type { Scope } from '../domain/records.ts'
import { quarterStart } from '../domain/buckets.ts'
import { timeIn } from '../domain/time/test-clock.ts'
import { maxCountersOfAccount } from '../limits.ts'
import type { Tally } from '../routes/context.ts'
import type { Refusal, Tallies } from '../store/console/store.ts'

/** Counts refusals in memory, so that they cost no write. */
export interface MemoryTally extends Tally {
  /** The counts since the last call; undefined if there are none. */
  readonly take: () => Tallies | undefined
}

/** The counts of one account since the last save. */
interface AccountCounters {
  readonly refusals: Map<string, Refusal>
  readonly keyUses: Map<string, Tallies['keyUses'][number]>
}

/** A tally with a quota of counters per account, so that no account can exhaust those of others. */
export function createTally(now: () => number): MemoryTally {
  let accounts = new Map<string, AccountCounters>()

  function countersOf(accountId: string): AccountCounters {
    let counters = accounts.get(accountId)
    if (!counters) accounts.set(accountId, (counters = { refusals: new Map(), keyUses: new Map() }))
    return counters
  }

  return {
    countRefusal(scope: Scope, { subject, reason }): void {
      const { accountId, environment } = scope
      const { refusals } = countersOf(accountId)
      const startsAtMs = quarterStart(timeIn(scope, now))
      const key = [environment, subject, reason, startsAtMs].join('\n')
      const known = refusals.get(key)
      if (!known && refusals.size >= maxCountersOfAccount) return
      const count = (known?.count ?? 0) + 1
      refusals.set(key, { accountId, environment, subject, reason, startsAtMs, count })
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
