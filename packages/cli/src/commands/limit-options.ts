import { InvalidArgumentError } from '@commander-js/extra-typings'
import type { Limit, LimitUsage, NewLimit } from '@purser/client'

import { listCell, optionalCell, timeCell } from '../output/cells.ts'

type LimitWindow = Limit['window']

/** The syntax of `--limit`, for its help. */
export const limitHelp =
  'limit over time, such as 20.00/day,zone=Europe/Berlin or 5x/1h,per=seller or 20.00+5x/month,action=notify; repeatable'

/** Collects the limits of a repeatable `--limit`. */
export function collectLimits(text: string, collected: readonly NewLimit[] = []): NewLimit[] {
  return [...collected, parseLimit(text)]
}

/**
 * Parses a limit: its maxes, a slash, its window, and options after commas. Throws an error that the parser
 * reports as wrong usage.
 */
export function parseLimit(text: string): NewLimit {
  const [limit = '', ...options] = text.split(',')
  const [maxes = '', windowName = '', ...rest] = limit.split('/')
  if (rest.length > 0 || windowName === '') {
    throw new InvalidArgumentError('It must be a max, a slash and a window, such as 20.00/day.')
  }
  const given = new Map(options.map(parseOption))
  if (given.size < options.length) throw new InvalidArgumentError('It has an option twice.')
  const window = parseWindow(windowName, given.get('zone') ?? 'UTC', given.get('starts'))
  if (!Object.hasOwn(Object(window), 'calendar') && (given.has('zone') || given.has('starts'))) {
    throw new InvalidArgumentError('zone and starts need a window of the calendar: day, week, month or year.')
  }
  const [per, action] = [given.get('per'), given.get('action')]
  return {
    window,
    ...maxesOf(maxes),
    // The service checks the words.
    ...(per !== undefined && { per: per as NonNullable<NewLimit['per']> }),
    ...(action !== undefined && { action: action as NonNullable<NewLimit['action']> }),
  }
}

const optionNames = ['zone', 'starts', 'per', 'action']

function parseOption(option: string): [name: string, value: string] {
  const [, name = '', value = ''] = /^([a-z]+)=(.+)$/.exec(option) ?? []
  if (optionNames.includes(name)) return [name, value]
  throw new InvalidArgumentError(`After a comma, it must be one of: ${optionNames.join('=…, ')}=….`)
}

function maxesOf(text: string): Pick<NewLimit, 'max_amount' | 'max_count'> {
  const parts = text.split('+')
  const counts = parts.filter((part) => /^\d{1,10}x$/.test(part))
  const amounts = parts.filter((part) => /^\d[\d.]*$/.test(part))
  if (counts.length > 1 || amounts.length > 1 || counts.length + amounts.length !== parts.length) {
    throw new InvalidArgumentError(
      'Its max must be an amount such as 20.00, a count such as 5x, or 20.00+5x.',
    )
  }
  const [[amount], [count]] = [amounts, counts]
  return {
    ...(amount !== undefined && { max_amount: amount }),
    ...(count !== undefined && { max_count: Number.parseInt(count, 10) }),
  }
}

const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

function parseWindow(name: string, zone: string, starts: string | undefined): LimitWindow {
  if (name === 'lifetime') return name
  if (name === 'day' || name === 'week' || name === 'month' || name === 'year') {
    if (starts === undefined) return { calendar: name, time_zone: zone }
    return /^\d+$/.test(starts)
      ? { calendar: name, time_zone: zone, day_of_month: Number(starts) }
      : { calendar: name, time_zone: zone, week_start: starts as WeekStart }
  }
  const [, count = '', unit = ''] = /^(\d{1,7})([smhd])$/.exec(name) ?? []
  if (count !== '') return { rolling_seconds: Number(count) * (secondsOf[unit] ?? 1) }
  throw new InvalidArgumentError(
    'Its window must be day, week, month, year, lifetime, or a rolling time such as 30m, 24h or 7d.',
  )
}

type WeekStart = NonNullable<Extract<LimitWindow, { calendar: string }>['week_start']>

/** The limits of a record, in the syntax of `--limit`; a dash for none. */
export function limitsCell(limits: readonly Limit[]): string {
  return listCell(limits.map(limitText)).replaceAll(', ', '; ')
}

function limitText({ window, max_amount, max_count, per, action }: Limit): string {
  const maxes = [max_amount, max_count === null ? null : `${max_count}x`].filter((max) => max !== null)
  const options = [
    ...optionsOf(window),
    ...(per === null ? [] : [`per=${per}`]),
    ...(action === 'deny' ? [] : [`action=${action}`]),
  ]
  return [`${maxes.join('+')}/${nameOf(window)}`, ...options].join(',')
}

function nameOf(window: LimitWindow): string {
  if (window === 'lifetime') return window
  if ('calendar' in window) return window.calendar
  const unit = Object.keys(secondsOf).findLast((one) => window.rolling_seconds % (secondsOf[one] ?? 1) === 0)
  return `${window.rolling_seconds / (secondsOf[unit ?? 's'] ?? 1)}${unit ?? 's'}`
}

function optionsOf(window: LimitWindow): string[] {
  if (window === 'lifetime' || 'rolling_seconds' in window) return []
  const starts = window.week_start ?? window.day_of_month
  const zone = window.time_zone === 'UTC' ? [] : [`zone=${window.time_zone}`]
  return starts === undefined ? zone : [...zone, `starts=${starts}`]
}

/** Each seller or resource has its own usage, which is null here. */
function outOf(used: string | number | null, max: string): string {
  return used === null ? `up to ${max} each` : `${used} of ${max}`
}

/** The usage of limits, and when they reset; a dash if unknown. */
export function usageCell(usage: readonly LimitUsage[] | undefined): string {
  return optionalCell((usage ?? []).map(usageText).join('; '))
}

function usageText({
  committed,
  count,
  max_amount,
  max_count,
  resets_at,
  scope,
  scope_id,
}: LimitUsage): string {
  const parts = [
    ...(max_amount === null ? [] : [outOf(committed, max_amount)]),
    ...(max_count === null ? [] : [outOf(count, `${max_count} payments`)]),
  ]
  const where = scope === 'budget' ? ` in ${scope_id}` : ''
  return `${parts.join(', ')}${where}${resets_at === null ? '' : ` until ${timeCell(resets_at)} UTC`}`
}
