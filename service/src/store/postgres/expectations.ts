import type { Environment } from '@purser/wire/fields'

import { checkCollection } from '../../domain/collection.ts'
import { normalizeHostName } from '../../domain/host-name.ts'
import type { RegisteredSeller } from '../../domain/records.ts'
import { parseList } from '../parsed-lists.ts'
import { visibleSeller } from '../payment-records.ts'
import type { LocatedCapture } from './batch-facts.ts'

/** How many mandates and domains a process remembers, at a few hundred bytes each; the oldest is let go. */
const mostRemembered = 16_384
/** What is longer is not remembered, so that memory stays bounded. */
const longestRemembered = 512

/** A capture that is good if the ledger is as expected; whether it is, the statement that writes it looks. */
export interface ExpectedCapture {
  readonly capture: LocatedCapture
  /** What the hold must have been made for. */
  readonly terms: string
  readonly merchantDomain: string
  /** What the mandate's list of allowed sellers must be. */
  readonly allowedSellers: string
  /** Who must be registered under the merchant's domain; nobody when undefined. */
  readonly registered: RegisteredSeller | undefined
  /** The seller as the records of the payment name it. */
  readonly seller: RegisteredSeller | undefined
}

/**
 * What decides who may collect a payment, as it was last found. Nothing is decided on it: it says what the one
 * statement that captures must find, for the capture to be right.
 */
export class Expectations {
  readonly #mandates = new Map<
    string,
    { readonly text: string; readonly allowedSellers: readonly string[] }
  >()
  readonly #sellers = new Map<string, RegisteredSeller | undefined>()

  rememberMandate(id: string, allowedSellers: string): void {
    if (this.#mandates.get(id)?.text === allowedSellers || allowedSellers.length > longestRemembered) return
    remember(this.#mandates, id, { text: allowedSellers, allowedSellers: parseList(allowedSellers) })
  }

  rememberSeller(environment: Environment, domain: string, seller: RegisteredSeller | undefined): void {
    if (domain.length <= longestRemembered) remember(this.#sellers, `${environment} ${domain}`, seller)
  }

  /**
   * What the ledger must be like for a capture to be right; undefined where that is not known, or where the capture
   * would be refused, or where more must be known of the hold than that it is open.
   */
  of(capture: LocatedCapture): ExpectedCapture | undefined {
    const { caller, accountId, mandateId } = capture
    if (caller.accountId !== accountId) return undefined
    const terms = termsOf(capture)
    if (terms === undefined) return undefined
    const mandate = this.#mandates.get(mandateId)
    const merchantDomain = normalizeHostName(capture.merchantDomain)
    const domain = `${caller.environment} ${merchantDomain}`
    if (!mandate || !this.#sellers.has(domain)) return undefined
    const registered = this.#sellers.get(domain)
    const { text: allowedSellers } = mandate
    const refusal = checkCollection({
      caller,
      mandate: { accountId, allowedSellers: mandate.allowedSellers },
      seller: registered,
      merchantDomain: capture.merchantDomain,
      resourceUrl: '',
    })
    if (refusal) return undefined
    const seller = visibleSeller(registered, [{ accountId }, caller])
    return { capture, terms, merchantDomain, allowedSellers, registered, seller }
  }
}

/**
 * What a proof says that it pays, as one text, which its hold must have, too. Undefined when there is a space where a hold
 * has none: then the text could be that of other terms.
 */
function termsOf({ agentId, amountText, currency, resourceUrl }: LocatedCapture): string | undefined {
  const words = [agentId, amountText, currency]
  return words.some((word) => word.includes(' ')) ? undefined : [...words, resourceUrl].join(' ')
}

function remember<Value>(values: Map<string, Value>, key: string, value: Value): void {
  values.delete(key)
  values.set(key, value)
  if (values.size <= mostRemembered) return
  const [oldest] = values.keys()
  if (oldest !== undefined) values.delete(oldest)
}
