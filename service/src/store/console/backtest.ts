import type { DenialCode } from '@purser/wire/policy'
import type { NotJudgedReason } from '@purser/wire/mandates/backtests'

import type { MicroUsdc } from '../../domain/money.ts'
import type { Mandate, MandateTerms } from '../../domain/records.ts'

/** The terms of a draft, which may include limits over time. */
export type DraftedTerms = Partial<MandateTerms & Pick<Mandate, 'limits'>>

/** Which terms to try on which part of a mandate's history. */
export interface BacktestQuestion {
  /** Omitted terms are the mandate's. */
  readonly draft: DraftedTerms
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
  readonly byCheck: readonly {
    readonly check: number
    readonly code: DenialCode | 'within_policy'
    readonly evaluations: number
    readonly payments: number
    /** The sum of the payments. */
    readonly amountMicro: MicroUsdc
  }[]
  /** The first few payments. */
  readonly examples: readonly BacktestExample[]
}

export interface BacktestDecision {
  readonly decision: 'approved' | 'denied'
  readonly code: DenialCode | null
  readonly check: number | null
  readonly detail: string | null
}

export interface BacktestExample {
  readonly kind: 'evaluation' | 'proof' | 'payment'
  /** The transaction; null for a payment that was not charged. */
  readonly id: string | null
  readonly nonce: string | null
  readonly atMs: number
  readonly amountText: string
  readonly amountMicro: MicroUsdc
  readonly resourceUrl: string
  readonly merchantDomain: string | null
  readonly category: string | null
  readonly recorded: BacktestDecision
  readonly drafted: BacktestDecision
}
