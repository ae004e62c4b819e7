import type { PolicyCheck } from '@purser/client'

import { Go } from '../../shell/go.tsx'
import { amountInWords } from '../../text/amounts.ts'
import { counted } from '../../text/counts.ts'
import { limitInWords, resetInWords, windowInWords } from '../../text/limits.ts'
import { Icon, type IconName } from '../../ui/icon.tsx'
import { Moment } from '../../ui/when.tsx'
import './check-ladder.css'
import { categoryRule } from '../mandates/category-rule.ts'
import { comparisonInWords } from './check-values.ts'

/** The display text of each check. */
const questions: Record<PolicyCheck['name'], string> = {
  agent_exists: 'The agent exists',
  agent_active: 'The agent is active',
  mandate_exists: 'The mandate exists and is the agent’s',
  mandate_active: 'The mandate is active',
  mandate_not_expired: 'The mandate has not expired',
  seller_allowed: 'The seller is allowed',
  resource_allowed: 'The URL of the resource is allowed',
  category_allowed: 'The category is allowed',
  within_transaction_limit: 'Within the cap per payment',
  within_total_budget: 'Within the total budget',
  within_limits: 'Within the limits over time',
  within_shared_budgets: 'Within the shared budgets',
  approved_by_person: 'Approved by a person, if needed',
}

const states: Record<PolicyCheck['state'], { readonly icon: IconName; readonly word: string }> = {
  passed: { icon: 'check', word: 'passed' },
  failed: { icon: 'cross', word: 'failed' },
  not_reached: { icon: 'skipped', word: 'not reached' },
  not_asked: { icon: 'skipped', word: 'not asked' },
  unknown: { icon: 'skipped', word: 'not recorded' },
}

/** The checks in order, with the compared values and results. */
export function CheckLadder({
  checks,
  checkedAt,
}: {
  readonly checks: readonly PolicyCheck[]
  readonly checkedAt: string | null
}) {
  return (
    <>
      <ol className="ladder">
        {checks.map(({ label, name, state, checked_limits, limit, budget, ...comparison }) => (
          <li key={label} className={`rung ${state}`} aria-label={`Check ${label}`}>
            <span className="rung-mark">
              <Icon name={states[state].icon} size={14} />
            </span>
            <span className="rung-question">
              {questions[name]}
              {comparison.value !== '' && (
                <code className="rung-values breakable">{comparisonInWords(comparison)}</code>
              )}
              {budget && (
                <span className="rung-note small">
                  Refused by the shared budget <Go to={`budgets/${budget.id}`}>{budget.name || budget.id}</Go>
                  .
                </span>
              )}
              {limit ? (
                <span className="rung-note small">
                  {refusalInWords(limit)} {capitalized(resetInWords(limit.resets_at, limit.window))}.
                </span>
              ) : (
                checked_limits?.map((one) => (
                  <span key={one.id} className="rung-note quiet small">
                    {capitalized(limitInWords(one))}
                  </span>
                ))
              )}
              {name === 'category_allowed' && <span className="rung-note quiet small">{categoryRule}</span>}
            </span>
            <span className="rung-state">{states[state].word}</span>
          </li>
        ))}
      </ol>
      {checkedAt !== null && (
        <p className="quiet small">
          As of the decision, <Moment at={checkedAt} />.
        </p>
      )}
    </>
  )
}

/** `18.00 of at most 20.00 USDC in a day (Europe/Berlin) are committed.` */
function refusalInWords({ unit, committed, max, window }: NonNullable<PolicyCheck['limit']>): string {
  const of =
    unit === 'amount'
      ? `${amountInWords(committed)} of at most ${amountInWords(max)} USDC`
      : `${committed} of at most ${counted(Number(max), 'payment')}`
  return `${of} in ${windowInWords(window)} are committed.`
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
