import { useState } from 'react'

import { useRead } from '../../api/queries.ts'
import { SelectField } from '../../ui/field.tsx'
import { Failed, Waiting } from '../../ui/waiting.tsx'
import { useMandateChoices } from '../choices.ts'
import { Backtest } from './backtest.tsx'
import type { MandateDraft } from './mandate-draft.ts'

/** Back-tests the terms of a new mandate on the history of a mandate that the user chooses. */
export function BacktestOnAnother({ draft }: { readonly draft: MandateDraft }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="more-rules" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="more-rules-title">Back-test</span>{' '}
        <span className="quiet">try these terms on the history of another mandate</span>
      </summary>
      {isOpen && <OnChosen draft={draft} />}
    </details>
  )
}

function OnChosen({ draft }: { readonly draft: MandateDraft }) {
  const [id, setId] = useState('')
  const { options, hint } = useMandateChoices('', 'Choose a mandate')
  const query = useRead('mandate', (purser, signal) => purser.console.mandates.get(id, { signal }), {
    parameters: [id],
    isEnabled: id !== '',
  })
  return (
    <div className="stack more-rules-body">
      <SelectField label="Mandate with a history" value={id} onChange={setId} options={options} hint={hint} />
      {id !== '' &&
        (query.isError ? (
          <Failed error={query.error} onRetry={() => void query.refetch()} />
        ) : query.data?.id === id ? (
          <Backtest key={id} mandate={query.data} draft={draft} />
        ) : (
          <Waiting lines={3} />
        ))}
    </div>
  )
}
