import type { NewMandate } from '@purser/client'
import type { ReactNode } from 'react'

import { TextArea, TextField } from '../../ui/field.tsx'
import { Panel } from '../../ui/panel.tsx'
import { categoryRule, enforcedCategoryRule } from './category-rule.ts'
import { MoreRules, type FieldsOfMandate } from './more-rules.tsx'

/** The terms of a mandate; those that few mandates need are behind one disclosure. */
export function MandateFields({ agent, ...fields }: FieldsOfMandate & { readonly agent?: ReactNode }) {
  const { draft, set, faults } = fields
  return (
    <div className="stack">
      <Panel title="Limits">
        <div className="stack">
          {agent}
          <TextArea
            label="Purpose"
            value={draft.purpose}
            onChange={(purpose) => set({ purpose })}
            hint="Shown to people: what is the money for?"
            error={faults.purpose}
          />
          <div className="form-pair">
            <TextField
              label="Total budget (USDC)"
              inputMode="decimal"
              value={draft.total}
              onChange={(total) => set({ total })}
              error={faults.max_spend_total}
            />
            <TextField
              label="Cap per payment (USDC)"
              inputMode="decimal"
              value={draft.cap}
              onChange={(cap) => set({ cap })}
              error={faults.max_spend_per_transaction}
            />
          </div>
          <TextArea
            label="Allowed sellers"
            value={draft.sellers}
            onChange={(sellers) => set({ sellers })}
            spellCheck={false}
            hint="Domains such as api.example.com, one per line or separated by commas. * allows every seller; an empty field allows none."
            error={faults.allowed_sellers}
          />
          <TextField
            label="Allowed categories"
            value={draft.categories}
            onChange={(categories) => set({ categories })}
            spellCheck={false}
            hint={`Separated by commas; an empty field allows every category. ${draft.isCategoryEnforced ? enforcedCategoryRule : categoryRule}`}
            error={faults.allowed_categories}
          />
          <TextField
            label="Expires"
            type="datetime-local"
            value={draft.expiresLocal}
            onChange={(expiresLocal) => set({ expiresLocal })}
            hint="In this computer’s time zone, shown below."
            error={faults.expires_at}
          />
        </div>
      </Panel>
      <MoreRules {...fields} />
    </div>
  )
}

/** The fields that an error of the service can belong to. */
export const mandateFieldNames = [
  'agent_id',
  'purpose',
  'max_spend_total',
  'max_spend_per_transaction',
  'allowed_sellers',
  'allowed_categories',
  'allowed_resources',
  'category_check',
  'limits',
  'budget_id',
  'approval',
  'metadata',
  'expires_at',
] as const satisfies readonly (keyof NewMandate)[]
