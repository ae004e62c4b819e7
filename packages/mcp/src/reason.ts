import { compareAmounts, subtractAmounts, type Agent, type DenialCode, type Mandate } from '@purser/client'

/** Why something was not done: a code, a sentence, and a remedy. */
export interface Reason {
  readonly reason_code: string
  readonly reason_detail: string
  readonly remedy: string
}

/** What a model should do after a denial by policy. Without the mandate, it contains no figures. */
export function remedyFor(code: DenialCode, mandate: Mandate | undefined): string {
  switch (code) {
    case 'agent_revoked':
      return 'Stop buying: this agent may no longer pay. Tell the person you work for.'
    case 'mandate_expired':
      return 'Do not retry. Ask the person you work for to resume the mandate or to create a new one.'
    case 'merchant_not_allowed':
      return `Buy elsewhere: ${sellersOf(mandate)} Or ask the person you work for to allow this seller and category.`
    case 'resource_not_allowed':
      return `Buy something else: ${resourcesOf(mandate)} Or ask the person you work for to allow this URL.`
    case 'amount_exceeds_per_transaction_limit': {
      const cap = mandate ? `at most ${mandate.max_spend_per_transaction} ${mandate.currency}` : 'less'
      return `Choose something that costs ${cap}, or ask for a larger max with request_increase. Do not split a purchase to get around it.`
    }
    case 'total_budget_exceeded':
      return `${leftOf(mandate)} Choose something cheaper, or ask for a larger total with request_increase.`
    case 'velocity_limit_exceeded':
      return 'Call get_budget to see which limit is used up, and when it resets, if ever. Wait until then, choose something cheaper, or ask for a larger max of that limit with request_increase. Do not split a purchase to get around it.'
    case 'shared_budget_exceeded':
      return 'Call get_budget to see which shared limit is used up, and when it resets, if ever; other agents may use up its room first. Wait until then, choose something cheaper, or ask the person you work for: only the owner of the shared budget can raise its limits, and request_increase cannot ask for it.'
    case 'budget_frozen':
      return 'Do not retry. Ask the person you work for to unfreeze the shared budget.'
    case 'approval_required':
      return 'Do not split or change the purchase to get around it. Tell the person you work for that an owner or approver must approve it, and try again once they have.'
    default:
      return code satisfies never
  }
}

/** Describes a denial for the check, whose response has no sentence. */
export function describeDenial(code: DenialCode, mandate: Mandate, amount: string, seller: string): string {
  switch (code) {
    case 'agent_revoked':
      return 'The agent is revoked or unknown.'
    case 'mandate_expired':
      return `The mandate is ${mandate.status} and ends at ${mandate.expires_at}.`
    case 'merchant_not_allowed':
      return `${seller}, or this category, is not allowed by the mandate. ${sellersOf(mandate)}`
    case 'resource_not_allowed':
      return `This URL is not allowed by the mandate. ${resourcesOf(mandate)}`
    case 'amount_exceeds_per_transaction_limit':
      return `${amount} is more than the ${mandate.max_spend_per_transaction} allowed for one payment.`
    case 'total_budget_exceeded':
      return `${amount} exceeds what is left of the budget of ${mandate.max_spend_total}. ${leftOf(mandate)}`
    case 'velocity_limit_exceeded':
      return `${amount} does not fit into a limit of the mandate for now.`
    case 'shared_budget_exceeded':
      return `${amount} does not fit into a shared budget above the mandate for now.`
    case 'budget_frozen':
      return 'A shared budget above the mandate is frozen.'
    case 'approval_required':
      return `A person must approve a payment of ${amount} to ${seller}.`
    default:
      return code satisfies never
  }
}

/** What is neither spent, held nor authorized, in the mandate's currency. */
export function spendableNow({ remaining_budget, held_total, authorized_total }: Mandate): string {
  return subtractAmounts(subtractAmounts(remaining_budget, held_total), authorized_total)
}

/** What a mandate is worth to its agent now; only an `active` one can be spent. */
export function statusNow(mandate: Mandate, agent: Pick<Agent, 'status'>): MandateStatusNow {
  if (mandate.status === 'active' && !(Date.parse(mandate.expires_at) > Date.now())) return 'expired'
  return agent.status === 'revoked' && mandate.status !== 'revoked' ? 'agent_revoked' : mandate.status
}

export const mandateStatusesNow = ['active', 'paused', 'revoked', 'expired', 'agent_revoked'] as const
type MandateStatusNow = (typeof mandateStatusesNow)[number]

function leftOf(mandate: Mandate | undefined): string {
  if (!mandate) return 'The budget is used up.'
  const held =
    compareAmounts(mandate.held_total, '0') > 0
      ? `, and up to ${mandate.held_total} more if open payments end uncharged, within six minutes`
      : ''
  const authorized =
    compareAmounts(mandate.authorized_total, '0') > 0
      ? `; ${mandate.authorized_total} is authorized, and merchants may charge it until their deadlines`
      : ''
  return `${spendableNow(mandate)} ${mandate.currency} can be spent now${held}${authorized}.`
}

function sellersOf(mandate: Mandate | undefined): string {
  if (!mandate) return 'get_budget lists the allowed sellers.'
  const sellers = mandate.allowed_sellers.join(', ') || 'none'
  const categories = mandate.allowed_categories.join(', ') || 'any'
  return `Allowed sellers: ${sellers}; categories: ${categories}.`
}

function resourcesOf(mandate: Mandate | undefined): string {
  if (!mandate) return 'get_budget lists the allowed URLs.'
  return `Allowed URLs: ${mandate.allowed_resources.join(', ') || 'any'}.`
}
