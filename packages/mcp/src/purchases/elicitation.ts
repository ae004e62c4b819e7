import { createHash } from 'node:crypto'

import { acceptedContent, inputResponse, type ElicitRequestFormParams } from '@modelcontextprotocol/server'
import { compareAmounts, subtractAmounts } from '@purser/client'
import { z } from 'zod'

import { spendableNow, type Reason } from '../reason.ts'
import { quoted } from '../web/bounded.ts'
import type { Approval, ApprovalQuestion } from './approval.ts'
import { fingerprintOf } from './order.ts'
import type { Bill } from './purchase-records.ts'

/** A form for the person behind an MCP client. */
export interface Elicitation {
  /** Identifies the question: the same purchase at the same price. */
  readonly key: string
  readonly form: Pick<ElicitRequestFormParams, 'message' | 'requestedSchema'>
}

interface ElicitationOptions {
  /** Payments above it need an approval. */
  readonly askAbove: string
  /** Whether the client supports forms. */
  readonly canAsk: boolean
  /** The answers to this call's forms, by key; `unanswered` if there was none. */
  readonly answers: Readonly<Record<string, unknown>>
}

export const unanswered = 'unanswered'

/**
 * Asks the person behind an MCP client, one question per call. The first round returns the question, the second
 * brings the answer. Nothing is held in between, and an answer counts only for the exact bill that was shown.
 */
export class ElicitedApproval implements Approval {
  readonly #options: ElicitationOptions
  #pending: Elicitation | undefined

  constructor(options: ElicitationOptions) {
    this.#options = options
  }

  /** The question that must be answered before the purchase can continue. */
  get pending(): Elicitation | undefined {
    return this.#pending
  }

  isNeeded({ amount }: Bill): boolean {
    return compareAmounts(amount, this.#options.askAbove) > 0
  }

  ask(question: ApprovalQuestion): Reason | undefined {
    const { askAbove, canAsk, answers } = this.#options
    const { bill } = question
    if (!canAsk) return cannotAsk(bill, askAbove)
    const key = keyOf(question)
    if (!(key in answers)) {
      if (Object.keys(answers).some((other) => other.startsWith(keyPrefix))) return changed
      this.#pending = { key, form: formOf(question) }
      return beingAsked
    }
    if (answers[key] === unanswered) return notAnswered(bill)
    const answer = inputResponse(answers, key)
    if (answer.kind === 'elicit' && answer.action === 'cancel') return dismissed(bill)
    return acceptedContent(answers, key, Answer)?.approve === true ? undefined : declined(bill)
  }
}

const Answer = z.object({ approve: z.boolean() })

const keyPrefix = 'approve_'

function keyOf({ order, bill }: ApprovalQuestion): string {
  const { amount, currency, resource_url, merchant_domain, mandate_id } = bill
  const asked = [amount, currency, resource_url, merchant_domain, mandate_id]
  const text = JSON.stringify([order.purchaseId, fingerprintOf(order), asked])
  return keyPrefix + createHash('sha256').update(text).digest('base64url').slice(0, 22)
}

/** The merchant's and the model's text is quoted, on separate lines. */
function formOf({ order, bill, mandate }: ApprovalQuestion): Elicitation['form'] {
  const { amount, currency } = bill
  const price = `${amount} ${currency}`
  const left = spendableNow(mandate)
  const after = compareAmounts(left, amount) < 0 ? '0.00' : subtractAmounts(left, amount)
  const message = [
    `An agent wants to pay ${price}.`,
    `To: ${quoted(bill.merchant_domain, maxQuoted)}`,
    `For: ${order.method} ${quoted(bill.resource_url, maxQuoted)}`,
    `Purchase id: ${quoted(order.purchaseId, maxQuoted)}`,
    `Mandate: ${quoted(mandate.purpose, maxQuoted)}`,
    `Budget left: ${left} ${mandate.currency}; after this payment: ${after} ${mandate.currency}`,
  ].join('\n')
  const approve = {
    type: 'boolean' as const,
    title: `Pay ${price}`,
    description: 'Nothing is paid unless you say yes.',
  }
  return { message, requestedSchema: { type: 'object', properties: { approve }, required: ['approve'] } }
}

const maxQuoted = 300

function priceOf({ amount, currency, merchant_domain: seller }: Bill): string {
  return `${amount} ${currency} to ${seller}`
}

function cannotAsk(bill: Bill, askAbove: string): Reason {
  return {
    reason_code: 'approval_not_possible',
    reason_detail: `A person must approve payments above ${askAbove} ${bill.currency}, and this MCP client cannot show the question about ${priceOf(bill)}.`,
    remedy:
      'Nothing was charged. Choose something cheaper, but do not split the purchase. Or tell the person you work for: this ' +
      'needs an MCP client that supports elicitation (form mode; over HTTP, protocol revision 2026-07-28), or a higher ' +
      'PURSER_MCP_ASK_ABOVE.',
  }
}

const beingAsked: Reason = {
  reason_code: 'approval_pending',
  reason_detail: 'A person is being asked to approve this purchase.',
  remedy: 'Nothing was charged. Wait for the answer to the other call with this purchase_id.',
}

const changed: Reason = {
  reason_code: 'changed_since_approval',
  reason_detail: 'The merchant changed its price or terms while a person was being asked.',
  remedy: 'Nothing was charged. Call again with the same arguments, and the person will be asked again.',
}

function declined(bill: Bill): Reason {
  return {
    reason_code: 'approval_declined',
    reason_detail: `The person who was asked did not approve ${priceOf(bill)}.`,
    remedy:
      'Nothing was charged. Do not retry or buy the same thing in another way, unless the person tells you to.',
  }
}

function dismissed(bill: Bill): Reason {
  return {
    reason_code: 'approval_dismissed',
    reason_detail: `The question about ${priceOf(bill)} was closed without an answer.`,
    remedy:
      'Nothing was charged. Ask the person you work for; if they agree, call again with the same arguments.',
  }
}

function notAnswered(bill: Bill): Reason {
  return {
    reason_code: 'approval_not_answered',
    reason_detail: `Nobody answered the question about ${priceOf(bill)} in time.`,
    remedy:
      'Nothing was charged. Ask the person you work for; if they agree, call again with the same arguments.',
  }
}
