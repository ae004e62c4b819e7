import type { PaymentClient } from './client.ts'
import { rememberInProcess, type UnfinishedDeliveries } from './deliveries.ts'
import { readPublicUrl } from './resource.ts'
import { compileRoutes } from './routes.ts'

/** An amount in USDC as text, such as `'4.00'`, or what makes one of the request. */
export type Price<Request> = string | ((request: Request) => string | Promise<string>)

/** What is asked for a resource. */
export interface Terms<Request> {
  readonly price: Price<Request>
  /** What is sold, such as `'data'`. A mandate's `allowed_categories` are held only with `preflight`. */
  readonly category?: string
  /** Asks the service's pre-flight check before the charge. */
  readonly preflight?: boolean
}

interface MerchantOptions {
  /** Purser's client with a key of the role `merchant`. */
  readonly client: PaymentClient
  /** The domain that the mandates of the customers name, and that is registered as a seller. */
  readonly merchantDomain: string
  /** Where customers reach the server, with the path that a proxy takes away; `https://<merchantDomain>`. */
  readonly publicUrl?: string
  /** For all that is asked of the service about one request, in milliseconds; 10,000. */
  readonly timeout?: number
  /** For a price that is computed, in milliseconds; 5,000. */
  readonly priceTimeout?: number
  /** Where deliveries are remembered that did not come to an end; a memory of this process. */
  readonly unfinished?: UnfinishedDeliveries
  /** Hears why a 503 was answered, or why the service lets this merchant collect nothing; `console.error`. */
  readonly onError?: (error: unknown) => void
}

/** What a merchant asks for: terms for every request, or a table of routes, where what is not listed is free. */
export type PaymentOptions<Request = unknown> = MerchantOptions &
  (
    | (Terms<Request> & { readonly routes?: never })
    | { readonly routes: Readonly<Record<string, Terms<Request>>>; readonly price?: never }
  )

/** The options, checked and complete. Throws a TypeError for what can never work. */
export function readOptions<Request>(options: PaymentOptions<Request>) {
  const { client, merchantDomain, timeout = 10_000, priceTimeout = 5_000 } = options
  // A dot at the end of a domain is no part of the address that customers ask for.
  const publicUrl = readPublicUrl(options.publicUrl ?? `https://${merchantDomain.replace(/\.$/, '')}`)
  const terms = options.routes === undefined ? [options] : Object.values(options.routes)
  for (const { price } of terms) if (typeof price !== 'function') assertPrice(price)
  const only = options.routes === undefined ? options : undefined
  return {
    client,
    merchantDomain,
    publicUrl,
    timeout,
    priceTimeout,
    unfinished: options.unfinished ?? rememberInProcess(),
    onError: options.onError ?? ((error: unknown) => console.error('No payment could be taken:', error)),
    findTerms: options.routes === undefined ? () => only : compileRoutes(options.routes),
  }
}

/** Amounts are compared as text, so a number would be ambiguous, and nothing is ever free by accident. */
export function assertPrice(price: unknown): asserts price is string {
  if (typeof price === 'string' && /^\d{1,12}(\.\d{1,6})?$/.test(price) && /[1-9]/.test(price)) return
  throw new TypeError(`A price is text above zero such as "4.00", not ${JSON.stringify(price)}`)
}
