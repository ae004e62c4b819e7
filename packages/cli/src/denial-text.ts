import type { DenialCode } from '@purser/client'

/** The parts of the request that a denial can be about. */
interface Asked {
  readonly merchant: string
  readonly amount: string
  readonly mandate: string
  /** What is left of the mandate's budget, with its currency. */
  readonly left: string
  /** How this command was invoked. */
  readonly calledAs: string
}

/** A denial as a sentence, for verify-agent, which returns only a code. */
export function denialWords(code: DenialCode, { merchant, amount, mandate, left, calledAs }: Asked): string {
  const seeMandate = `${calledAs} mandates show ${mandate}`
  switch (code) {
    case 'agent_revoked':
      return 'The agent is revoked or unknown; use another agent.'
    case 'mandate_expired':
      return `The mandate is paused, revoked, expired, or not of this agent; ${seeMandate} says which.`
    case 'merchant_not_allowed':
      return `The mandate does not allow ${merchant} or the category; ${seeMandate} lists what it allows.`
    case 'resource_not_allowed':
      return `The mandate does not allow the URL of the resource; ${seeMandate} lists the allowed ones.`
    case 'amount_exceeds_per_transaction_limit':
      return `${amount} is more than the mandate allows per payment; ${seeMandate} shows the limit.`
    case 'total_budget_exceeded':
      return `${amount} is more than what is left of the budget, ${left}, minus what open proofs hold.`
    case 'velocity_limit_exceeded':
      return `${amount} does not fit into a limit of the mandate for now; ${seeMandate} shows when there is room again.`
    case 'shared_budget_exceeded':
      return `${amount} does not fit into a shared budget above the mandate for now; ${seeMandate} shows its limits.`
    case 'budget_frozen':
      return 'A shared budget above the mandate is frozen; its owner can unfreeze it.'
    case 'approval_required':
      return `A person must approve this payment; ${calledAs} approvals list shows what waits for a decision.`
    default:
      return code satisfies never
  }
}
