/** One handing over of goods. Its key goes with every verification that is sent for it, and for no other. */
export interface Delivery {
  readonly key: string
  /** How often the handler has been run for it, and nothing went out. */
  readonly runs: number
}

/**
 * Remembers deliveries that were begun and did not come to an end, so that the proof which may have been
 * charged for one can be shown again. Several processes that share one memory serve each other's customers.
 */
export interface UnfinishedDeliveries {
  /** Gives what is kept for a proof, and forgets it in the same step: two requests never get the same one. */
  take(proofId: string): Delivery | undefined | Promise<Delivery | undefined>
  /** Keeps it for an hour or so. */
  keep(proofId: string, delivery: Delivery): void | Promise<void>
}

const keptForMs = 3_600_000
const maxKept = 10_000

/**
 * A memory of this process, for at most 10,000 deliveries that are known to be paid and as many of which nobody knows
 * (some 6 MB); when either is full its oldest is forgotten. So only payments push out what was paid for certain.
 */
export function rememberInProcess(now: () => number = Date.now): UnfinishedDeliveries {
  const paid = openShelf(now)
  const inDoubt = openShelf(now)
  return {
    take(proofId) {
      const doubtful = inDoubt.take(proofId)
      return paid.take(proofId) ?? doubtful
    },
    keep(proofId, delivery) {
      // A handler is run for what was charged, and for nothing else.
      const [shelf, other] = delivery.runs > 0 ? [paid, inDoubt] : [inDoubt, paid]
      other.take(proofId)
      shelf.keep(proofId, delivery)
    },
  }
}

function openShelf(now: () => number) {
  // A map keeps the order of insertion, so the oldest come first.
  const kept = new Map<string, { delivery: Delivery; untilMs: number }>()
  return {
    take(proofId: string): Delivery | undefined {
      const found = kept.get(proofId)
      kept.delete(proofId)
      return found && found.untilMs > now() ? found.delivery : undefined
    },
    keep(proofId: string, delivery: Delivery): void {
      kept.delete(proofId)
      for (const [oldest, { untilMs }] of kept) {
        if (kept.size < maxKept && untilMs > now()) break
        kept.delete(oldest)
      }
      kept.set(proofId, { delivery, untilMs: now() + keptForMs })
    },
  }
}
