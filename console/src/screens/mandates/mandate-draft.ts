import {
  sellerWarning,
  type Limit,
  type Mandate,
  type MandateAmendment,
  type NewMandate,
} from '@purser/client'

import { amountInWords, readMicro } from '../../text/amounts.ts'
import { limitInWords } from '../../text/limits.ts'
import { approvalInWords } from '../../text/terms.ts'
import { clockMinute, dayMs } from '../../text/times.ts'
import { limitDraftOf, limitFaults, newLimitOf, type LimitDraft } from '../budgets/limit-draft.ts'
import { categoryRule } from './category-rule.ts'

/** The form state of a mandate, as text. */
export interface MandateDraft {
  readonly agentId: string
  readonly purpose: string
  readonly total: string
  readonly cap: string
  readonly sellers: string
  readonly categories: string
  /** The value of `<input type="datetime-local">`: local time without a zone. */
  readonly expiresLocal: string
  /** Allowed URLs, one a line. */
  readonly resources: string
  readonly isCategoryEnforced: boolean
  readonly limits: readonly LimitDraft[]
  /** Empty for no shared budget. */
  readonly budgetId: string
  /** An amount; empty if no amount needs approval. */
  readonly approvalAbove: string
  readonly approvalFirst: boolean
  readonly approvalRequired: '1' | '2'
  /** An entry a line: `project: apollo`. */
  readonly metadata: string
  /** Not a field of the form: that of the mandate that is duplicated. */
  readonly maxCaptureSeconds?: number | undefined
}

/** The terms that the form shows. */
export type TermName = Exclude<keyof MandateAmendment, 'end_holds'>
export type Terms = Pick<Mandate, Exclude<TermName, 'limits'>> & { readonly limits: readonly LimitTerms[] }
export type LimitTerms = Omit<Limit, 'id'>

/** An empty form; a mandate lasts 30 days by default. */
export function emptyDraft(nowMs: number): MandateDraft {
  return {
    agentId: '',
    purpose: '',
    total: '',
    cap: '',
    sellers: '',
    categories: '',
    expiresLocal: localText(nowMs + 30 * dayMs),
    resources: '',
    isCategoryEnforced: false,
    limits: [],
    budgetId: '',
    approvalAbove: '',
    approvalFirst: false,
    approvalRequired: '1',
    metadata: '',
  }
}

/** The form with another mandate's terms, all of them, so that the copy allows no more; a past expiry is moved 30 days ahead. */
export function draftLike(mandate: Mandate, nowMs: number): MandateDraft {
  const draft = draftOf(mandate)
  const isPast = !(Date.parse(mandate.expires_at) > nowMs)
  return isPast ? { ...draft, expiresLocal: localText(nowMs + 30 * dayMs) } : draft
}

/** The form with the terms of a mandate. */
export function draftOf(mandate: Mandate): MandateDraft {
  const { approval } = mandate
  return {
    agentId: mandate.agent_id,
    purpose: mandate.purpose,
    total: mandate.max_spend_total,
    cap: mandate.max_spend_per_transaction,
    sellers: mandate.allowed_sellers.join('\n'),
    categories: mandate.allowed_categories.join(', '),
    expiresLocal: localText(Date.parse(mandate.expires_at)),
    resources: mandate.allowed_resources.join('\n'),
    isCategoryEnforced: mandate.category_check === 'enforced',
    limits: mandate.limits.map(limitDraftOf),
    budgetId: mandate.budget_id ?? '',
    approvalAbove: approval?.above ?? '',
    approvalFirst: approval?.first_purchase_at_seller ?? false,
    approvalRequired: approval?.required === 2 ? '2' : '1',
    metadata: metadataText(mandate.metadata),
    maxCaptureSeconds: mandate.max_capture_seconds,
  }
}

/** The request body. The draft must be valid. */
export function newMandateOf(draft: MandateDraft): NewMandate {
  const { agentId, maxCaptureSeconds } = draft
  const { limits, ...terms } = termsOf(draft)
  return {
    agent_id: agentId,
    ...terms,
    limits: [...limits],
    ...(maxCaptureSeconds === undefined ? {} : { max_capture_seconds: maxCaptureSeconds }),
  }
}

