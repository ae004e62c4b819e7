import { ValidationError, type Limit, type NewLimit } from '@purser/client'

import { inWords } from '../../api/failures.ts'
import { invalidAmount, readMicro } from '../../text/amounts.ts'
import type { LimitWindow } from '../../text/limits.ts'
import { localTimeZone } from '../../text/times.ts'

/** The form state of a limit, as text. */
export interface LimitDraft {
  readonly kind: LimitKind
  readonly timeZone: string
  readonly weekStart: WeekDay
  readonly dayOfMonth: string
  /** The length of a rolling window. */
  readonly length: string
  readonly lengthUnit: LengthUnit
  readonly amount: string
  readonly count: string
  readonly per: '' | NonNullable<Limit['per']>
  readonly action: Limit['action']
}

export type LimitKind = 'day' | 'week' | 'month' | 'year' | 'rolling' | 'lifetime'
export const lengthUnits = { minutes: 60, hours: 3_600, days: 86_400 } as const
export type LengthUnit = keyof typeof lengthUnits
export const weekDays = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const
export type WeekDay = (typeof weekDays)[number]

/** A new limit: an amount a day, in the time zone of this computer. */
export function emptyLimit(): LimitDraft {
  return {
    kind: 'day',
    timeZone: localTimeZone(),
    weekStart: 'monday',
    dayOfMonth: '1',
    length: '24',
    lengthUnit: 'hours',
    amount: '',
    count: '',
    per: '',
    action: 'deny',
  }
}

/** The form state of a limit that is there. */
export function limitDraftOf({ window, max_amount, max_count, per, action }: Limit): LimitDraft {
  return {
    ...emptyLimit(),
    ...windowDraftOf(window),
    amount: max_amount ?? '',
    count: max_count === null ? '' : String(max_count),
    per: per ?? '',
    action,
  }
}

function windowDraftOf(window: LimitWindow): Partial<LimitDraft> & Pick<LimitDraft, 'kind'> {
  if (window === 'lifetime') return { kind: 'lifetime' }
  if ('rolling_seconds' in window) {
    const { rolling_seconds: seconds } = window
    const lengthUnit =
      seconds % lengthUnits.days === 0 ? 'days' : seconds % lengthUnits.hours === 0 ? 'hours' : 'minutes'
    return { kind: 'rolling', length: String(seconds / lengthUnits[lengthUnit]), lengthUnit }
  }
  const { calendar, time_zone, week_start = 'monday', day_of_month = 1 } = window
  return { kind: calendar, timeZone: time_zone, weekStart: week_start, dayOfMonth: String(day_of_month) }
}

/** The limit as it is requested. The draft must be valid. */
export function newLimitOf(draft: LimitDraft): NewLimit & Omit<Limit, 'id'> {
  return {
    window: windowOf(draft),
    max_amount: draft.amount.trim() === '' ? null : draft.amount.trim(),
    max_count: draft.count.trim() === '' ? null : Number(draft.count),
    per: draft.per === '' ? null : draft.per,
    action: draft.action,
  }
}

function windowOf({ kind, timeZone, weekStart, dayOfMonth, length, lengthUnit }: LimitDraft): LimitWindow {
  if (kind === 'lifetime') return kind
  if (kind === 'rolling') return { rolling_seconds: Math.round(Number(length) * lengthUnits[lengthUnit]) }
  return {
    calendar: kind,
    time_zone: timeZone.trim(),
    ...(kind === 'week' && weekStart !== 'monday' ? { week_start: weekStart } : {}),
    ...(kind === 'month' && Number(dayOfMonth) !== 1 ? { day_of_month: Number(dayOfMonth) } : {}),
  }
}

export type LimitFaults = Partial<Record<'window' | 'amount' | 'count', string>>

/** What is wrong with a limit, by field. */
export function limitFaults(draft: LimitDraft): LimitFaults {
  const { amount, count } = draft
  const window = windowFault(draft)
  return {
    ...(window && { window }),
    ...(amount.trim() === '' && count.trim() === ''
      ? { amount: 'Enter a max amount, a max number of payments, or both.' }
      : {}),
    ...(amount.trim() !== '' && !((readMicro(amount) ?? 0n) > 0n) ? { amount: invalidAmount } : {}),
    ...(count.trim() !== '' && !isWhole(count, 1, 1_000_000_000)
      ? { count: 'A whole number from 1, or empty.' }
      : {}),
  }
}

function windowFault({ kind, timeZone, dayOfMonth, length, lengthUnit }: LimitDraft): string | undefined {
  if (kind === 'lifetime') return undefined
  if (kind === 'rolling') {
    const seconds = Number(length) * lengthUnits[lengthUnit]
    return seconds >= 60 && seconds <= 2_678_400 ? undefined : 'From one minute to 31 days.'
  }
  if (!isTimeZone(timeZone.trim())) return 'An IANA time zone such as Europe/Berlin.'
  if (kind === 'month' && !isWhole(dayOfMonth, 1, 31)) return 'A day from 1 to 31.'
  return undefined
}

function isWhole(text: string, least: number, most: number): boolean {
  const value = Number(text)
  return text.trim() !== '' && Number.isInteger(value) && value >= least && value <= most
}

function isTimeZone(name: string): boolean {
  if (name === '') return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name }).format(0)
    return true
  } catch {
    return false
  }
}

/** What the service says is wrong with limits, by their index. */
export function refusedLimits(error: unknown): Readonly<Record<number, LimitFaults>> {
  if (!(error instanceof ValidationError)) return {}
  const faults: Record<number, LimitFaults> = {}
  for (const item of error.items) {
    const [, list, index, field] = item.loc
    if (list !== 'limits' || typeof index !== 'number') continue
    const name = field === 'max_amount' ? 'amount' : field === 'max_count' ? 'count' : 'window'
    faults[index] = { ...faults[index], [name]: inWords(item) }
  }
  return faults
}
