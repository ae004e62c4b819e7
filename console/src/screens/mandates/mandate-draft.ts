import { sellerWarning, type Mandate, type NewMandate } from '@purser/client'

import { amountInWords, readMicro } from '../../text/amounts.ts'
import { clockMinute } from '../../text/times.ts'
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
  /** Terms that the form does not show as fields: those of the mandate that is duplicated. */
  readonly copied: CopiedTerms
}

type CopiedTerms = Pick<
  NewMandate,
  | 'allowed_resources'
  | 'category_check'
  | 'limits'
  | 'budget_id'
  | 'approval'
  | 'max_capture_seconds'
  | 'metadata'
>

const dayMs = 24 * 3_600_000

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
    copied: {},
  }
}

/** The form with another mandate's terms, all of them, so that the copy allows no more; a past expiry is moved 30 days ahead. */
export function draftLike(mandate: Mandate, nowMs: number): MandateDraft {
  const expiresMs = Date.parse(mandate.expires_at)
  return {
    agentId: mandate.agent_id,
    purpose: mandate.purpose,
    total: mandate.max_spend_total,
    cap: mandate.max_spend_per_transaction,
    sellers: mandate.allowed_sellers.join('\n'),
    categories: mandate.allowed_categories.join(', '),
    expiresLocal: localText(expiresMs > nowMs ? expiresMs : nowMs + 30 * dayMs),
    copied: {
      allowed_resources: mandate.allowed_resources,
      category_check: mandate.category_check,
      limits: mandate.limits.map(({ id: _id, ...limit }) => limit),
      budget_id: mandate.budget_id,
      approval: mandate.approval,
      max_capture_seconds: mandate.max_capture_seconds,
      metadata: mandate.metadata,
    },
  }
}

/** The request body. The draft must be valid. */
export function newMandateOf(draft: MandateDraft): NewMandate {
  return {
    ...draft.copied,
    agent_id: draft.agentId,
    purpose: draft.purpose.trim(),
    max_spend_total: draft.total.trim(),
    max_spend_per_transaction: draft.cap.trim(),
    allowed_sellers: sellersOf(draft),
    allowed_categories: categoriesOf(draft),
    expires_at: new Date(draft.expiresLocal).toISOString(),
  }
}

/** Validation errors by field name of the interface. */
export function draftFaults(draft: MandateDraft): Partial<Record<keyof NewMandate, string>> {
  const amountFault = 'An amount such as 10.00, with at most six decimals.'
  return {
    ...(draft.agentId === '' ? { agent_id: 'Choose the agent that may spend.' } : {}),
    ...(readMicro(draft.total) === undefined ? { max_spend_total: amountFault } : {}),
    ...(readMicro(draft.cap) === undefined ? { max_spend_per_transaction: amountFault } : {}),
    ...(Number.isNaN(Date.parse(draft.expiresLocal)) ? { expires_at: 'Enter a date and a time.' } : {}),
  }
}

/** A one-sentence summary of what the mandate will allow. */
export function sentenceOf(draft: MandateDraft, agentName: string | undefined): string {
  const sellers = sellersOf(draft)
  const categories = categoriesOf(draft)
  const expiresMs = Date.parse(draft.expiresLocal)
  const who = agentName ?? 'The agent'
  if (sellers.length === 0) return `${who} cannot buy anything: no seller is allowed.`
  const where = sellers.includes('*') ? 'any seller' : listed(sellers)
  const what =
    categories.length === 0 || categories.includes('*') ? '' : `, in the ${listed(categories)} category only`
  const until = Number.isNaN(expiresMs) ? 'a time still to be chosen' : clockMinute(draft.expiresLocal)
  return `${who} may spend up to ${amountOf(draft.total)} in total, at most ${amountOf(draft.cap)} per payment, at ${where}${what}, until ${until}.${copiedIn(draft)}`
}

/** What restricts a duplicate beside the fields of the form. */
function copiedIn({ copied }: MandateDraft): string {
  const names = [
    copied.allowed_resources?.length ? 'allowed URLs' : '',
    copied.category_check === 'enforced' ? 'enforced categories' : '',
    copied.limits?.length ? 'limits over time' : '',
    copied.budget_id == null ? '' : 'shared budget',
    copied.approval == null ? '' : 'approval terms',
  ].filter((name) => name !== '')
  if (names.length === 0) return ''
  return ` It keeps the original’s ${new Intl.ListFormat('en').format(names)}.`
}

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
  const isAdvisory = draft.copied.category_check !== 'enforced'
  if (isAdvisory && categories.length > 0 && !categories.includes('*')) {
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
