import type { ValidationItem } from '@purser/wire/errors'
import type {
  Limit as WireLimit,
  LimitUsage as WireUsage,
  LimitWindow,
  NewLimit,
} from '@purser/wire/limits/limits'

import type { LimitTerms } from '../domain/limit-terms.ts'
import {
  type ExceededLimit,
  type Limit,
  type LimitUsage,
  type LimitWindow as DomainWindow,
} from '../domain/limits.ts'
import { formatSum, parseAmount } from '../domain/money.ts'
import type { PolicyDenial } from '../domain/policy.ts'
import { errorOf } from '../http/validation/refusal.ts'
import { toNullableTimestamp } from './context.ts'

/** Errors of requested limits that their schemas cannot express. */
export function limitFaults(
  limits: readonly NewLimit[],
  { maySplit }: { readonly maySplit: boolean },
): ValidationItem[] {
  return limits.flatMap((limit, index) => {
    const fault = (field: string, error: string, input: unknown) =>
      errorOf('value_error', ['body', 'limits', index, field], input, { error })
    const faults: ValidationItem[] = []
    if ((limit.max_amount ?? null) === null && (limit.max_count ?? null) === null) {
      faults.push(
        fault('max_amount', 'a limit needs max_amount, max_count, or both', limit.max_amount ?? null),
      )
    }
    if (!maySplit && (limit.per ?? null) !== null) {
      faults.push(fault('per', 'a limit of a shared budget counts all payments together', limit.per))
    }
    const { window } = limit
    if (typeof window === 'object' && 'calendar' in window) {
      if (window.week_start !== undefined && window.calendar !== 'week')
        faults.push(fault('window', 'week_start goes with the calendar week', window))
      if (window.day_of_month !== undefined && window.calendar !== 'month')
        faults.push(fault('window', 'day_of_month goes with the calendar month', window))
    }
    return faults
  })
}

/** The requested limits, with new ids. */
export function toLimits(requested: readonly NewLimit[], nextId: () => string): readonly Limit[] {
  return requested.map((limit) => ({ id: nextId(), ...toTerms(limit) }))
}

/** A limit given in the interface's format. */
export function fromWireLimit({ id, ...limit }: WireLimit): Limit {
  return { id, ...toTerms(limit) }
}

function toTerms(limit: NewLimit): LimitTerms {
  const maxAmountText = limit.max_amount ?? null
  return {
    window: toWindow(limit.window),
    maxAmountText,
    maxAmountMicro: maxAmountText === null ? null : String(parseAmount(maxAmountText)),
    maxCount: limit.max_count ?? null,
    per: limit.per ?? null,
    action: limit.action ?? 'deny',
  }
}

function toWindow(window: LimitWindow): DomainWindow {
  if (window === 'lifetime') return window
  if ('rolling_seconds' in window) return { rollingSeconds: window.rolling_seconds }
  return {
    calendar: window.calendar,
    timeZone: window.time_zone,
    weekStart: window.week_start,
    dayOfMonth: window.day_of_month,
  }
}

/** As the interface writes it. */
export function toWireUsage(usage: LimitUsage): WireUsage {
  const { limit, scope, scopeId, startsAtMs, resetsAtMs, committed } = usage
  return {
    limit_id: limit.id,
    scope,
    scope_id: scopeId,
    period_starts_at: toNullableTimestamp(startsAtMs),
    resets_at: toNullableTimestamp(resetsAtMs),
    committed: committed ? formatSum(committed.amountMicro) : null,
    count: committed?.count ?? null,
    max_amount: limit.maxAmountText,
    max_count: limit.maxCount,
  }
}

/** The limit and the shared budget that refuse a payment, as reported in the refusal. */
export function refusalDetailsOf({ limit, budget }: Pick<PolicyDenial, 'limit' | 'budget'>) {
  return { ...(limit ? { limit: toRefusing(limit) } : {}), ...(budget ? { budget } : {}) }
}

function toRefusing({ id, scope, scopeId, unit, max, committed, resetsAtMs }: ExceededLimit) {
  const resets_at = toNullableTimestamp(resetsAtMs)
  return { id, scope, scope_id: scopeId, unit, max, committed, resets_at }
}
