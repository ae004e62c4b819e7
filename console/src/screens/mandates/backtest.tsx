import type { BacktestRequest, Backtest as Report, BacktestFlips, Mandate } from '@purser/client'
import { useState } from 'react'

import { useNow } from '../../api/connection.tsx'
import { useRead } from '../../api/queries.ts'
import { Go } from '../../shell/go.tsx'
import { counted } from '../../text/counts.ts'
import { reasonInWords } from '../../text/reasons.ts'
import { dayMs } from '../../text/times.ts'
import { Amount } from '../../ui/amount.tsx'
import { Button } from '../../ui/button.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Failed, Waiting } from '../../ui/waiting.tsx'
import { Minute } from '../../ui/when.tsx'
import './backtest.css'
import { draftFaults, type MandateDraft } from './mandate-draft.ts'
import { amendmentOf, changesTyped } from './term-changes.ts'

const periods = [
  { value: '1', text: 'The last 24 hours' },
  { value: '7', text: 'The last 7 days' },
  { value: '30', text: 'The last 30 days' },
  { value: '90', text: 'The last 90 days' },
]

/** Tries the terms of a form on the history of a mandate: which decisions would have been different. */
export function Backtest({
  mandate,
  draft,
}: {
  /** Has the history, and the terms that the form does not change. */
  readonly mandate: Mandate
  readonly draft: MandateDraft
}) {
  const [days, setDays] = useState('30')
  const now = useNow()
  const [asked, setAsked] = useState<BacktestRequest>()
  const query = useRead(
    'backtest',
    (purser, signal) => purser.mandates.backtest(mandate.id, asked ?? { draft: {} }, { signal }),
    { parameters: [mandate.id, asked], isEnabled: asked !== undefined },
  )
  // The agent of the new mandate affects no decision.
  const isValid = Object.keys(draftFaults({ ...draft, agentId: mandate.agent_id })).length === 0
  const { budget_id: _budget, ...terms } = isValid ? amendmentOf(changesTyped(mandate, draft)) : {}
  const isOutdated = !isValid || JSON.stringify(terms) !== JSON.stringify(asked?.draft)
  // Up to the service's own time.
  const ask = () => setAsked({ draft: terms, from: new Date(now() - Number(days) * dayMs).toISOString() })
  return (
    <div className="stack">
      <p className="quiet small breakable">
        Which past decisions of “{mandate.purpose || mandate.id}” would these terms have changed? Nothing is
        changed by trying. Shared budgets are not replayed.
      </p>
      <div className="backtest-ask">
        <SelectField label="Period" value={days} onChange={setDays} options={periods} />
        <Button disabled={!isValid || query.isFetching} onClick={ask}>
          {query.isFetching ? 'Trying…' : 'Try on past decisions'}
        </Button>
      </div>
      <div className="stack" aria-live="polite">
        {query.isFetching ? (
          <Waiting lines={3} />
        ) : query.isError ? (
          <Failed error={query.error} onRetry={() => void query.refetch()} />
        ) : (
          asked &&
          query.data && (
            <>
              {isOutdated && (
                <Notice tone="warn">The form has changed since: this is about its earlier terms.</Notice>
              )}
              <Result report={query.data} />
            </>
          )
        )}
      </div>
    </div>
  )
}

function Result({ report }: { readonly report: Report }) {
  const { judged, to_denied, to_approved, not_judged, is_complete, from, to } = report
  const isSame = [to_denied, to_approved].every(({ payments, evaluations }) => payments + evaluations === 0)
  return (
    <>
      <p>
        {counted(judged, 'decision')} judged, from <Minute at={from} /> to <Minute at={to} />.{' '}
        {isSame && judged > 0 && <strong>None would have been different.</strong>}
      </p>
      {!is_complete && (
        <Notice tone="warn">There are too many records: those after this time were not judged.</Notice>
      )}
      <Flips title="Would have been denied" flips={to_denied} />
      <Flips title="Would have been approved" flips={to_approved} />
      {not_judged.length > 0 && (
        <section className="stack-tight">
          <h3>Could not be judged</h3>
          <ul className="backtest-list">
            {not_judged.map(({ reason, count }) => (
              <li key={reason}>
                {counted(count, 'record')}: {notJudgedWords[reason]}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

const notJudgedWords = {
  shared_budget: 'denied by a shared budget, in which other mandates count too.',
  only_counted: 'denied proofs that were only counted, without a record.',
  not_reproduced: 'their circumstances are not known exactly, such as concurrent requests.',
} as const satisfies Record<Report['not_judged'][number]['reason'], string>

/** What changes in one direction: how many, by check, and examples. */
function Flips({ title, flips }: { readonly title: string; readonly flips: BacktestFlips }) {
  const { payments, evaluations, by_check, examples } = flips
  if (payments + evaluations === 0) return null
  return (
    <section className="stack-tight">
      <h3>
        {title}: <Sum of={flips} />
      </h3>
      <ul className="backtest-list">
        {by_check.map((part) => (
          <li key={`${part.check} ${part.reason_code}`}>
            Check {part.check}, {reasonInWords(part.reason_code)}: <Sum of={part} />
          </li>
        ))}
      </ul>
      <details>
        <summary>{counted(examples.length, 'example')}</summary>
        <ul className="backtest-list">
          {examples.map((example) => (
            <li key={`${example.created_at} ${example.transaction_id ?? example.nonce}`}>
              <Minute at={example.created_at} />: <Amount value={example.amount} currency="USDC" /> for{' '}
              {example.transaction_id === null ? (
                <span className="breakable">{example.resource_url}</span>
              ) : (
                <Go to={`transactions/${example.transaction_id}`}>{example.resource_url}</Go>
              )}
              .{' '}
              <span className="quiet">{example.drafted.reason_detail ?? example.recorded.reason_detail}</span>
            </li>
          ))}
        </ul>
      </details>
    </section>
  )
}

/** `2 payments over 9.00 USDC, and 1 evaluation`. */
function Sum({ of }: { readonly of: Pick<BacktestFlips, 'payments' | 'evaluations' | 'amount'> }) {
  const { payments, evaluations, amount } = of
  if (payments === 0) return counted(evaluations, 'evaluation')
  return (
    <>
      {counted(payments, 'payment')} over <Amount value={amount} currency="USDC" />
      {evaluations > 0 && `, and ${counted(evaluations, 'evaluation')}`}
    </>
  )
}
