import type { DenialCode } from '@purser/client'

/** What was asked for, as far as a denial is about it. */
interface Asked {
  readonly merchant: string
  readonly amount: string
  readonly mandate: string
  /** What is left of the mandate's budget, with its currency. */
  readonly left: string
  /** How this command is called. */
  readonly calledAs: string
}

/** A denial in a sentence, for the check that the service answers without one. */
export function denialWords(code: DenialCode, { merchant, amount, mandate, left, calledAs }: Asked): string {
  const seeMandate = `${calledAs} mandates show ${mandate}`
  switch (code) {
    case 'agent_revoked':
      return 'The agent is revoked, or there is none of this id; use another agent.'
    case 'mandate_expired':
      return `The mandate is paused, revoked, past its end, or none of this agent; ${seeMandate} tells which.`
    case 'merchant_not_allowed':
      return `${merchant}, or the category, is not allowed by the mandate; ${seeMandate} lists what is.`
    case 'amount_exceeds_per_transaction_limit':
      return `${amount} is more than the mandate allows for one payment; ${seeMandate} tells the most.`
    case 'total_budget_exceeded':
      return `${amount} is more than what is left of the budget, ${left}, after what is held by payments under way.`
    default:
      return code satisfies never
  }
}
