import { setTimeout as sleep } from 'node:timers/promises'

/** Is told how each piece of work went; `what` names the failure in words. */
export interface Observer {
  readonly failed: (what: string, error: unknown) => void
  readonly worked: (what: string) => void
}

export interface RepeatingOptions {
  /** What is not done when it fails, such as `expired holds could not be released`. */
  readonly what: string
  readonly intervalMs: number
  /** Does a bounded piece of work; `true` says that more is left, which is done without waiting. */
  readonly work: () => Promise<boolean | void>
  /** Work that fails is tried again after the interval. */
  readonly observer: Observer
}

/** Something that is done again and again until it is stopped. */
export interface Repeating {
  /** Resolves when what was under way has ended. */
  readonly stop: () => Promise<void>
}

/** Does a piece of work again and again, with a pause whenever none is left. */
export function startRepeating({ what, intervalMs, work, observer }: RepeatingOptions): Repeating {
  const stopped = new AbortController()

  async function workOnce(): Promise<boolean | void> {
    try {
      const isMoreLeft = await work()
      observer.worked(what)
      return isMoreLeft
    } catch (error) {
      observer.failed(what, error)
    }
  }

  async function repeatUntilStopped(): Promise<void> {
    while (!stopped.signal.aborted) {
      if ((await workOnce()) === true) continue
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
