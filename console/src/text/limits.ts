import type { Limit, LimitUsage, NewLimit } from '@purser/client'

import { amountInWords, shareOf } from './amounts.ts'
import { counted, secondsInWords } from './counts.ts'

export type LimitWindow = Limit['window']

/** The time over which a limit counts: `a day (Europe/Berlin)`, `any 24 hours`. */
export function windowInWords(window: LimitWindow): string {
  if (window === 'lifetime') return 'the lifetime'
  if ('rolling_seconds' in window) return `any ${secondsInWords(window.rolling_seconds).replace(/^1 /, '')}`
  const { calendar, time_zone, week_start, day_of_month } = window
  const start =
    week_start !== undefined && week_start !== 'monday'
      ? ` from ${capitalized(week_start)}`
      : day_of_month !== undefined && day_of_month !== 1
        ? ` from day ${day_of_month}`
        : ''
  return `a ${calendar}${start} (${time_zone})`
}

/** The name of a limit by its window: `Daily limit (Europe/Berlin)`. */
export function limitName({ window, per }: Pick<NewLimit, 'window' | 'per'>): string {
  const split = per ? ` for each ${subjects[per]}` : ''
  if (window === 'lifetime') return `Lifetime limit${split}`
  if ('rolling_seconds' in window) return `Limit in ${windowInWords(window)}${split}`
  return `${adjectives[window.calendar]} limit${split}`
}

const adjectives = { day: 'Daily', week: 'Weekly', month: 'Monthly', year: 'Yearly' } as const
export const subjects = { seller: 'seller', resource: 'URL' } as const

/** What a limit allows: `at most 20.00 USDC and 5 payments in a day (Europe/Berlin) for each seller`. */
export function limitInWords({ window, max_amount, max_count, per }: NewLimit | Limit): string {
  const maxes = [
    ...(max_amount == null ? [] : [`${amountInWords(max_amount)} USDC`]),
    ...(max_count == null ? [] : [counted(max_count, 'payment')]),
  ]
  const split = per ? ` for each ${subjects[per]}` : ''
  return `at most ${maxes.join(' and ')} in ${windowInWords(window)}${split}`
}

/** What happens to a payment that does not fit. */
export const actionWords = {
  deny: 'Payments beyond it are denied.',
  require_approval: 'Payments beyond it need an approval.',
  notify: 'Payments beyond it are approved, and recorded in the audit log.',
} as const satisfies Record<Limit['action'], string>

/** The action in brackets, to follow a limit; empty for the usual one. */
export const actionsInShort = {
  deny: '',
  require_approval: ' (else a person must approve)',
  notify: ' (else an event is recorded)',
} as const satisfies Record<Limit['action'], string>

/** When a limit has room again: `25 Nov 2026, 00:00 in Europe/Berlin`. */
export function resetInWords(resetsAt: string | null, window: LimitWindow): string {
  if (resetsAt === null) return window === 'lifetime' ? 'never resets' : 'nothing counts yet'
  const isCalendar = window !== 'lifetime' && 'calendar' in window
  return `${isCalendar ? 'resets' : 'has more room'} ${timeIn(resetsAt, isCalendar ? window.time_zone : undefined)}`
}

/** A time to the minute with its zone; by default the zone of this computer. */
function timeIn(at: string, timeZone?: string): string {
  const timeMs = Date.parse(at)
  if (Number.isNaN(timeMs)) return at
  const format = formatIn(timeZone)
  return `${format.format(timeMs)} (${format.resolvedOptions().timeZone})`
}

function formatIn(timeZone: string | undefined): Intl.DateTimeFormat {
  const options = { dateStyle: 'medium', timeStyle: 'short' } as const
  try {
    return new Intl.DateTimeFormat('en-GB', { ...options, ...(timeZone ? { timeZone } : {}) })
  } catch {
    // A browser may know fewer zones than the service.
    return new Intl.DateTimeFormat('en-GB', options)
  }
}

/** How far a limit is used up, 0 to 1: by what is closer to its max. Undefined if each subject has its own. */
export function fillOf({ committed, count, max_amount, max_count }: LimitUsage): number | undefined {
  if (committed === null || count === null) return undefined
  const amount = max_amount === null ? 0 : shareOf(committed, max_amount)
  return Math.min(1, Math.max(amount, max_count === null ? 0 : count / max_count))
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
