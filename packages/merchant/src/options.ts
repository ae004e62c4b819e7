import type { PaymentClient } from './client.ts'
import type { DeliveryStore } from './deliveries/delivery-store.ts'
import { assertIsAt, readMerchantDomain } from './resource/merchant-domain.ts'
import { readPublicUrl } from './resource/resource.ts'
import { compileRoutes, type Finding, type Place } from './resource/routes.ts'
import { spell } from './resource/spell.ts'

/** An amount in USDC as a string, such as `'4.00'`; `null` or `'0'` for free. */
type Amount = string | null

/** An amount, or a function of the request that returns one. */
export type Price<Request> = Amount | ((request: Request) => Amount | Promise<Amount>)

/** The terms of a resource. */
export interface Terms<Request> {
  readonly price: Price<Request>
  /** The category, such as `'data'`. A mandate's `allowed_categories` are enforced only with `preflight`. */
  readonly category?: string
  /** Whether to run the service's pre-flight check before the charge. */
  readonly preflight?: boolean
}

interface MerchantOptions {
  /** A `Purser` client with a key with the role `merchant`. */
  readonly client: PaymentClient
  /** The domain that customers' mandates list, registered as a seller. */
  readonly merchantDomain: string
  /** The public URL, including any path that a proxy strips; default `https://<merchantDomain>`. */
  readonly publicUrl?: string
  /** Timeout for all service calls of one request, in milliseconds; default 10,000. */
  readonly timeout?: number
  /** Timeout for a computed price, in milliseconds; default 5,000. */
  readonly priceTimeout?: number
  /** The delivery store, which several processes may share; default in memory. */
  readonly deliveries?: DeliveryStore
  /** Milliseconds after the last heartbeat until a process's deliveries are taken over; default 15,000. */
  readonly leaseTimeout?: number
  /**
   * Whether an interrupted response counts as not delivered, so that the same proof gets it again, with at
   * most three runs of the handler per payment; default true. With false, goods count as delivered from the
   * first byte on.
   */
  readonly redeliverUnfinished?: boolean
  /**
   * Called with the cause of a 503, or of a refusal to let this merchant collect; default `console.error`.
   */
  readonly onError?: (error: unknown) => void
}

/** The prices: terms for every request, or a table of routes, where unlisted paths are free. */
export type PaymentOptions<Request = unknown> = MerchantOptions &
  (
    | (Terms<Request> & { readonly routes?: never })
    | { readonly routes: Readonly<Record<string, Terms<Request>>>; readonly price?: never }
  )

/**
 * The validated options with defaults; undefined or null counts as absent. Throws a TypeError for options
 * that can never work, so that mistakes show at startup instead of through customers.
 */
export function readOptions<Request>(options: PaymentOptions<Request>) {
  assertObject(options, 'The options must be an object such as { client, merchantDomain, price: "4.00" }')
  const { client, merchantDomain } = options
  const domain = readMerchantDomain(merchantDomain)
  // A trailing dot is not part of the URL that customers request.
  const publicUrl = readPublicUrl(options.publicUrl ?? `https://${merchantDomain.replace(/\.$/, '')}`)
  assertIsAt(domain, publicUrl)
  const { findTerms, terms } = readTerms(options, new URL(publicUrl).pathname)
  assertClient(client, terms)
  assertDelay(options, 'timeout')
  assertDelay(options, 'priceTimeout')
  assertDelay(options, 'leaseTimeout')
  const deliveries = options.deliveries ?? undefined
  if (deliveries && !(isFunction(deliveries.read) && isFunction(deliveries.replace))) {
    throw new TypeError(
      `deliveries must be a store such as fileDeliveries("./deliveries"), with the methods read and replace, not ${spell(deliveries)}`,
    )
  }
  if (isThere((options as { unfinished?: unknown }).unfinished)) {
    throw new TypeError('unfinished was renamed to deliveries: a store with the methods read and replace')
  }
  const { redeliverUnfinished } = options
  if (isThere(redeliverUnfinished) && typeof redeliverUnfinished !== 'boolean') {
    throw new TypeError(`redeliverUnfinished must be true or false, not ${spell(redeliverUnfinished)}`)
  }
  const onError = options.onError ?? ((error: unknown) => console.error('Payment failed:', error))
  if (!isFunction(onError)) throw new TypeError(`onError must be a function, not ${spell(onError)}`)
  return {
    client,
    merchantDomain,
    publicUrl,
    timeout: options.timeout ?? 10_000,
    priceTimeout: options.priceTimeout ?? 5_000,
    leaseTimeout: options.leaseTimeout ?? 15_000,
    deliveries,
    redeliverUnfinished: redeliverUnfinished ?? true,
    onError,
    findTerms,
  }
}

/**
 * Amounts are compared as text, so numbers are refused. Undefined is not a price, so that nothing is free by
 * accident.
 */
export function assertPrice(price: unknown, where = ''): asserts price is Amount {
  if (price === null || (typeof price === 'string' && /^\d{1,12}(\.\d{1,6})?$/.test(price))) return
  throw new TypeError(
    `A price must be a string such as "4.00", or null or "0" for free, not ${spell(price)}${where}`,
  )
}

/** Whether a price means free. */
export function isFree(price: Amount): price is null {
  return price === null || !/[1-9]/.test(price)
}

type FindTerms<Request> = (place: Place) => Finding<Terms<Request>>

/** All terms, and a function that finds the terms of a request. Refuses a price together with a table. */
function readTerms<Request>(
  options: PaymentOptions<Request>,
  publicPath: string,
): {
  readonly terms: readonly Terms<Request>[]
  readonly findTerms: FindTerms<Request>
} {
  // With a table, a null price counts as absent; alone it means free.
  const hasPrice = isThere(options.routes) ? isThere(options.price) : options.price !== undefined
  if (hasPrice === isThere(options.routes)) {
    throw new TypeError(`Set either price or routes; ${hasPrice ? 'both are' : 'neither is'} set`)
  }
  if (!isThere(options.routes)) {
    const only = options as Terms<Request>
    assertTerms(only)
    const findTerms: FindTerms<Request> = () => ({ outcome: 'found', route: only })
    return { terms: [only], findTerms }
  }
  const { routes } = options
  const example = '{ "GET /data": { price: "4.00" } }'
  assertObject(routes, `routes must be an object such as ${example}`)
  for (const name of ['category', 'preflight'] as const) {
    if (!isThere((options as Partial<Terms<Request>>)[name])) continue
    throw new TypeError(`With routes, set ${name} in each route instead`)
  }
  const entries = Object.entries(routes)
  if (entries.length === 0) {
    throw new TypeError(
      `routes must be an object such as ${example}, with at least one entry; otherwise everything is free`,
    )
  }
  const findTerms = compileRoutes(routes, publicPath)
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
    throw new TypeError(`category must be a string such as "data", not ${spell(category)}${where}`)
  }
  if (isThere(preflight) && typeof preflight !== 'boolean') {
    throw new TypeError(`preflight must be true or false, not ${spell(preflight)}${where}`)
  }
}

function assertClient(client: Partial<PaymentClient> | undefined, terms: readonly Terms<never>[]): void {
  const isAskedFirst = terms.some(({ preflight }) => preflight)
  if (isFunction(client?.payments?.verify) && (!isAskedFirst || isFunction(client?.verifyAgent))) return
  throw new TypeError(
    `client must be a Purser of @purser/client with a key with the role merchant, not ${spell(client)}`,
  )
}

/** Timers treat longer delays as 1 ms, and `AbortSignal.timeout` requires whole milliseconds. */
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
