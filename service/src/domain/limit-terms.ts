import type { Limit as WireLimit, LimitWindow as WireWindow } from '@purser/wire/limits/limits'

import { zoneName } from './time/calendar.ts'
import type { Limit, LimitAction, LimitWindow } from './limits.ts'

/** A requested limit, without an id. */
export type LimitTerms = Omit<Limit, 'id'>

/**
 * The requested limits: one that counts the same as an earlier limit keeps its id, and so its counts. An unchanged limit
 * keeps its own, wherever it is in the list.
 */
export function keepIds(wanted: readonly Limit[], before: readonly Limit[]): readonly Limit[] {
  const left = new Set(before)
  const take = (limit: Limit, isLike: (one: LimitTerms, other: LimitTerms) => boolean) => {
    const like = [...left].find((old) => isLike(old, limit))
    if (like) left.delete(like)
    return like?.id
  }
  const unchanged = wanted.map((limit) => take(limit, isSame))
  return wanted.map((limit, index) => ({
    ...limit,
    id: unchanged[index] ?? take(limit, countsSame) ?? limit.id,
  }))
}

/** The limits that are as before, whatever their place in the list. */
export function unchangedLimits(after: readonly Limit[], before: readonly Limit[]): readonly Limit[] {
  return after.filter((limit) => before.some((old) => old.id === limit.id && isSame(old, limit)))
}

function isSame(one: LimitTerms, other: LimitTerms): boolean {
  return countsSame(one, other) && isWithin(one, other) && isWithin(other, one)
}

function countsSame(one: LimitTerms, other: LimitTerms): boolean {
  return one.per === other.per && windowText(one.window) === windowText(other.window)
}

/** A window as text: equal for windows with the same periods. */
function windowText(window: LimitWindow): string {
  if (window === 'lifetime') return window
  if ('rollingSeconds' in window) return `${window.rollingSeconds} s`
  const { calendar, timeZone, weekStart = 'monday', dayOfMonth = 1 } = window
  const start = calendar === 'week' ? weekStart : calendar === 'month' ? dayOfMonth : ''
  return `${calendar} ${start} ${zoneName(timeZone)}`
}

/** Whether limits allow anything that earlier ones did not. A limit may be added, and a max lowered. */
export function widensLimits(before: readonly LimitTerms[], after: readonly LimitTerms[]): boolean {
  return before.some((old) => !after.some((limit) => countsSame(old, limit) && isWithin(limit, old)))
}

function isWithin(limit: LimitTerms, old: LimitTerms): boolean {
  const [amount, oldAmount] = [limit.maxAmountMicro, old.maxAmountMicro]
  if (oldAmount !== null && !(amount !== null && BigInt(amount) <= BigInt(oldAmount))) return false
  if (old.maxCount !== null && !(limit.maxCount !== null && limit.maxCount <= old.maxCount)) return false
  return strictness.indexOf(limit.action) >= strictness.indexOf(old.action)
}

const strictness: readonly LimitAction[] = ['notify', 'require_approval', 'deny']

/** A limit in the interface's format. */
export function toWireLimit({ id, window, maxAmountText, maxCount, per, action }: Limit): WireLimit {
  return { id, window: toWireWindow(window), max_amount: maxAmountText, max_count: maxCount, per, action }
}

export function toWireWindow(window: LimitWindow): WireWindow {
  if (window === 'lifetime') return window
  if ('rollingSeconds' in window) return { rolling_seconds: window.rollingSeconds }
  const { calendar, timeZone, weekStart, dayOfMonth } = window
  return {
    calendar,
    time_zone: timeZone,
    ...(weekStart === undefined ? {} : { week_start: weekStart }),
    ...(dayOfMonth === undefined ? {} : { day_of_month: dayOfMonth }),
  }
}
