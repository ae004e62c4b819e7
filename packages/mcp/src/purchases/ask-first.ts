import type { Agent, DenialCode, Mandate, Purser } from '@purser/client'

import { remedyFor, type Reason } from '../reason.ts'
import type { Secrets } from '../secrets.ts'
import { sellerFor } from '../sellers.ts'
import { AddressRefusal, type AddressGuard } from '../web/addresses.ts'
import { quoteChallenge, type QuotedChallenge } from '../web/challenge.ts'
import { contentOf, maxAnswerBytes, type Content } from '../web/content.ts'
import { exchange, exchangeFollowing, type WebAnswer } from '../web/exchange.ts'
import type { Approval } from './approval.ts'
import { billOf } from './bill.ts'
import { headersOf, type Order } from './order.ts'
import type { Bill } from './purchase-records.ts'
import { resultOf, type PurchaseResult } from './purchase-result.ts'

/** What a purchase needs until the merchant has named its price. */
export interface AskingParts {
  readonly client: Purser
  readonly secrets: Secrets
  readonly guard: AddressGuard
  readonly agent: (signal?: AbortSignal) => Promise<Agent>
  readonly chooseMandate: (
    mandateId: string | undefined,
    signal?: AbortSignal,
  ) => Promise<{ readonly mandate: Mandate } | { readonly reason: Reason }>
}

/** The merchant's terms before it has seen a payment. */
type Asked =
  | { readonly result: PurchaseResult }
  | { readonly free: Content }
  | {
      readonly bill: Bill
      readonly category: string | undefined
      /** The URL that asked, after redirects within the host. */
      readonly url: URL
      readonly agentId: string
      /** Explains a denial of the proof, with a remedy. */
      readonly explain: (denial: PolicyDenial) => Reason
    }

type PolicyDenial = { readonly reason_code: DenialCode; readonly reason_detail: string }

/**
 * Gets the merchant's price and the policy's decision. Nothing is held and nothing can be charged yet. The decision
 * is recorded as a transaction, so that the owner sees the attempt. A person is asked for approval first, but not
 * about payments that the policy denies.
 */
export async function askFirst(
  parts: AskingParts,
  order: Order,
  { signal, approval }: { readonly signal: AbortSignal; readonly approval: Approval | undefined },
): Promise<Asked> {
  const { client, secrets } = parts
  const deny = (reason: Reason, asked: { bill?: Bill; challenge?: QuotedChallenge | null } = {}) => ({
    result: resultOf(order, 'denied', { reason, ...asked }),
  })

  const { id: agentId } = await parts.agent(signal)
  const choice = await parts.chooseMandate(order.mandateId, signal)
  if ('reason' in choice) return deny(choice.reason)
  const { mandate } = choice
  const host = order.url.hostname
  if (sellerFor(mandate, host) === undefined) return deny(sellerNotAllowed(host, mandate))

  const answer = await ask(parts, order, signal)
  if ('result' in answer) return answer
  if (answer.status !== 402) return { free: contentOf(answer, secrets) }

  const challenge = quoteChallenge(answer)
  const bill = billOf(order, answer, mandate)
  if ('reason_code' in bill) return deny(bill, { challenge })
  const { category, ...billed } = bill
  const explain = ({ reason_code, reason_detail }: PolicyDenial): Reason => ({
    reason_code,
    reason_detail,
    remedy: remedyFor(reason_code, mandate),
  })
  const payment = {
    agent_id: agentId,
    mandate_id: mandate.id,
    merchant_domain: bill.merchant_domain,
    amount: bill.amount,
    resource_url: bill.resource_url,
    category: category ?? null,
  }
  const evaluate = () => client.policy.evaluate(payment, { signal })
  const refusal = (decision: Awaited<ReturnType<typeof evaluate>>) =>
    // Evaluating requests no approval, which comes last: the request for the proof does.
    decision.decision === 'denied' && decision.reason_code !== 'approval_required'
      ? deny(explain(decision), { bill: billed, challenge })
      : undefined
  if (approval?.isNeeded(billed)) {
    const { reason_code: forecast } = await client.verifyAgent(payment, { signal })
    const isAllowed = forecast === 'within_policy' || forecast === 'approval_required'
    const denied = isAllowed ? undefined : refusal(await evaluate())
    if (denied) return denied
    const reason = approval.ask({ order, bill: billed, mandate })
    if (reason) return deny(reason, { bill: billed, challenge })
  }
  const denied = refusal(await evaluate())
  if (denied) return denied
  return { bill: billed, category, url: answer.url, agentId, explain }
}

async function ask(
  { guard }: AskingParts,
  order: Order,
  signal: AbortSignal,
): Promise<WebAnswer | { readonly result: PurchaseResult }> {
  const { url, method, body } = order
  const send = method === 'GET' ? exchangeFollowing : exchange
  try {
    return await send(guard, {
      url,
      method,
      headers: headersOf(order),
      body,
      maxBytes: maxAnswerBytes,
      signal,
    })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AddressRefusal) {
      return { result: resultOf(order, 'denied', { reason: addressNotAllowed(error) }) }
    }
    return { result: resultOf(order, 'not_paid', { reason: unreachable(url) }) }
  }
}

function sellerNotAllowed(host: string, mandate: Mandate): Reason {
  return {
    reason_code: 'merchant_not_allowed',
    reason_detail: `${host} is not an allowed seller of the mandate, so it was not contacted.`,
    remedy: remedyFor('merchant_not_allowed', mandate),
  }
}

function addressNotAllowed({ message, canBeAllowed }: AddressRefusal): Reason {
  return {
    reason_code: 'address_not_allowed',
    reason_detail: message,
    remedy: canBeAllowed
      ? 'Use another address, or ask the person who runs this server to add this host to PURSER_MCP_PRIVATE_HOSTS.'
      : 'Use an https address without a user name and password.',
  }
}

function unreachable({ host }: URL): Reason {
  return {
    reason_code: 'merchant_unreachable',
    reason_detail: `${host} could not be reached or did not answer in time.`,
    remedy: 'Nothing was charged. Try again later with the same arguments, or buy elsewhere.',
  }
}
