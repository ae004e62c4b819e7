import type { ReactNode } from 'react'

import { useNow } from '../../api/connection.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useBudgets } from '../budgets/budget-choices.ts'
import { sentenceOf, warningsOf, type MandateDraft } from './mandate-draft.ts'

/** What the mandate of a form will allow, in words, with warnings about likely mistakes. */
export function MandatePreview({
  draft,
  agentName,
  children,
}: {
  readonly draft: MandateDraft
  readonly agentName: string | undefined
  readonly children?: ReactNode
}) {
  const budgets = useBudgets()
  const now = useNow()
  return (
    <div className="stack mandate-preview">
      <div className="stack" aria-live="polite">
        <Panel title="What it will allow">
          <p className="mandate-sentence breakable">
            {sentenceOf(draft, agentName, budgets.nameOf(draft.budgetId))}
          </p>
        </Panel>
        {warningsOf(draft, now()).map((warning) => (
          <Notice key={warning} tone="warn">
            {warning}
          </Notice>
        ))}
      </div>
      {children}
    </div>
  )
}
