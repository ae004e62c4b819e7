/**
 * Calls `cutOff` when a response must be settled. It returns false while nothing has been sent; then it is called again
 * soon, because the first byte may leave late. Returns how to stop this.
 */
export function settleInTime(settleWithinMs: number, cutOff: () => boolean): () => void {
  let timer = wait(settleWithinMs)
  return () => clearTimeout(timer)

  function wait(delayMs: number) {
    const next = setTimeout(() => {
      if (!cutOff()) timer = wait(settleWithinMs / 40)
    }, delayMs)
    // Only Node's timers keep a process alive.
    if (typeof next === 'object') next.unref()
    return next
  }
}
