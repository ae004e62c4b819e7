import type { PaymentClient } from './client.ts'
import { rememberInProcess, type UnfinishedDeliveries } from './deliveries.ts'
import { assertIsAt, readMerchantDomain } from './merchant-domain.ts'
import { readPublicUrl } from './resource.ts'
import { compileRoutes } from './routes.ts'
import { spell } from './spell.ts'

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

/**
 * The options, checked and complete; what is undefined or null is left out. Throws a TypeError for what can never
 * work: what is wrong with an option is heard at the start, and not from customers, or from their absence.
 */
export function readOptions<Request>(options: PaymentOptions<Request>) {
  assertObject(options, 'The options are an object such as { client, merchantDomain, price: "4.00" }')
  const { client, merchantDomain } = options
  const domain = readMerchantDomain(merchantDomain)
  // A dot at the end of a domain is no part of the address that customers ask for.
  const publicUrl = readPublicUrl(options.publicUrl ?? `https://${merchantDomain.replace(/\.$/, '')}`)
  assertIsAt(domain, publicUrl)
  const { findTerms, terms } = readTerms(options)
  assertClient(client, terms)
  assertDelay(options, 'timeout')
  assertDelay(options, 'priceTimeout')
  const unfinished = options.unfinished ?? rememberInProcess()
  if (!isFunction(unfinished.take) || !isFunction(unfinished.keep)) {
    throw new TypeError(`unfinished must have the methods take and keep, not be ${spell(unfinished)}`)
  }
  const onError = options.onError ?? ((error: unknown) => console.error('No payment could be taken:', error))
  if (!isFunction(onError)) throw new TypeError(`onError must be a function, not ${spell(onError)}`)
  return {
    client,
    merchantDomain,
    publicUrl,
    timeout: options.timeout ?? 10_000,
    priceTimeout: options.priceTimeout ?? 5_000,
    unfinished,
    onError,
    findTerms,
  }
}

/** Amounts are compared as text, so a number would be ambiguous, and nothing is ever free by accident. */
export function assertPrice(price: unknown, where = ''): asserts price is string {
  if (typeof price === 'string' && /^\d{1,12}(\.\d{1,6})?$/.test(price) && /[1-9]/.test(price)) return
  throw new TypeError(`A price is text above zero such as "4.00", not ${spell(price)}${where}`)
}

/** All terms, and what finds those of a request. With both a price and a table, one of them would be forgotten. */
function readTerms<Request>(options: PaymentOptions<Request>) {
  const hasPrice = isThere(options.price)
  if (hasPrice === isThere(options.routes)) {
    throw new TypeError(
      `Either price or routes says what is paid for, but ${hasPrice ? 'both are' : 'neither is'} there`,
    )
  }
  if (!isThere(options.routes)) {
    const only = options as Terms<Request>
    assertTerms(only)
    return { terms: [only], findTerms: () => only }
  }
  const { routes } = options
  const example = '{ "GET /data": { price: "4.00" } }'
  assertObject(routes, `routes must be an object such as ${example}`)
  for (const name of ['category', 'preflight'] as const) {
    if (!isThere((options as Partial<Terms<Request>>)[name])) continue
    throw new TypeError(`${name} stands in each route when there are routes, not beside them`)
  }
  const entries = Object.entries(routes)
  if (entries.length === 0) {
    throw new TypeError(
      `routes must be an object such as ${example}, with at least one entry: else all is free`,
    )
  }
  const findTerms = compileRoutes(routes)
  for (const [pattern, terms] of entries) {
    const name = `routes[${spell(pattern)}]`
    assertObject(terms, `${name} must be an object such as { price: "4.00" }`)
    assertTerms(terms, ` (in ${name})`)
  }
  return { terms: Object.values(routes), findTerms }
}

function assertTerms(terms: Terms<never>, where = ''): void {
  const { price, category, preflight } = terms
  if (!isFunction(price)) assertPrice(price, where)
  if (isThere(category) && typeof category !== 'string') {
    throw new TypeError(`category must be text such as "data", not ${spell(category)}${where}`)
  }
  if (isThere(preflight) && typeof preflight !== 'boolean') {
    throw new TypeError(`preflight must be true or false, not ${spell(preflight)}${where}`)
  }
}

function assertClient(client: Partial<PaymentClient> | undefined, terms: readonly Terms<never>[]): void {
  const isAskedFirst = terms.some(({ preflight }) => preflight)
  if (isFunction(client?.payments?.verify) && (!isAskedFirst || isFunction(client?.verifyAgent))) return
  throw new TypeError(
    `client must be a Purser of @purser/client with a key of the role merchant, not ${spell(client)}`,
  )
}

/** Timers take longer times for 1 ms, and `AbortSignal.timeout` takes no parts of milliseconds. */
function assertDelay<Name extends string>(options: { readonly [key in Name]?: unknown }, name: Name): void {
  const ms = options[name]
  if (!isThere(ms) || (Number.isInteger(ms) && (ms as number) > 0 && (ms as number) <= longestDelayMs)) return
  throw new TypeError(
    `${name} must be a whole number of milliseconds, from 1 to ${longestDelayMs}, not ${spell(ms)}`,
  )
}

const longestDelayMs = 2 ** 31 - 1

function assertObject(value: unknown, expected: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  throw new TypeError(`${expected}, not ${spell(value)}`)
}

function isThere<Value>(value: Value): value is NonNullable<Value> {
  return value !== undefined && value !== null
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
