import type { PaymentChallenge, PaymentDecision, PaymentResult, ProofRecord } from '@purser/client'

import type { Io } from '../io.ts'
import { harmless } from '../output/harmless.ts'

/**
 * The request and the decision; `maxAmount` is the buyer's own limit, from `--max-amount`. Line ends in texts of the
 * merchant are escaped, so that it adds no lines of its own.
 */
export function decisionWords(decision: PaymentDecision, maxAmount: string | undefined): string {
  return decisionLines(decision, maxAmount).map(harmless).join('\n')
}

function decisionLines(decision: PaymentDecision, maxAmount: string | undefined): string[] {
  const asked = decision.challenge ? [`Asked for: ${priceOf(decision.challenge)}`] : []
  switch (decision.outcome) {
    case 'approved':
      return [...asked, 'Decision:  approved']
    case 'denied':
      return [
        ...asked,
        `Decision:  denied, ${decision.reason_code}: ${decision.reason_detail}`,
        ...approvalLines(decision.approval),
      ]
    case 'skipped':
      return [...asked, `Decision:  not paid, ${decision.why}: ${skipDetail(decision, maxAmount)}`]
    default:
      return decision satisfies never
  }
}

/** Where a person decides. */
function approvalLines(approval: (PaymentDecision & { outcome: 'denied' })['approval']): string[] {
  if (!approval || approval.status === 'denied') return []
  const { id, status, expires_at, url } = approval
  return [`Approval:  ${id}, ${status} until ${expires_at}: ${url}`]
}

/** The client's message names its option; here the flag is more useful. */
function skipDetail(
  { why, detail, challenge }: PaymentDecision & { readonly outcome: 'skipped' },
  maxAmount: string | undefined,
): string {
  return why === 'over_max_amount' && challenge && maxAmount !== undefined
    ? `the price of ${challenge.amount} ${challenge.currency} is above --max-amount ${maxAmount}`
    : detail
}

function priceOf({ amount, currency, merchant_domain, category }: PaymentChallenge): string {
  return `${amount} ${currency} by ${merchant_domain}${category === undefined ? '' : `, ${category}`}`
}

export function paidWords(result: PaymentResult, decision: PaymentDecision | undefined): string {
  const { amount, charged_amount: charged, currency, transaction_id, replayed } = result
  const merchant = merchantOf(result, decision)
  const before = replayed ? ', by an earlier call; nothing was charged now' : ''
  if (charged === '0.00')
    return harmless(`Delivered: nothing was charged by ${merchant}${replayed ? ', by an earlier call' : ''}`)
  return harmless(
    `Paid:      ${charged ?? amount} ${currency} to ${merchant}, transaction ${transaction_id}${before}`,
  )
}

/** The goods arrived, but the service has not said what was charged. */
export function unknownChargeWords(
  result: PaymentResult,
  decision: PaymentDecision | undefined,
  { calledAs }: Pick<Io, 'calledAs'>,
): string {
  const { nonce, amount, currency } = result
  return harmless(
    `Delivered: up to ${amount} ${currency} may have been charged by ${merchantOf(result, decision)}, or may still be. To find out: ${calledAs} proofs show ${nonce}`,
  )
}

function merchantOf({ receipt, resource }: PaymentResult, decision: PaymentDecision | undefined): string {
  return receipt?.merchant_domain ?? decision?.challenge?.merchant_domain ?? new URL(resource).hostname
}

/** The state of the money if a purchase failed after its proof was issued. `isSaved` is false if the goods could not be written. */
export function proofWords(
  proof: ProofRecord | undefined,
  { nonce, isSaved }: { readonly nonce: string; readonly isSaved: boolean },
  { calledAs }: Pick<Io, 'calledAs'>,
): string {
  if (!proof) {
    return `It is unknown whether it was charged. To find out: ${calledAs} proofs show ${nonce}`
  }
  switch (proof.status) {
    case 'captured':
      if (!isSaved) {
        return `The payment was charged (transaction ${proof.transaction_id}) and the goods arrived, but they could not be saved.`
      }
      return `The payment was charged (transaction ${proof.transaction_id}), but the goods did not arrive: contact ${new URL(proof.resource).host}.`
    case 'open':
      return `Nothing has been charged yet. The proof ${nonce} holds ${proof.amount} ${proof.currency} until ${proof.expires_at}.`
    case 'authorized':
      return `Nothing has been charged yet. The merchant has authorized ${proof.amount} ${proof.currency} and may charge it until ${proof.capture_deadline}; the proof is ${nonce}.`
    case 'expired':
    case 'voided':
      return 'Nothing was charged.'
    default:
      return proof.status satisfies never
  }
}
