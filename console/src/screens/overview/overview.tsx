import type { Overview as OverviewFigures } from '@purser/client'

import { explainFailure } from '../../api/failures.ts'
import { useFeed } from '../../api/feed.ts'
import { useRead } from '../../api/queries.ts'
import { useSeen } from '../../api/seen.tsx'
import { HoursChart } from '../../charts/hours-chart.tsx'
import { Go } from '../../shell/go.tsx'
import { Amount } from '../../ui/amount.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { counted } from '../../text/reasons.ts'
import { Failed, Waiting } from '../../ui/waiting.tsx'
import { When } from '../../ui/when.tsx'
import { Screen } from '../screen.tsx'
import { DenialReasons } from './denial-reasons.tsx'
import { FirstPurchase, isFirstDone } from './first-purchase.tsx'
import { LiveFeed } from './live-feed.tsx'
import { NearestBudgets } from './nearest-budgets.tsx'
import './overview.css'
import { StopAgents } from './stop-agents.tsx'
import { Verdict } from './verdict.tsx'

/** How often the figures are read anew when nothing arrives by the feed; sooner while somebody takes the first steps. */
const refetchMs = { usual: 20_000, firstSteps: 2_000 }

/** Is anything wrong, and how much is gone? */
export function Overview() {
  const { environment } = useSeen()
  const feed = useFeed()
  const overview = useRead(
    'overview',
    (purser, signal) => purser.console.overview({ day_starts_at: startOfToday() }, { signal }),
    {
      refetchMs: (latest) =>
        latest && !isFirstDone(latest.checklist, environment) ? refetchMs.firstSteps : refetchMs.usual,
    },
  )
  const figures = overview.data
  return (
    <Screen title="Overview" actions={<StopAgents />}>
      {overview.isPending && <Waiting lines={6} />}
      {overview.isError && !figures && (
        <Failed error={overview.error} onRetry={() => void overview.refetch()} />
      )}
      {figures && (
        <>
          {overview.isError && (
            <Notice tone="warn">
              {explainFailure(overview.error)} These figures are of <When at={figures.at} />.
            </Notice>
          )}
          <Verdict figures={figures} />
          {!isFirstDone(figures.checklist, environment) && <FirstPurchase checklist={figures.checklist} />}
          <Tiles figures={figures} />
          <Panel title="Payments and denials, last 24 hours">
            <HoursChart hours={figures.hours} />
          </Panel>
          <div className="columns">
            <div className="stack">
              <Panel
                title="Budgets nearest to their end"
                aside={<Go to="mandates?status=active">All mandates</Go>}
              >
                <NearestBudgets budgets={figures.nearest_budgets} />
              </Panel>
              <Panel
                title="Why payments were denied"
                aside={<Go to="transactions?status=denied">All denials</Go>}
              >
                <DenialReasons reasons={figures.denial_reasons} />
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
  return (
    <dl className="tiles">
      <div className="tile">
        <dt>Spent today</dt>
        <dd className="tile-figure">
          <Amount value={figures.spent_today} currency="USDC" />
        </dd>
        <dd className="quiet small">{counted(figures.paid_today, 'payment')}</dd>
      </div>
      <div className="tile">
        <dt>Remaining in active mandates</dt>
        <dd className="tile-figure">
          <Amount value={figures.remaining} currency="USDC" />
        </dd>
        <dd className="quiet small">{counted(figures.active_mandates, 'active mandate')}</dd>
      </div>
      <div className="tile">
        <dt>Denied in 24 hours</dt>
        <dd className="tile-figure figures">{figures.denied_last_day.toLocaleString('en')}</dd>
        <dd className="small">
          <Go to="transactions?status=denied">See each with its reason</Go>
        </dd>
      </div>
      <div className="tile">
        <dt>Held by open proofs</dt>
        <dd className="tile-figure">
          <Amount value={figures.open_holds.amount} currency="USDC" />
        </dd>
        <dd className="quiet small">{counted(figures.open_holds.count, 'open hold')}</dd>
      </div>
    </dl>
  )
}

/** Midnight by the reader's clock: "today" is the reader's. */
function startOfToday(): string {
  return new Date(new Date().setHours(0, 0, 0, 0)).toISOString()
}
