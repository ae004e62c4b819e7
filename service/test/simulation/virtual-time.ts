import { setImmediate as turn } from 'node:timers/promises'

interface Sleeper {
  readonly atMs: number
  readonly wake: () => void
}

/** A clock that jumps from one event to the next. The same events happen in the same order in every run. */
export class VirtualTime {
  nowMs: number
  /** The next to wake is last. */
  readonly #sleepers: Sleeper[] = []

  constructor(startMs: number) {
    this.nowMs = startMs
  }

  readonly sleep = (ms: number): Promise<void> => {
    return new Promise((wake) => {
      const atMs = this.nowMs + ms
      // Of those that wake at one moment, who slept first wakes first.
      const before = this.#sleepers.findLastIndex((sleeper) => sleeper.atMs > atMs)
      this.#sleepers.splice(before + 1, 0, { atMs, wake })
    })
  }

  /** Lets time pass until the promise is settled. */
  async runUntil<Result>(done: Promise<Result>): Promise<Result> {
    let isDone = false
    const settled = done.finally(() => (isDone = true))
    for (;;) {
      await turn()
      if (isDone) return settled
      const next = this.#sleepers.pop()
      if (!next) throw new Error('everybody waits, and nothing will happen')
      this.nowMs = next.atMs
      next.wake()
    }
  }
}
