import {
  compareAmounts,
  sameAmount,
  type Agent,
  type DenialCode,
  type Mandate,
  type Purser,
} from '@purser/client'

import { remedyFor, type Reason } from '../reason.ts'
import type { Secrets } from '../secrets.ts'
import { AddressRefusal, type AddressGuard } from '../web/addresses.ts'
import { readChallenge } from '../web/challenge.ts'
import { contentOf, type Content } from '../web/content.ts'
import { exchange, exchangeFollowing, type WebAnswer } from '../web/exchange.ts'
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
  if (!admitsHost(mandate, host)) return deny(sellerNotAllowed(host, mandate))

  const answer = await ask(parts, order, signal)
  if ('reason_code' in answer) return { result: resultOf(order, 'not_paid', { reason: answer }) }
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

async function ask({ guard }: AskingParts, order: Order, signal: AbortSignal): Promise<WebAnswer | Reason> {
  const { url, method, body, maxBytes } = order
  const send = method === 'GET' ? exchangeFollowing : exchange
  try {
    return await send(guard, { url, method, headers: headersOf(order), body, maxBytes, signal })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AddressRefusal) {
      return {
        reason_code: 'address_not_allowed',
        reason_detail: error.message,
        remedy: 'Use another address, or ask the person who runs this server to allow this host.',
      }
    }
    return {
      reason_code: 'merchant_unreachable',
      reason_detail: `${url.host} could not be reached, or did not answer in time.`,
      remedy: 'Nothing was charged. Try again later with the same arguments, or buy elsewhere.',
    }
  }
}

/** What is to be paid, or why it is not. A merchant may ask for what was asked of it only, or proofs could be stolen. */
function billOf(
  order: Order,
  answer: WebAnswer,
  mandate: Mandate,
): (Bill & { readonly category: string | undefined }) | Reason {
  const { price } = order
  const challenge = readChallenge(answer)
  const host = answer.url.hostname
  if (!challenge && 'atMost' in price) {
    return {
      reason_code: 'no_price_given',
      reason_detail: `${host} asks for a payment, but does not say how much in a way that can be read.`,
      remedy: 'If you know the exact price from elsewhere, use pay.',
    }
  }
  const asked = challenge ?? {
    amount: 'exactly' in price ? price.exactly : '',
    currency: mandate.currency,
    resource: answer.url.href,
    merchantDomain: host,
    category: undefined,
  }
  if (!isSameAddress(asked.resource, answer.url) || !isHostOrParent(asked.merchantDomain, host)) {
    return {
      reason_code: 'payment_for_something_else',
      reason_detail: `${host} asks for a payment for ${asked.resource} to ${asked.merchantDomain}, which is not what was asked for.`,
      remedy: 'Do not pay this. Buy elsewhere, or tell the person you work for.',
    }
  }
  if (asked.currency !== mandate.currency) {
    return {
      reason_code: 'currency_not_supported',
      reason_detail: `${host} asks for ${asked.currency}; the mandate is in ${mandate.currency}.`,
      remedy: 'Buy elsewhere.',
    }
  }
  if (compareAmounts(asked.amount, '0') === 0) {
    return {
      reason_code: 'no_price_given',
      reason_detail: `${host} asks for ${asked.amount}, which is no payment.`,
      remedy: 'Buy elsewhere, or tell the person you work for.',
    }
  }
  if ('exactly' in price && !sameAmount(asked.amount, price.exactly)) {
    return {
      reason_code: 'price_differs',
      reason_detail: `${host} asks ${asked.amount} ${asked.currency}, not ${price.exactly}.`,
      remedy: `If ${asked.amount} is worth it, call again with that amount.`,
    }
  }
  if ('atMost' in price && compareAmounts(asked.amount, price.atMost) > 0) {
    return {
      reason_code: 'price_above_max_amount',
      reason_detail: `${host} asks ${asked.amount} ${asked.currency}; max_amount is ${price.atMost}.`,
      remedy: `If ${asked.amount} is worth it, call again with a higher max_amount.`,
    }
  }
  return {
    amount: asked.amount,
    currency: asked.currency,
    resource_url: asked.resource,
    merchant_domain: asked.merchantDomain,
    mandate_id: mandate.id,
    category: order.category ?? asked.category,
  }
}

/** Whether any seller of the mandate can be behind the host. No other host is asked at all. */
function admitsHost(mandate: Mandate, host: string): boolean {
  return mandate.allowed_sellers.some((seller) => seller === '*' || isHostOrParent(hostNameOf(seller), host))
}

/** A seller's domain as addresses spell it: lower-case ASCII. */
function hostNameOf(domain: string): string {
  return URL.parse(`https://${domain}`)?.hostname ?? domain
}

/** Nothing lies below a single label or a number (decision 12). */
function isHostOrParent(domain: string, host: string): boolean {
  return host === domain || (/\.[a-z][^.]*$/.test(domain) && host.endsWith(`.${domain}`))
}

function isSameAddress(resource: string, url: URL): boolean {
  return withoutFragment(new URL(resource)) === withoutFragment(url)
}

function withoutFragment(url: URL): string {
  const [address = ''] = url.href.split('#')
  return address
}

function sellerNotAllowed(host: string, mandate: Mandate): Reason {
  return {
    reason_code: 'merchant_not_allowed',
    reason_detail: `${host} is not an allowed seller of the mandate, so it was not asked.`,
    remedy: remedyFor('merchant_not_allowed', mandate),
  }
}
