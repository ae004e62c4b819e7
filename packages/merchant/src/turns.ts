/**
 * Lets requests that show the same proof go one after the other. A customer whose connection broke comes back at
 * once, while its first request is still being paid for; it gets its goods only after that one has seen that
 * nobody is there. Nothing but this order rests on it: that goods go out once is decided by the keys.
 */
export function createTurns() {
  const last = new Map<string, Promise<void>>()

  /** Runs an act when those before it with the same id are done; rejects when the signal aborts earlier. */
  return async <Value>(id: string, signal: AbortSignal, act: () => Promise<Value>): Promise<Value> => {
    const earlier = last.get(id)
    let endTurn: (() => void) | undefined
    const turn = new Promise<void>((resolve) => (endTurn = resolve))
    last.set(id, turn)
    try {
      if (earlier) await Promise.race([earlier, aborted(signal)])
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

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}