/** The terms of a draft. It must be valid. */
export function termsOf(draft: MandateDraft): Terms {
  return {
    purpose: draft.purpose.trim(),
    max_spend_total: draft.total.trim(),
    max_spend_per_transaction: draft.cap.trim(),
    allowed_sellers: sellersOf(draft),
    allowed_categories: categoriesOf(draft),
    allowed_resources: unique(draft.resources.split(/\s+/)),
    category_check: draft.isCategoryEnforced ? 'enforced' : 'advisory',
    limits: draft.limits.map(newLimitOf),
    budget_id: draft.budgetId === '' ? null : draft.budgetId,
    approval: approvalOf(draft),
    metadata: metadataOf(draft) ?? {},
    expires_at: new Date(draft.expiresLocal).toISOString(),
  }
}

function approvalOf({ approvalAbove, approvalFirst, approvalRequired }: MandateDraft): Mandate['approval'] {
  const above = approvalAbove.trim() === '' ? null : approvalAbove.trim()
  if (above === null && !approvalFirst) return null
  return { above, first_purchase_at_seller: approvalFirst, required: Number(approvalRequired) }
}

/** Undefined if a line has no key. */
function metadataOf({ metadata }: MandateDraft): Record<string, string> | undefined {
  const entries: [string, string][] = []
  for (const line of metadata.split('\n').filter((one) => one.trim() !== '')) {
    const colon = line.includes(': ') ? line.indexOf(': ') : line.indexOf(':')
    const key = line.slice(0, colon).trim()
    if (colon < 0 || key === '') return undefined
    const value = line.slice(colon + 1).trim()
    entries.push([key, value.replaceAll(/\\[n\\]/g, (sign) => (sign === '\\n' ? '\n' : '\\'))])
  }
  return Object.fromEntries(entries)
}

/** A line for each entry; a line break in a value is written as `\n`. */
function metadataText(metadata: Mandate['metadata']): string {
  return Object.entries(metadata)
    .map(([key, value]) => `${key}: ${value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`)
    .join('\n')
}

/** Validation errors by field name of the interface. */
export function draftFaults(draft: MandateDraft): Partial<Record<keyof NewMandate, string>> {
  const amountFault = 'An amount such as 10.00, with at most six decimals.'
  const { approvalAbove, limits } = draft
  return {
    ...(draft.agentId === '' ? { agent_id: 'Choose the agent that may spend.' } : {}),
    ...(readMicro(draft.total) === undefined ? { max_spend_total: amountFault } : {}),
    ...(readMicro(draft.cap) === undefined ? { max_spend_per_transaction: amountFault } : {}),
    ...(Number.isNaN(Date.parse(draft.expiresLocal)) ? { expires_at: 'Enter a date and a time.' } : {}),
    ...(approvalAbove.trim() !== '' && readMicro(approvalAbove) === undefined
      ? { approval: amountFault }
      : {}),
    ...(metadataOf(draft) === undefined ? { metadata: 'One entry per line, such as project: apollo.' } : {}),
    ...(limits.some((limit) => Object.keys(limitFaults(limit)).length > 0)
      ? { limits: 'A limit is not complete.' }
      : {}),
  }
}

/** Whether a draft uses any of the rules that the form shows behind a disclosure. */
export function hasMoreRules(draft: MandateDraft): boolean {
  const { resources, isCategoryEnforced, limits, budgetId, approvalAbove, approvalFirst, metadata } = draft
  const texts = [resources, budgetId, approvalAbove, metadata]
  return isCategoryEnforced || approvalFirst || limits.length > 0 || texts.some((text) => text.trim() !== '')
}

/** A one-sentence summary of what the mandate will allow. */
export function sentenceOf(draft: MandateDraft, agentName: string | undefined, budgetName?: string): string {
  const sellers = sellersOf(draft)
  const categories = categoriesOf(draft)
  const expiresMs = Date.parse(draft.expiresLocal)
  const who = agentName ?? 'The agent'
  if (sellers.length === 0) return `${who} cannot buy anything: no seller is allowed.`
  const where = sellers.includes('*') ? 'any seller' : listed(sellers)
  const what =
    categories.length === 0 || categories.includes('*') ? '' : `, in the ${listed(categories)} category only`
  const until = Number.isNaN(expiresMs) ? 'a time still to be chosen' : clockMinute(draft.expiresLocal)
  return `${who} may spend up to ${amountOf(draft.total)} in total, at most ${amountOf(draft.cap)} per payment, at ${where}${what}, until ${until}.${rulesIn(draft, budgetName)}`
}

