import type { Mandate, MandateAmendment } from '@purser/client'

import { readMicro } from '../../text/amounts.ts'
import { limitDraftOf, newLimitOf } from '../budgets/limit-draft.ts'
import {
  draftOf,
  termsOf,
  type LimitTerms,
  type MandateDraft,
  type TermName,
  type Terms,
} from './mandate-draft.ts'

/** Whether a change allows more than before, less, or both, or is only text that people read. */
export type Direction = 'more' | 'less' | 'both' | 'neither'

/** A term before and after. */
export interface TermChange {
  readonly name: TermName
  readonly before: Terms
  readonly after: Terms
  readonly direction: Direction
}

/** The terms of a mandate, or of a version, with limits as they are requested. */
export function termsOfMandate(mandate: Pick<Mandate, TermName>): Terms {
  return { ...mandate, limits: mandate.limits.map((limit) => newLimitOf(limitDraftOf(limit))) }
}

/** The terms that a form changes. A field that nobody touched changes nothing, even if it cannot show all of its term. */
export function changesTyped(mandate: Mandate, draft: MandateDraft): readonly TermChange[] {
  return changesOf(termsOf(draftOf(mandate)), termsOf(draft))
}

/** The terms that differ, in the order in which the form shows them. */
export function changesOf(before: Terms, after: Terms): readonly TermChange[] {
  return termNames
    .filter((name) => !isSame(name, before, after))
    .map((name) => ({ name, before, after, direction: directionOf(name, before, after) }))
}

/** The changes as the service takes them. */
export function amendmentOf(changes: readonly TermChange[]): MandateAmendment {
  return Object.fromEntries(changes.map(({ name, after }) => [name, after[name]]))
}

const termNames = [
  'purpose',
  'max_spend_total',
  'max_spend_per_transaction',
  'allowed_sellers',
  'allowed_categories',
  'expires_at',
  'limits',
  'budget_id',
  'approval',
  'allowed_resources',
  'category_check',
  'metadata',
] as const satisfies readonly TermName[]

function isSame(name: TermName, before: Terms, after: Terms): boolean {
  if (name === 'max_spend_total' || name === 'max_spend_per_transaction')
    return readMicro(before[name]) === readMicro(after[name])
  // The form shows minutes.
  if (name === 'expires_at') return minuteOf(before.expires_at) === minuteOf(after.expires_at)
  if (name === 'metadata') return sorted(before.metadata) === sorted(after.metadata)
  return JSON.stringify(before[name]) === JSON.stringify(after[name])
}

function minuteOf(at: string): number {
  return Math.floor(Date.parse(at) / 60_000)
}

function sorted(metadata: Terms['metadata']): string {
  return JSON.stringify(Object.entries(metadata).toSorted(([one], [other]) => one.localeCompare(other)))
}

function directionOf(name: TermName, before: Terms, after: Terms): Direction {
  const isWider = widens[name]
  if (isWider === undefined) return 'neither'
  const [more, less] = [isWider(before, after), isWider(after, before)]
  return more ? (less ? 'both' : 'more') : less ? 'less' : 'neither'
}

/** For each term, whether the second allows something that the first does not: the rules of the service. */
const widens: Partial<Record<TermName, (before: Terms, after: Terms) => boolean>> = {
  max_spend_total: (before, after) => isAbove(after.max_spend_total, before.max_spend_total),
  max_spend_per_transaction: (before, after) =>
    isAbove(after.max_spend_per_transaction, before.max_spend_per_transaction),
  allowed_sellers: (before, after) => !isWithin(before.allowed_sellers, after.allowed_sellers),
  allowed_categories: (before, after) =>
    !isWithin(anyIfEmpty(before.allowed_categories), anyIfEmpty(after.allowed_categories)),
  allowed_resources: (before, after) => !areCovered(before.allowed_resources, after.allowed_resources),
  category_check: (before, after) =>
    before.category_check === 'enforced' && after.category_check !== 'enforced',
  limits: (before, after) =>
    before.limits.some((old) => !after.limits.some((limit) => isTighter(limit, old))),
  expires_at: (before, after) => Date.parse(after.expires_at) > Date.parse(before.expires_at),
  approval: (before, after) => asksLess(before.approval, after.approval),
}

function isAbove(one: string, other: string): boolean {
  return (readMicro(one) ?? 0n) > (readMicro(other) ?? 0n)
}

function isWithin(allowed: readonly string[], entries: readonly string[]): boolean {
  const known = new Set(allowed.map((entry) => entry.toLowerCase()))
  return known.has('*') || entries.every((entry) => known.has(entry.toLowerCase()))
}

/** An empty list of categories allows every category. */
function anyIfEmpty(categories: readonly string[]): readonly string[] {
  return categories.length === 0 ? ['*'] : categories
}

/** Whether each pattern is covered by one of those before; an empty list covers every URL. */
function areCovered(before: readonly string[], after: readonly string[]): boolean {
  if (before.length === 0) return true
  if (after.length === 0) return false
  return after.every((pattern) =>
    before.some((old) => old === pattern || (old.endsWith('*') && pattern.startsWith(old.slice(0, -1)))),
  )
}

/** Whether a limit counts the same as an old one, and allows no more. */
function isTighter(limit: LimitTerms, old: LimitTerms): boolean {
  if (limit.per !== old.per || JSON.stringify(limit.window) !== JSON.stringify(old.window)) return false
  if (old.max_amount !== null && (limit.max_amount === null || isAbove(limit.max_amount, old.max_amount)))
    return false
  if (old.max_count !== null && (limit.max_count === null || limit.max_count > old.max_count)) return false
  return strictness.indexOf(limit.action) >= strictness.indexOf(old.action)
}

const strictness: readonly LimitTerms['action'][] = ['notify', 'require_approval', 'deny']

/** Whether people are asked less often than before, or fewer of them. */
function asksLess(before: Terms['approval'], after: Terms['approval']): boolean {
  if (!before) return false
  if (!after) return true
  if (before.above !== null && (after.above === null || isAbove(after.above, before.above))) return true
  return (
    (before.first_purchase_at_seller && !after.first_purchase_at_seller) || after.required < before.required
  )
}

/** Applies what was typed over earlier terms to the current ones: a field that was not changed shows what is in force. */
export function mergeDraft(typed: MandateDraft, over: MandateDraft, current: MandateDraft): MandateDraft {
  const fields = Object.keys(current) as (keyof MandateDraft)[]
  const changed = fields.filter((field) => JSON.stringify(typed[field]) !== JSON.stringify(over[field]))
  return { ...current, ...Object.fromEntries(changed.map((field) => [field, typed[field]])) }
}
