/**
 * Lets requests of this process that show the same proof claim its delivery one after the other, so that only one of them
 * asks the store at a time. Nothing but this order rests on it: the store decides who gets the delivery.
 */
export function createTurns() {
  const last = new Map<string, Promise<void>>()
  let waiting = 0

  /** Runs an act when those before it with the same id are done; rejects when the signal aborts earlier. */
  return async <Value>(id: string, signal: AbortSignal, act: () => Promise<Value>): Promise<Value> => {
    const earlier = last.get(id)
    if (earlier && waiting >= maxWaiting)
      throw new Error('Too many requests wait for others with the same proof')
    let endTurn: (() => void) | undefined
    const turn = new Promise<void>((resolve) => (endTurn = resolve))
    last.set(id, turn)
    try {
      if (earlier) {
        waiting++
        await Promise.race([earlier, aborted(signal)]).finally(() => waiting--)
      }
      return await act()
    } finally {
      // After the act's outcome was heard, and what follows from it was done.
      setTimeout(() => {
        endTurn?.()
        if (last.get(id) === turn) last.delete(id)
      })
    }
  }
}

/** Each has a connection of its own, which some servers do not limit. */
const maxWaiting = 1_000

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}
