import { compareAmounts, isHostOrParent, sameAmount, type Mandate } from '@purser/client'

import type { Reason } from '../reason.ts'
import { sellerFor } from '../sellers.ts'
import { readChallenge } from '../web/challenge.ts'
import type { WebAnswer } from '../web/exchange.ts'
import type { Order } from './order.ts'
import type { Bill } from './purchase-records.ts'

/**
 * The amount to pay and for what, or why not to pay. A merchant may only charge for the requested URL; otherwise it
 * could steal proofs. Reasons never repeat the merchant's text, which is in the quoted challenge.
 */
export function billOf(
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
      reason_detail: `${host} asks for a payment, but its price cannot be read.`,
      remedy: 'If you know the exact price from elsewhere, use pay.',
    }
  }
  const asked = challenge ?? {
    amount: 'exactly' in price ? price.exactly : '',
    currency: mandate.currency,
    resource: answer.url.href,
    merchantDomain: sellerFor(mandate, host) ?? host,
    category: undefined,
  }
  if (!isSameAddress(asked.resource, answer.url) || !isHostOrParent(asked.merchantDomain, host)) {
    return {
      reason_code: 'payment_for_something_else',
      reason_detail: `${host} asks for a payment for another URL or to another seller.`,
      remedy: 'Do not pay this. Buy elsewhere, or tell the person you work for.',
    }
  }
  if (asked.currency !== mandate.currency) {
    return {
      reason_code: 'currency_not_supported',
      reason_detail: `${host} asks for a currency other than the mandate's, ${mandate.currency}.`,
      remedy: 'Buy elsewhere.',
    }
  }
  if (compareAmounts(asked.amount, '0') === 0) {
    return {
      reason_code: 'no_price_given',
      reason_detail: `${host} asks for ${asked.amount}, which is not a payment.`,
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
    // Without the fragment, which is never sent to a merchant and could only carry a message to the model.
    resource_url: withoutFragment(new URL(asked.resource)),
    merchant_domain: asked.merchantDomain,
    mandate_id: mandate.id,
    category: order.category ?? asked.category,
  }
}

function isSameAddress(resource: string, url: URL): boolean {
  return withoutFragment(new URL(resource)) === withoutFragment(url)
}

function withoutFragment(url: URL): string {
  const [address = ''] = url.href.split('#')
  return address
}
