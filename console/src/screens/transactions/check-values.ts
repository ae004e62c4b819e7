import type { PolicyCheck } from '@purser/client'

import { clockTime } from '../../text/times.ts'

/** Max list entries to show. */
const spelledOut = 6

const signs = {
  before: 'is before',
  not_before: 'is not before',
  in: 'is one of:',
  not_in: 'is none of:',
  at_most: '≤',
  above: '>',
} as const satisfies Record<NonNullable<PolicyCheck['relation']>, string>

/** What a check compared, with local times and long lists shortened: `4.20 + 6.00 > 10.00`. */
export function comparisonInWords({
  value,
  relation,
  limits,
}: Pick<PolicyCheck, 'value' | 'relation' | 'limits'>): string {
  if (relation === null) return value
  if (limits.includes('*')) return `${value}; every one is allowed (*)`
  const isTime = relation === 'before' || relation === 'not_before'
  const [shown, ...against] = isTime ? [value, ...limits].map(clockTime) : [value, ...limits]
  return [shown, signs[relation], listed(against)].join(' ')
}

function listed(entries: readonly string[]): string {
  const more = entries.length - spelledOut
  return [...entries.slice(0, spelledOut), ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}
