import type { MandateDetail } from '@purser/client'

import { Go } from '../../shell/go.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Panel } from '../../ui/panel.tsx'
import { LimitUsages } from '../budgets/limit-usages.tsx'

/** The limits over time of a mandate and of the shared budgets above it, with their fill levels. */
export function MandateLimits({ mandate }: { readonly mandate: MandateDetail }) {
  const { limits, budgets, usage } = mandate
  if (limits.length === 0 && budgets.length === 0) return null
  return (
    <Panel title="Limits over time">
      <div className="stack">
        {limits.length > 0 && (
          <div className="limit-owner">
            {budgets.length > 0 && <h3>This mandate</h3>}
            <LimitUsages
              of="this mandate"
              limits={limits}
              usage={usage.filter(({ scope }) => scope === 'mandate')}
            />
          </div>
        )}
        {budgets.map((budget) => (
          <div key={budget.id} className="limit-owner">
            <h3>
              Shared budget: <Go to={`budgets/${budget.id}`}>{budget.name || 'Unnamed budget'}</Go>
              {budget.frozen_at !== null && (
                <Badge tone="bad" icon="pause">
                  frozen
                </Badge>
              )}
            </h3>
            {budget.limits.length === 0 ? (
              <p className="quiet">It has no limits of its own.</p>
            ) : (
              <LimitUsages
                of={budget.name}
                limits={budget.limits}
                usage={usage.filter(({ scope_id }) => scope_id === budget.id)}
              />
            )}
          </div>
        ))}
      </div>
    </Panel>
  )
}
