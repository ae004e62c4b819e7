import type { NotJudgedReason } from '@purser/wire/mandates/backtests'

import type { MicroUsdc } from '../../domain/money.ts'
import type { PolicyDecision, PolicyDenial } from '../../domain/policy.ts'
import type { MandateTerms } from '../../domain/records.ts'
import type { EvaluationRow } from '../ledger/tables.ts'

/** Which terms to try on which part of a mandate's history. */
export interface BacktestQuestion {
  /** Omitted terms are the mandate's. */
  readonly draft: Partial<MandateTerms>
  readonly fromMs: number
  readonly toMs: number
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

/** What a draft would have decided differently. */
export interface BacktestReport {
  readonly fromMs: number
  /** The time up to which the history was judged. */
  readonly toMs: number
  /** Whether all of the history was judged. */
  readonly isComplete: boolean
  readonly judged: number
  readonly toDenied: BacktestFlips
  readonly toApproved: BacktestFlips
  readonly notJudged: readonly { readonly reason: NotJudgedReason; readonly count: number }[]
}

export interface BacktestFlips {
  /** Grouped by the check that denies, before or after. */
  readonly byCheck: readonly FlipsOfCheck[]
  /** The first few payments. */
  readonly examples: readonly BacktestExample[]
}

export interface FlipsOfCheck extends Pick<PolicyDenial, 'check' | 'code'> {
  readonly evaluations: number
  readonly payments: number
  /** The sum of the payments. */
  readonly amountMicro: MicroUsdc
}

/** A record that the draft would have decided differently. */
export interface BacktestExample extends Pick<
  EvaluationRow,
  'amountText' | 'amountMicro' | 'resourceUrl' | 'merchantDomain' | 'category'
> {
  readonly kind: 'evaluation' | 'proof' | 'payment'
  /** The transaction; null for a payment that was not charged. */
  readonly id: string | null
  readonly nonce: string | null
  readonly atMs: number
  readonly recorded: PolicyDecision
  readonly drafted: PolicyDecision
}
