import type { Overview } from '@purser/client'
import { Fragment } from 'react'

import { isDown, useConnection } from '../../api/connection.tsx'
import { useSeen } from '../../api/seen.tsx'
import { Go } from '../../shell/go.tsx'
import { Icon, type IconName } from '../../ui/icon.tsx'
import { Moment } from '../../ui/when.tsx'
import { isFirstDone } from './first-purchase.tsx'
import { judge, type Judgement } from './judgement.ts'
import './verdict.css'

const looks: Record<Judgement['gravity'], { readonly tone: string; readonly icon: IconName }> = {
  worry: { tone: 'warn', icon: 'warning' },
  'nothing yet': { tone: 'plain', icon: 'live' },
  well: { tone: 'good', icon: 'check' },
}

/** Figures older than this are stale: the overview refreshes them every 20 seconds. */
const maxAgeMs = 60_000

/**
 * The verdict in one sentence, or that the status is unknown. While agents are stopped, the banner says so.
 */
export function Verdict({ figures, readAtMs }: { readonly figures: Overview; readonly readAtMs: number }) {
  const { environment } = useSeen()
  const connection = useConnection()
  if (connection.stoppedMandates > 0 || figures.stopped_mandates > 0) return null
  if (isDown(connection) || Date.now() - readAtMs > maxAgeMs) {
    return (
      <div className="verdict plain" role="status">
        <Icon name="clock" size={22} />
        <p>
          <strong>Status unknown.</strong> The figures below are from <Moment at={figures.at} />.
        </p>
      </div>
    )
  }
  const { gravity, sentence, more } = judge(figures, isFirstDone(figures.checklist, environment))
  const { tone, icon } = looks[gravity]
  return (
    <div className={`verdict ${tone}`} role="status">
      <Icon name={icon} size={22} />
      <p>
        <strong>{sentence}</strong> {more}{' '}
        {figures.frozen_budgets > 0 && (
          <>
            <Go to="budgets">All shared budgets</Go>.{' '}
          </>
        )}
        <FullLimits {...figures} />
      </p>
    </div>
  )
}

function FullLimits({ full_limits: { named } }: Overview) {
  if (named.length === 0) return null
  return (
    <>
      Full:{' '}
      {named.map(({ scope, id, name }, index) => (
        <Fragment key={id}>
          {index > 0 && ', '}
          <Go to={`${scope}s/${id}`}>
            {name || (scope === 'mandate' ? 'No purpose given' : 'Unnamed budget')}
          </Go>
        </Fragment>
      ))}
      .
    </>
  )
}
