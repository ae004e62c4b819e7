import type { PolicyCheck } from '@purser/client'

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
        {checks.map(({ label, name, state, ...comparison }) => (
          <li key={label} className={`rung ${state}`} aria-label={`Check ${label}`}>
            <span className="rung-mark">
              <Icon name={states[state].icon} size={14} />
            </span>
            <span className="rung-question">
              {questions[name]}
              {comparison.value !== '' && (
                <code className="rung-values breakable">{comparisonInWords(comparison)}</code>
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