/** Its other restrictions: a sentence for each rule. */
function rulesIn(draft: MandateDraft, budgetName: string | undefined): string {
  const limits = draft.limits.filter((limit) => Object.keys(limitFaults(limit)).length === 0)
  const approval = readMicro(draft.approvalAbove || '0') === undefined ? null : approvalOf(draft)
  const resources = unique(draft.resources.split(/\s+/))
  return [
    ...limits.map((limit) => {
      const words = limitInWords(newLimitOf(limit))
      return `It pays ${words}${endings[limit.action]}.`
    }),
    ...(draft.budgetId === '' ? [] : [`Its payments count in the shared budget ${budgetName ?? '…'}.`]),
    ...(approval ? [`A person must approve payments ${approvalInWords(approval)}.`] : []),
    ...(resources.length === 0 ? [] : [`Only these URLs: ${listed(resources)}.`]),
    ...(draft.isCategoryEnforced ? ['No payment without an allowed category.'] : []),
  ]
    .map((sentence) => ` ${sentence}`)
    .join('')
}

const endings = {
  deny: '',
  require_approval: '; beyond that, a person must approve',
  notify: '; beyond that, it still pays, and an event is recorded',
} as const

/** Warnings about likely mistakes. The service allows all of them. */
export function warningsOf(draft: MandateDraft, nowMs: number): string[] {
  const sellers = sellersOf(draft)
  const categories = categoriesOf(draft)
  const totalMicro = readMicro(draft.total)
  const capMicro = readMicro(draft.cap)
  const expiresMs = Date.parse(draft.expiresLocal)
  const warnings: string[] = []
  if (sellers.includes('*')) warnings.push('* allows every seller, including ones you do not know.')
  if (sellers.length === 0) warnings.push('No seller is listed: every payment will be denied.')
  warnings.push(...sellers.map(sellerWarning).filter((warning) => warning !== undefined))
  if (totalMicro !== undefined && capMicro !== undefined && capMicro > totalMicro) {
    warnings.push('The cap for one payment is above the total budget, so a single payment can use all of it.')
  }
  if (!draft.isCategoryEnforced && categories.length > 0 && !categories.includes('*')) {
    warnings.push(
      `The category limit does not stop a payment by itself. ${categoryRule} To limit payments, list the sellers.`,
    )
  }
  if (totalMicro === 0n) warnings.push('A total budget of zero allows no payment.')
  if (expiresMs <= nowMs) warnings.push('This time is in the past: the mandate would already be expired.')
  if (expiresMs - nowMs > 366 * dayMs) {
    warnings.push('It is valid for more than a year. A shorter time limits what a stolen key can do.')
  }
  return warnings
}

/** Domains contain no spaces. */
function sellersOf({ sellers }: MandateDraft): string[] {
  return unique(sellers.split(/[\s,]+/))
}

/** Categories may contain spaces: `office supplies`. */
function categoriesOf({ categories }: MandateDraft): string[] {
  return unique(categories.split(/[\n,]+/))
}

function unique(entries: readonly string[]): string[] {
  return [...new Set(entries.map((entry) => entry.trim()).filter((entry) => entry !== ''))]
}

function amountOf(text: string): string {
  return readMicro(text) === undefined ? '… USDC' : `${amountInWords(text.trim())} USDC`
}

const spelledOut = 4

function listed(entries: readonly string[]): string {
  const shown = entries.slice(0, spelledOut)
  const more = entries.length - shown.length
  return new Intl.ListFormat('en', { type: 'disjunction' }).format([
    ...shown,
    ...(more > 0 ? [`${more} more`] : []),
  ])
}

function localText(timeMs: number): string {
  const offsetMs = new Date(timeMs).getTimezoneOffset() * 60_000
  return new Date(timeMs - offsetMs).toISOString().slice(0, 16)
}
