import type { Overview as OverviewFigures } from '@purser/client'
import type { ReactNode } from 'react'

import { useFeed } from '../../api/feed.ts'
import { useRead } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { Go } from '../../shell/go.tsx'
import { Amount } from '../../ui/amount.tsx'
import { Panel } from '../../ui/panel.tsx'
import { sumOf } from '../../text/amounts.ts'
import { counted } from '../../text/counts.ts'
import { localTimeZone, timeOfDay } from '../../text/times.ts'
import { Failed, Outdated, Waiting } from '../../ui/waiting.tsx'
import { Screen } from '../screen.tsx'
import { DenialReasons } from './denial-reasons.tsx'
import { denialsIn, denialsPath } from './denials.ts'
import { FirstPurchase, isFirstDone } from './first-purchase.tsx'
import { LiveFeed } from './live-feed.tsx'
import { NearestBudgets } from './nearest-budgets.tsx'
import './overview.css'
import { Spending } from './spending.tsx'
import { StopAgents } from './stop-agents.tsx'
import { Verdict } from './verdict.tsx'

/** Refresh interval of the figures without feed messages; shorter during the first steps. */
const refetchMs = { usual: 20_000, firstSteps: 2_000 }

/** Is anything wrong, and how much is gone? */
export function Overview() {
  const { environment, session } = useSeen()
  const feed = useFeed()
  const time_zone = localTimeZone()
  const overview = useRead(
    'overview',
    (purser, signal) => purser.console.overview({ time_zone }, { signal }),
    {
      parameters: [time_zone],
      refetchMs: (latest) =>
        latest && !isFirstDone(latest.checklist, environment) ? refetchMs.firstSteps : refetchMs.usual,
    },
  )
  const figures = overview.data
  return (
    <Screen title="Overview" actions={session.role !== 'approver' && <StopAgents />}>
      {overview.isPending && (
        <Panel title="Figures" isTitleHidden flush>
          <Waiting lines={12} />
        </Panel>
      )}
      {overview.isError && !figures && (
        <Failed error={overview.error} onRetry={() => void overview.refetch()} />
      )}
      {figures && (
        <>
          {overview.isError && <Outdated error={overview.error} readAtMs={Date.parse(figures.at)} />}
          <Verdict figures={figures} readAtMs={overview.dataUpdatedAt} />
          {!isFirstDone(figures.checklist, environment) && <FirstPurchase checklist={figures.checklist} />}
          <Tiles figures={figures} />
          <Spending refetchMs={refetchMs.usual} />
          <div className="columns">
            <div className="stack">
              <Panel
                title="Budgets closest to their limit"
                aside={<Go to="mandates?status=active">All mandates</Go>}
              >
                <NearestBudgets budgets={figures.nearest_budgets} />
              </Panel>
              <Panel
                title="Why payments were denied, last 24 hours"
                aside={<Go to={denialsPath(figures)}>All denials</Go>}
              >
                <DenialReasons figures={figures} />
              </Panel>
            </div>
            <LiveFeed {...feed} />
          </div>
        </>
      )}
    </Screen>
  )
}

function Tiles({ figures }: { readonly figures: OverviewFigures }) {
  const { open_holds, authorized } = figures
  const { listed, more } = denialsIn(figures)
  return (
    <dl className="tiles">
      <Tile
        name="Spent today"
        figure={<Amount value={figures.spent_today} currency="USDC" />}
        more={
          <>
            {figures.paid_today > 0 ? (
              <Go
                to={`transactions?status=paid&direction=sent&since=${encodeURIComponent(figures.day_starts_at)}`}
              >
                {counted(figures.paid_today, 'payment')}
              </Go>
            ) : (
              counted(0, 'payment')
            )}{' '}
            since {timeOfDay(Date.parse(figures.day_starts_at))}
          </>
        }
      />
      <Tile
        name="Unspent in active mandates"
        figure={<Amount value={figures.remaining} currency="USDC" />}
        more={counted(figures.active_mandates, 'active mandate')}
      />
      <Tile
        name="Held"
        figure={<Amount value={sumOf([open_holds.amount, authorized.amount])} currency="USDC" />}
        more={`${counted(open_holds.count, 'open proof')}, ${counted(authorized.count, 'authorized payment')}`}
      />
      <Tile
        name="Denied in 24 hours"
        figure={listed.toLocaleString('en')}
        more={
          <>
            {listed > 0 ? <Go to={denialsPath(figures)}>See each with its reason</Go> : 'none'}
            {more > 0 && <div>{`and ${counted(more, 'more proof')}, not listed`}</div>}
          </>
        }
      />
    </dl>
  )
}

function Tile(tile: { readonly name: string; readonly figure: ReactNode; readonly more: ReactNode }) {
  return (
    <div className="tile">
      <dt>{tile.name}</dt>
      <dd className="tile-figure">{tile.figure}</dd>
      <dd className="quiet small">{tile.more}</dd>
    </div>
  )
}
