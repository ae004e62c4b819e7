import type { PolicyCheck } from '@purser/client'

import { clockTime } from '../../text/times.ts'

/** Max list entries to show. */
const spelledOut = 6

/**
 * The compared values of a check in readable form: local times, and "is one of" for ∈. Amounts stay
 * unchanged: `4.20 + 6.00 > 10.00`.
 */
export function valuesInWords({ name, values }: Pick<PolicyCheck, 'name' | 'values'>): string {
  if (name === 'mandate_not_expired') {
    return values.replace(/^(\S+) ([<≥]) (\S+)$/, (_, asked: string, sign: string, expires: string) =>
      [clockTime(asked), sign === '<' ? 'is before' : 'is not before', clockTime(expires)].join(' '),
    )
  }
  if (name === 'seller_allowed' || name === 'category_allowed') {
    return values.replace(/^(.*) ([∈∉]) \{(.*)\}$/s, (_, value: string, sign: string, allowed: string) =>
      allowed === '*'
        ? `${value}; every one is allowed (*)`
        : [value, sign === '∈' ? 'is one of:' : 'is none of:', listed(allowed)].join(' '),
    )
  }
  return values
}

function listed(allowed: string): string {
  const entries = allowed.split(', ')
  const more = entries.length - spelledOut
  return [...entries.slice(0, spelledOut), ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}
