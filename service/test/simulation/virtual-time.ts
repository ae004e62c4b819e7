interface Sleeper {
  readonly atMs: number
  readonly wake: () => void
}

/** A clock that jumps from one event to the next. The same events happen in the same order in every run. */
export class VirtualTime {
  nowMs: number
  /** Sorted so that the next to wake is last. */
  readonly #sleepers: Sleeper[] = []

  constructor(startMs: number) {
    this.nowMs = startMs
  }

  readonly sleep = (ms: number): Promise<void> => {
    return new Promise((wake) => {
      const atMs = this.nowMs + ms
      this.#sleepers.splice(this.#placeFor(atMs), 0, { atMs, wake })
    })
  }

  /** Before those that wake at the same time: the first to sleep wakes first. */
  #placeFor(atMs: number): number {
    let [least, most] = [0, this.#sleepers.length]
    while (least < most) {
      const middle = (least + most) >>> 1
      if (this.#sleepers[middle]!.atMs > atMs) least = middle + 1
      else most = middle
    }
    return least
  }

  /** Advances time until the promise is settled. */
  runUntil<Result>(done: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      let isDone = false
      const end = () => (isDone = true)
      done.then(end, end)
      const step = () => {
        if (isDone) {
          done.then(resolve, reject)
          return
        }
        const next = this.#sleepers.at(-1)
        if (!next) {
          reject(new Error('everything waits, and nothing will happen'))
          return
        }
        this.nowMs = next.atMs
        // Those that wake at the same time share a step.
        while (this.#sleepers.at(-1)?.atMs === next.atMs) this.#sleepers.pop()?.wake()
        onceAllWait(step)
      }
      onceAllWait(step)
    })
  }
}

/**
 * Calls a function once every promise that could be settled is: Node runs a tick that a microtask has requested after all
 * microtasks. A turn of the event loop for each step would cost more than the step, and `queueMicrotask` more than `then`.
 */
function onceAllWait(callback: () => void): void {
  void settled.then(() => process.nextTick(callback))
}

const settled = Promise.resolve()
