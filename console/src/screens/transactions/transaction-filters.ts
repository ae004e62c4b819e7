import type { ListConsoleTransactionsQuery } from '@purser/client'

import { denialWords } from '../../text/reasons.ts'
import { clockMinute } from '../../text/times.ts'
import { choiceFault, given, textOf, timeFault, type Chip, type Choice } from '../filters.ts'

export const filterNames = [
  'status',
  'reason_code',
  'agent_id',
  'mandate_id',
  'merchant_domain',
  'direction',
  'since',
  'from',
  'to',
] as const

type Values = Partial<Record<(typeof filterNames)[number], string>>

export const statusOptions: readonly Choice[] = [
  { value: '', text: 'Every status' },
  { value: 'paid', text: 'Paid' },
  { value: 'refunded', text: 'Refunded' },
  { value: 'denied', text: 'Denied' },
  { value: 'approved', text: 'Approved' },
]

export const directionOptions: readonly Choice[] = [
  { value: '', text: 'Both directions' },
  { value: 'sent', text: 'By your agents' },
  { value: 'received', text: 'Received by your sellers' },
]

export const reasonOptions: readonly Choice[] = [
  { value: '', text: 'Every reason' },
  ...Object.entries(denialWords).map(([value, text]) => ({ value, text })),
]

/** An error message for invalid filters in a URL. */
export function faultIn({
  status = '',
  reason_code = '',
  direction = '',
  since = '',
  from = '',
  to = '',
}: Values): string | undefined {
  return (
    choiceFault('status', statusOptions, status) ??
    choiceFault('reason', reasonOptions, reason_code) ??
    choiceFault('direction', directionOptions, direction) ??
    timeFault(since) ??
    dayFault(from) ??
    dayFault(to) ??
    orderFault({ since, from, to })
  )
}

function dayFault(value: string): string | undefined {
  if (value === '' || (/^\d{4}-\d{2}-\d{2}$/.test(value) && timeFault(value) === undefined)) return undefined
  return `“${value}” is not a day, such as 2026-11-21.`
}

function orderFault(values: Values): string | undefined {
  const { created_from, created_before } = queryOf(values)
  if (!created_from || !created_before || created_from < created_before) return undefined
  return `“${values.since ? 'Since' : 'From'}” is after “To”: no transaction can be between them.`
}

/** The active filters for display. */
export function chipsOf(
  values: Values,
  { agents, mandates }: { readonly agents: readonly Choice[]; readonly mandates: readonly Choice[] },
): Chip[] {
  const words: Record<(typeof filterNames)[number], readonly [string, (value: string) => string]> = {
    status: ['Status', (value) => textOf(statusOptions, value)],
    reason_code: ['Reason', (value) => textOf(reasonOptions, value)],
    agent_id: ['Agent', (value) => textOf(agents, value)],
    mandate_id: ['Mandate', (value) => textOf(mandates, value)],
    merchant_domain: ['Seller', (value) => value],
    direction: ['Direction', (value) => textOf(directionOptions, value)],
    since: ['Since', clockMinute],
    from: ['From', (value) => value],
    to: ['To', (value) => value],
  }
  return filterNames.flatMap((name) => {
    const value = values[name] ?? ''
    const [label, inWords] = words[name]
    return value === '' ? [] : [{ label, value: inWords(value), names: [name] }]
  })
}

/** The filters for the list and the export. Days are whole days in local time. */
export function queryOf({ since, from, to, ...rest }: Values): ListConsoleTransactionsQuery {
  const created_from = since ? new Date(since).toISOString() : startOfDay(from, 0)
  const created_before = startOfDay(to, 1)
  return {
    ...(given(rest as Record<string, string>) as ListConsoleTransactionsQuery),
    ...(created_from ? { created_from } : {}),
    ...(created_before ? { created_before } : {}),
  }
}

function startOfDay(day: string | undefined, daysLater: number): string | undefined {
  const [year, month, date] = (day ?? '').split('-').map(Number)
  if (!year || !month || !date) return undefined
  return new Date(year, month - 1, date + daysLater).toISOString()
}
