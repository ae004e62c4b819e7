import type { Agent, DenialCode, Mandate, Purser } from '@purser/client'

import { remedyFor, type Reason } from '../reason.ts'
import type { Secrets } from '../secrets.ts'
import { sellerFor } from '../sellers.ts'
import { AddressRefusal, type AddressGuard } from '../web/addresses.ts'
import { contentOf, type Content } from '../web/content.ts'
import { exchange, exchangeFollowing, type WebAnswer } from '../web/exchange.ts'
import { billOf } from './bill.ts'
import { headersOf, type Order } from './order.ts'
import type { Bill } from './purchase-records.ts'
import { resultOf, type PurchaseResult } from './purchase-result.ts'

interface AskingParts {
  readonly client: Purser
  readonly secrets: Secrets
  readonly guard: AddressGuard
  readonly agent: (signal?: AbortSignal) => Promise<Agent>
  readonly chooseMandate: (
    mandateId: string | undefined,
    signal?: AbortSignal,
  ) => Promise<{ readonly mandate: Mandate } | { readonly reason: Reason }>
}

/** What the merchant asks before it has seen any payment. */
type Asked =
  | { readonly result: PurchaseResult }
  | { readonly free: Content }
  | {
      readonly bill: Bill
      /** The address that asked, after redirects within the host. */
      readonly url: URL
      readonly agentId: string
      /** Why the service denies it a proof, with what would help. */
      readonly explain: (denial: PolicyDenial) => Reason
    }

type PolicyDenial = { readonly reason_code: DenialCode; readonly reason_detail: string }

/**
 * Asks the merchant for its price, and the service whether it may be paid. Up to here nothing is held and
 * nothing can be charged. The decision is recorded as a transaction, so that its owner sees what was tried.
 */
export async function askFirst(parts: AskingParts, order: Order, signal: AbortSignal): Promise<Asked> {
  const { client, secrets } = parts
  const deny = (reason: Reason, bill?: Bill) => ({ result: resultOf(order, 'denied', { reason, bill }) })

  const { id: agentId } = await parts.agent(signal)
  const choice = await parts.chooseMandate(order.mandateId, signal)
  if ('reason' in choice) return deny(choice.reason)
  const { mandate } = choice
  const host = order.url.hostname
  if (sellerFor(mandate, host) === undefined) return deny(sellerNotAllowed(host, mandate))

  const answer = await ask(parts, order, signal)
  if ('result' in answer) return answer
  if (answer.status !== 402) return { free: contentOf(answer, secrets) }

  const bill = billOf(order, answer, mandate)
  if ('reason_code' in bill) return deny(bill)
  const { category, ...billed } = bill
  const explain = (denial: PolicyDenial): Reason => ({
    reason_code: denial.reason_code,
    reason_detail: denial.reason_detail,
    remedy: remedyFor(denial.reason_code, mandate),
  })
  const decision = await client.policy.evaluate(
    {
      agent_id: agentId,
      mandate_id: mandate.id,
      merchant_domain: bill.merchant_domain,
      amount: bill.amount,
      resource_url: bill.resource_url,
      category: category ?? null,
    },
    { signal },
  )
  if (decision.decision === 'denied') return deny(explain(decision), billed)
  return { bill: billed, url: answer.url, agentId, explain }
}

async function ask(
  { guard }: AskingParts,
  order: Order,
  signal: AbortSignal,
): Promise<WebAnswer | { readonly result: PurchaseResult }> {
  const { url, method, body, maxBytes } = order
  const send = method === 'GET' ? exchangeFollowing : exchange
  try {
    return await send(guard, { url, method, headers: headersOf(order), body, maxBytes, signal })
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
    reason_detail: `${host} is not an allowed seller of the mandate, so it was not asked.`,
    remedy: remedyFor('merchant_not_allowed', mandate),
  }
}

function addressNotAllowed({ message, canBeAllowed }: AddressRefusal): Reason {
  return {
    reason_code: 'address_not_allowed',
    reason_detail: message,
    remedy: canBeAllowed
      ? 'Use another address, or ask the person who runs this server to name this host in PURSER_MCP_PRIVATE_HOSTS.'
      : 'Use an https address without a user name and password.',
  }
}

function unreachable({ host }: URL): Reason {
  return {
    reason_code: 'merchant_unreachable',
    reason_detail: `${host} could not be reached, or did not answer in time.`,
    remedy: 'Nothing was charged. Try again later with the same arguments, or buy elsewhere.',
  }
}
