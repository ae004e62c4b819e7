import type { Limit, LimitUsage } from '@purser/client'

import { amountInWords } from '../../text/amounts.ts'
import { counted } from '../../text/counts.ts'
import { actionWords, fillOf, limitName, resetInWords, subjects } from '../../text/limits.ts'
import { FillBar } from '../../ui/fill-bar.tsx'
import './limit-usages.css'

/** Each limit with its fill level, what counts in it, and when it resets. */
export function LimitUsages({
  of,
  limits,
  usage,
}: {
  /** Whose limits they are, for screen readers. */
  readonly of: string
  readonly limits: readonly Limit[]
  readonly usage: readonly LimitUsage[]
}) {
  return (
    <ul className="limit-usages">
      {limits.map((limit) => (
        <LimitLevel
          key={limit.id}
          of={of}
          limit={limit}
          usage={usage.find((one) => one.limit_id === limit.id)}
        />
      ))}
    </ul>
  )
}

function LimitLevel({
  of,
  limit,
  usage,
}: {
  readonly of: string
  readonly limit: Limit
  readonly usage: LimitUsage | undefined
}) {
  const name = limitName(limit)
  const fill = usage && fillOf(usage)
  const words = levelInWords(limit, usage)
  return (
    <li className="limit-level">
      <div className="limit-level-head">
        <span className="limit-level-name">{name}</span>
        <span className="figures">{words}</span>
      </div>
      {fill !== undefined && <FillBar label={`${name} of ${of}`} text={words} fill={fill} />}
      <p className="quiet small">
        {limit.per
          ? `Counted separately for each ${subjects[limit.per]}${zoneOf(limit)}. `
          : usage && `${capitalized(resetInWords(usage.resets_at, limit.window))}. `}
        {actionWords[limit.action]}
      </p>
    </li>
  )
}

/** `18.00 of 20.00 USDC, 3 of 5 payments`; only the maxes if each subject has its own figures. */
function levelInWords({ max_amount, max_count }: Limit, usage: LimitUsage | undefined): string {
  const committed = usage?.committed ?? null
  const count = usage?.count ?? null
  return [
    ...(max_amount === null
      ? []
      : [
          committed === null
            ? `at most ${amountInWords(max_amount)} USDC`
            : `${amountInWords(committed)} of ${amountInWords(max_amount)} USDC`,
        ]),
    ...(max_count === null
      ? []
      : [
          count === null
            ? `at most ${counted(max_count, 'payment')}`
            : `${count.toLocaleString('en')} of ${counted(max_count, 'payment')}`,
        ]),
  ].join(', ')
}

function zoneOf({ window }: Limit): string {
  return window !== 'lifetime' && 'calendar' in window ? ` (${window.time_zone})` : ''
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
