import type { NewMandate } from '@purser/client'
import { useState } from 'react'

import { CheckField, SelectField, TextArea, TextField } from '../../ui/field.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useBudgets } from '../budgets/budget-choices.ts'
import type { LimitFaults } from '../budgets/limit-draft.ts'
import { LimitFields } from '../budgets/limit-fields.tsx'
import { hasMoreRules, type MandateDraft } from './mandate-draft.ts'

/** What a form of a mandate needs to show its fields. */
export interface FieldsOfMandate {
  readonly draft: MandateDraft
  readonly set: (changes: Partial<MandateDraft>) => void
  readonly faults: Partial<Record<keyof NewMandate, string>>
  /** Whether to show what is missing in limits. */
  readonly showsFaults: boolean
  /** What the service says about limits, by their index. */
  readonly refusedLimits: Readonly<Record<number, LimitFaults>>
}

const requiredChoices = [
  { value: '1', text: 'One person' },
  { value: '2', text: 'Two different people' },
]

/** The rules that few mandates need, open if any is used or has an error. */
export function MoreRules({ draft, set, faults, showsFaults, refusedLimits }: FieldsOfMandate) {
  const [isOpen, setOpen] = useState(() => hasMoreRules(draft))
  const budgets = useBudgets()
  const { limits, approval, budget_id, allowed_resources, metadata, category_check } = faults
  const hasFault = [limits, approval, budget_id, allowed_resources, metadata, category_check].some(Boolean)
  return (
    <Panel title="More rules" isTitleHidden>
      <details
        className="more-rules"
        open={isOpen || hasFault}
        onToggle={(event) => setOpen(event.currentTarget.open)}
      >
        <summary>
          <span className="more-rules-title">More rules</span>{' '}
          <span className="quiet">
            limits over time, shared budget, approval by a person, URLs, categories, metadata
          </span>
        </summary>
        <div className="stack more-rules-body">
          <section className="stack-tight">
            <h3>Limits over time</h3>
            <p className="quiet small">
              In addition to the total budget. A payment counts when its proof is issued.
            </p>
            <LimitFields
              limits={draft.limits}
              onChange={(next) => set({ limits: next })}
              maySplit
              showsFaults={showsFaults}
              refused={refusedLimits}
            />
          </section>
          <SelectField
            label="Shared budget"
            value={draft.budgetId}
            onChange={(budgetId) => set({ budgetId })}
            options={budgets.optionsWith(draft.budgetId)}
            error={budget_id}
            hint={budgets.unread ?? 'Its payments also count in this budget and in those above it.'}
          />
          <section className="stack-tight">
            <h3>Approval by a person</h3>
            <div className="form-pair">
              <TextField
                label="Above (USDC)"
                inputMode="decimal"
                value={draft.approvalAbove}
                onChange={(approvalAbove) => set({ approvalAbove })}
                hint="Payments above this amount wait for a person. Leave it empty for none."
                error={approval}
              />
              <SelectField
                label="Who must approve"
                value={draft.approvalRequired}
                onChange={(value) => set({ approvalRequired: value === '2' ? '2' : '1' })}
                options={requiredChoices}
                hint="Never the agent that asks."
              />
            </div>
            <CheckField
              label="Also for the first purchase from each seller"
              isChecked={draft.approvalFirst}
              onChange={(approvalFirst) => set({ approvalFirst })}
            />
          </section>
          <TextArea
            label="Allowed URLs"
            value={draft.resources}
            onChange={(resources) => set({ resources })}
            spellCheck={false}
            hint="One per line, such as https://api.example.com/reports/*. An empty field allows every URL of the sellers."
            error={allowed_resources}
          />
          <CheckField
            label="No payment without an allowed category"
            hint="Otherwise, categories are checked only before paying."
            isChecked={draft.isCategoryEnforced}
            onChange={(isCategoryEnforced) => set({ isCategoryEnforced })}
          />
          <TextArea
            label="Metadata"
            value={draft.metadata}
            onChange={(next) => set({ metadata: next })}
            spellCheck={false}
            hint="Your own texts, one entry per line, such as project: apollo."
            error={metadata}
          />
        </div>
      </details>
    </Panel>
  )
}
