/**
 * Serializes the claims of requests in this process that have the same proof, so that only one of them polls the
 * store. This only saves work: the store decides who gets the delivery.
 */
export function createTurns() {
  const last = new Map<string, Promise<void>>()
  let waiting = 0

  /** Runs an operation after earlier ones with the same id; rejects if the signal aborts first. */
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
      // After the operation's result and its follow-ups are done.
      setTimeout(() => {
        endTurn?.()
        if (last.get(id) === turn) last.delete(id)
      })
    }
  }
}

/** Each has its own connection, whose number some servers do not limit. */
const maxWaiting = 1_000

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}
