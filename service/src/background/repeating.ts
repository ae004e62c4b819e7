import { setTimeout as sleep } from 'node:timers/promises'

/** Receives the result of each piece of work; `what` describes the failure. */
export interface Observer {
  readonly failed: (what: string, error: unknown) => void
  readonly worked: (what: string) => void
}

export interface RepeatingOptions {
  /** The message for a failure, such as `expired holds could not be released`. */
  readonly what: string
  readonly intervalMs: number
  /** Does a bounded piece of work; `true` means that more is left, to be done without waiting. */
  readonly work: () => Promise<unknown>
  /** Work that fails is tried again after the interval. */
  readonly observer: Observer
}

/** A repeating task. */
export interface Repeating {
  /** Resolves when the current work has finished. */
  readonly stop: () => Promise<void>
}

/** Repeats a piece of work, with a pause whenever none is left. */
export function startRepeating({ what, intervalMs, work, observer }: RepeatingOptions): Repeating {
  const stopped = new AbortController()

  async function workOnce(): Promise<boolean> {
    try {
      const isMoreLeft = (await work()) === true
      observer.worked(what)
      return isMoreLeft
    } catch (error) {
      observer.failed(what, error)
      return false
    }
  }

  async function repeatUntilStopped(): Promise<void> {
    while (!stopped.signal.aborted) {
      if (await workOnce()) continue
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
