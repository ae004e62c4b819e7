import type { PaidSeller } from './payment-statements.ts'

/** How many a process remembers, at some two hundred bytes each; all are let go when one more comes. */
const mostRemembered = 65_536
/** No host name is longer, and what is longer is written each time, so that what is remembered stays small. */
const longestRemembered = 255

/**
 * Which sellers stand in the list of those that a mandate has paid, for certain; there may be more. Once they
 * are there they stay, so they need not be written again.
 */
export class PaidSellers {
  readonly #remembered = new Set<string>()

  /** Those of the payments whose seller may not stand in the list yet. */
  unknownOf(payments: readonly PaidSeller[]): PaidSeller[] {
    return payments.filter((payment) => !this.#remembered.has(keyOf(payment)))
  }

  /** To be called once the payments are durable. */
  remember(payments: readonly PaidSeller[]): void {
    for (const payment of payments) {
      if (payment.merchantDomain.length > longestRemembered) continue
      if (this.#remembered.size >= mostRemembered) this.#remembered.clear()
      this.#remembered.add(keyOf(payment))
    }
  }

  /** To be called with each new connection: it may lead to a server that has lost what was durable on another. */
  forget(): void {
    this.#remembered.clear()
  }
}

function keyOf({ mandateId, merchantDomain }: PaidSeller): string {
  return `${mandateId} ${merchantDomain}`
}
