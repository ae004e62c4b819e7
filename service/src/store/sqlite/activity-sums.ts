import { dayMs, quarterMs, type activityDimensions } from '../activity.ts'
import type { TransactionRow } from '../rows.ts'

/** What of a transaction says what it adds to which sums. */
export interface CountedTransaction extends Pick<
  TransactionRow,
  | 'account_id'
  | 'environment'
  | 'side'
  | 'status'
  | 'mandate_id'
  | 'merchant_domain'
  | 'seller_account_id'
  | 'reason_code'
  | 'amount_micro'
  | 'created_at_ms'
> {
  /** Whether its account has its mandate: an evaluation may name anything. */
  readonly hasMandate: boolean
}

/** One row of `activity` in the making. */
export interface ActivitySum extends Pick<TransactionRow, 'account_id' | 'environment'> {
  readonly dimension: (typeof activityDimensions)[number]
  readonly subject: string
  readonly startsAtMs: number
  paidCount: number
  paidMicro: bigint
  approvedCount: number
  deniedCount: number
}

/** What transactions add up to, told one after the other: the same as `activityOf` makes of their rows. */
export class ActivitySums {
  /** By account, and then by subject: of one there are few, and no long key is put together for each transaction. */
  readonly #sums = new Map<string, Map<string, ActivitySum[]>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  *values(): Iterable<ActivitySum> {
    for (const subjects of this.#sums.values()) for (const sums of subjects.values()) yield* sums
  }

  add(transaction: CountedTransaction): void {
    const {
      account_id: accountId,
      side,
      status,
      mandate_id: mandateId,
      merchant_domain: domain,
    } = transaction
    const createdAtMs = Number(transaction.created_at_ms)
    const quarter = createdAtMs - (createdAtMs % quarterMs)
    if (side === 'payer') {
      this.#count(transaction, 'all', '', quarter)
      if (transaction.hasMandate) this.#count(transaction, 'mandate', mandateId, quarter)
      if (status === 'denied') this.#count(transaction, 'reason', transaction.reason_code ?? '', quarter)
    }
    if (status === 'paid' && transaction.seller_account_id === accountId) {
      this.#count(transaction, 'seller', domain, createdAtMs - (createdAtMs % dayMs))
      this.#count(transaction, 'seller_total', domain, 0)
    }
  }

  #count(
    transaction: CountedTransaction,
    dimension: ActivitySum['dimension'],
    subject: string,
    startsAtMs: number,
  ): void {
    const sum = this.#sumOf(transaction, dimension, subject, startsAtMs)
    const { status } = transaction
    if (status === 'approved') sum.approvedCount++
    else if (status === 'denied') sum.deniedCount++
    else if (status === 'paid') {
      sum.paidCount++
      sum.paidMicro += BigInt(transaction.amount_micro)
    }
  }

  #sumOf(
    { account_id, environment }: CountedTransaction,
    dimension: ActivitySum['dimension'],
    subject: string,
    startsAtMs: number,
  ): ActivitySum {
    let subjects = this.#sums.get(account_id)
    if (!subjects) this.#sums.set(account_id, (subjects = new Map()))
    let sums = subjects.get(subject)
    if (!sums) subjects.set(subject, (sums = []))
    for (const sum of sums) {
      if (sum.dimension === dimension && sum.startsAtMs === startsAtMs && sum.environment === environment)
        return sum
    }
    const none = { paidCount: 0, paidMicro: 0n, approvedCount: 0, deniedCount: 0 }
    const sum = { account_id, environment, dimension, subject, startsAtMs, ...none }
    sums.push(sum)
    this.#size++
    return sum
  }
}
