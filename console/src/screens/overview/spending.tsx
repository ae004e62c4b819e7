import type { Spending as SpendingFigures } from '@purser/client'

import { useRead } from '../../api/queries.ts'
import { MoneyChart, periodNames } from '../../charts/money-chart.tsx'
import { counted } from '../../text/counts.ts'
import { localTimeZone } from '../../text/times.ts'
import { Amount } from '../../ui/amount.tsx'
import { SelectField } from '../../ui/field.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Failed, Waiting } from '../../ui/waiting.tsx'
import { useFilters } from '../filters.ts'
import { changeInWords } from './change-in-words.ts'
import './spending.css'

const periods = [
  { value: '24h', text: '24 h' },
  { value: '7d', text: '7 d' },
  { value: '30d', text: '30 d' },
] as const

const splits = [
  { value: '', text: 'Total' },
  { value: 'agent', text: 'By agent' },
  { value: 'seller', text: 'By seller' },
  { value: 'category', text: 'By category' },
] as const

/** What was spent, and whether it is more than before. Period and split are in the address. */
export function Spending({ refetchMs }: { readonly refetchMs: number }) {
  const { values, set } = useFilters(['period', 'split'])
  const period = periods.find(({ value }) => value === values.period)?.value ?? '24h'
  const split = splits.find(({ value }) => value === values.split)?.value ?? ''
  const time_zone = localTimeZone()
  const spending = useRead(
    'spending',
    (purser, signal) => purser.console.spending({ period, time_zone, ...(split && { split }) }, { signal }),
    { parameters: [period, split, time_zone], refetchMs },
  )
  return (
    <Panel
      title="Spending"
      aside={
        <div className="spending-choices">
          <SelectField
            label="Split"
            value={split}
            options={splits}
            onChange={(value) => set({ split: value })}
          />
          <Segmented
            label="Period"
            value={period}
            options={periods}
            onChange={(value) => set({ period: value === '24h' ? '' : value })}
          />
        </div>
      }
    >
      {spending.isPending && <Waiting lines={5} />}
      {spending.isError && <Failed error={spending.error} onRetry={() => void spending.refetch()} />}
      {spending.data && !spending.isError && <Figures spending={spending.data} />}
    </Panel>
  )
}

function Figures({ spending }: { readonly spending: SpendingFigures }) {
  const { period, spent, paid_count, previous, buckets } = spending
  const { last, previous: previousName } = periodNames[period]
  const isEmpty =
    paid_count === 0 &&
    previous.paid_count === 0 &&
    ![spent, previous.spent, ...buckets.map((bucket) => bucket.spent)].some(hasMoved)
  return (
    <div className="stack">
      <p className="spending-sum">
        <strong>
          <Amount value={spent} currency="USDC" />
        </strong>{' '}
        <span className="quiet">
          {`in ${counted(paid_count, 'payment')}, ${last}. ${changeInWords(spent, previous.spent)} `}
          {`${previousName}: `}
          <Amount value={previous.spent} />.
        </span>
      </p>
      {isEmpty ? (
        <p className="quiet">{`Nothing spent in ${last}, or in the period before.`}</p>
      ) : (
        <MoneyChart spending={spending} />
      )}
    </div>
  )
}

function hasMoved(amount: string): boolean {
  return Number(amount) !== 0
}
