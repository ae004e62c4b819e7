import { environments, type Environment } from '@purser/wire/fields'
import { verificationFailures } from '@purser/wire/payments'
import { denialCodes } from '@purser/wire/policy'

import { collectionRefusals } from '../domain/collection.ts'
import type { DecisionMeter } from '../routes/context.ts'
import { family, type MetricName } from './catalogue.ts'
import type { Family } from './families.ts'

/**
 * The possible results: each pair is a series from the start, so that its first count shows as an increase.
 */
const outcomes = {
  purser_verifications_total: {
    label: 'result',
    reasons: {
      captured: ['none'],
      authorized: ['none'],
      replayed: ['none'],
      failed: verificationFailures,
      refused: [...collectionRefusals, 'invalid_api_key', 'invalid_idempotency_key'],
    },
  },
  purser_proofs_total: {
    label: 'decision',
    reasons: {
      approved: ['none'],
      replayed: ['none'],
      refused: ['idempotency_key_reused', 'order_already_paid', 'order_mismatch'],
      denied: denialCodes,
    },
  },
  purser_evaluations_total: {
    label: 'decision',
    reasons: { approved: ['none'], denied: denialCodes },
  },
} as const satisfies Partial<Record<MetricName, object>>

type Counted = keyof typeof outcomes

/** Counts verifications, proofs and evaluations by result. */
export class DecisionCounts implements DecisionMeter {
  readonly #counts: Readonly<Record<Counted, Map<string, number>>> = {
    purser_verifications_total: zeros('purser_verifications_total'),
    purser_proofs_total: zeros('purser_proofs_total'),
    purser_evaluations_total: zeros('purser_evaluations_total'),
  }

  countVerification(environment: Environment, result: string, reason = 'none'): void {
    this.#count('purser_verifications_total', `${environment} ${result} ${reason}`)
  }

  countProof(environment: Environment, decision: string, reason = 'none'): void {
    this.#count('purser_proofs_total', `${environment} ${decision} ${reason}`)
  }

  countEvaluation(environment: Environment, decision: string, reason = 'none'): void {
    this.#count('purser_evaluations_total', `${environment} ${decision} ${reason}`)
  }

  families(): Family[] {
    return (Object.keys(outcomes) as Counted[]).map((name) =>
      family(
        name,
        [...this.#counts[name]].map(([key, value]) => {
          const [environment = '', outcome = '', reason = ''] = key.split(' ')
          return { labels: { environment, [outcomes[name].label]: outcome, reason }, value }
        }),
      ),
    )
  }

  #count(name: Counted, key: string): void {
    const counts = this.#counts[name]
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
}

function zeros(name: Counted): Map<string, number> {
  const pairs: [string, readonly string[]][] = Object.entries(outcomes[name].reasons)
  return new Map(
    environments.flatMap((environment) =>
      pairs.flatMap(([outcome, reasons]) =>
        reasons.map((reason: string) => [`${environment} ${outcome} ${reason}`, 0] as const),
      ),
    ),
  )
}
