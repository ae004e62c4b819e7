import { setTimeout as sleep } from 'node:timers/promises'

export interface RepeatingOptions {
  readonly intervalMs: number
  /** Does a bounded piece of work; `true` says that more is left, which is done without waiting. */
  readonly work: () => Promise<boolean | void>
  /** Is told when the work fails; it is tried again after the interval. */
  readonly onFailure: (error: unknown) => void
}

/** Something that is done again and again until it is stopped. */
export interface Repeating {
  /** Resolves when what was under way has ended. */
  readonly stop: () => Promise<void>
}

/** Does a piece of work again and again, with a pause whenever none is left. */
export function startRepeating({ intervalMs, work, onFailure }: RepeatingOptions): Repeating {
  const stopped = new AbortController()

  async function repeatUntilStopped(): Promise<void> {
    while (!stopped.signal.aborted) {
      const isMoreLeft = await work().catch(onFailure)
      if (isMoreLeft === true) continue
      await sleep(intervalMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined)
    }
  }

  const repeating = repeatUntilStopped()
  return {
    stop: () => {
      stopped.abort()
      return repeating
    },
  }
}
