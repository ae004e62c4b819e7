import { canCapture, type PaymentClient } from './client.ts'
import type { DeliveryStore } from './deliveries/delivery-store.ts'
import { assertIsAt, readMerchantDomain } from './resource/merchant-domain.ts'
import { readPublicUrl } from './resource/resource.ts'
import { compileRoutes, type Finding, type Place } from './resource/routes.ts'
import { spell } from './resource/spell.ts'

/** An amount in USDC as a string, such as `'4.00'`; `null` or `'0'` for free. */
type Amount = string | null

/** An amount, or a function of the request that returns one. */
export type Price<Request> = Amount | ((request: Request) => Amount | Promise<Amount>)

/**
 * When a payment is charged: `before` the handler runs; `after` it has answered, before the first byte leaves; or
 * `metered`, when its response ends.
 */
export type CaptureTime = 'before' | 'after' | 'metered'

const captureTimes: readonly CaptureTime[] = ['before', 'after', 'metered']

/** The start of a handler's response. */
export interface HandlerResponse {
  readonly status: number
  /** The value of a header; null if there is none. */
  readonly header: (name: string) => string | null
}

/** The terms of a resource. */
export interface Terms<Request> {
  readonly price: Price<Request>
  /** The category, such as `'data'`. A mandate's `allowed_categories` are enforced only with `preflight`. */
  readonly category?: string
  /** Whether to run the service's pre-flight check before the charge. */
  readonly preflight?: boolean
  /** When the payment is charged; default the option `capture`. */
  readonly capture?: CaptureTime
}

interface MerchantOptions<Request> {
  /** A `Purser` client with a key with the role `merchant`. */
  readonly client: PaymentClient
  /** The domain that customers' mandates list, registered as a seller. */
  readonly merchantDomain: string
  /** The public URL, including any path that a proxy strips; default `https://<merchantDomain>`. */
  readonly publicUrl?: string
  /**
   * When payments are charged: `'before'` the handler, the default; `'after'` it has answered, and before the first
   * byte leaves, so that a failed request is never charged; or `'metered'`, at the end of a streamed response.
   */
  readonly capture?: CaptureTime
  /**
   * With `capture: 'after'` or `'metered'`: whether to charge for a response; default: unless its status is 4xx
   * or 5xx. A handler that throws is never charged.
   */
  readonly shouldCapture?: (response: HandlerResponse, request: Request) => boolean | Promise<boolean>
  /**
   * With `capture: 'after'` or `'metered'`: the time in seconds until an authorization ends; 60 to 86,400, default 600.
   * The mandate may allow less.
   */
  readonly captureSeconds?: number
  /** Timeout for all service calls of one request, in milliseconds; default 10,000. It starts again for a capture. */
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
export type PaymentOptions<Request = unknown> = MerchantOptions<Request> &
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
  const capture = options.capture ?? 'before'
  assertCapture(capture)
  assertClient(client, terms)
  const shouldCapture = readLateOptions(options, { capture, terms })
  assertDelay(options, 'timeout')
  assertDelay(options, 'priceTimeout')
  assertDelay(options, 'leaseTimeout')
  const deliveries = options.deliveries ?? undefined
  if (deliveries && !(isFunction(deliveries.read) && isFunction(deliveries.replace))) {
    throw new TypeError(
      `deliveries must be a store such as fileDeliveries("./deliveries"), with the methods read and replace, not ${spell(deliveries)}`,
    )
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
    capture,
    shouldCapture,
    captureSeconds: options.captureSeconds ?? undefined,
    timeout: options.timeout ?? 10_000,
    priceTimeout: options.priceTimeout ?? 5_000,
    leaseTimeout: options.leaseTimeout ?? 15_000,
    deliveries,
    redeliverUnfinished: redeliverUnfinished ?? true,
    onError: safely(onError),
    findTerms,
  }
}

/** Calls `onError`; if that fails itself, the request and its payment must still come to an end. */
export function safely(onError: (error: unknown) => unknown): (error: unknown) => void {
  const call = async (cause: unknown) => onError(cause)
  return (cause) => void call(cause).catch((failure: unknown) => console.error('onError failed:', failure))
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
    throw new TypeError(`routes must be an object such as ${example}, with at least one entry`)
  }
  const findTerms = compileRoutes(routes, publicPath)
  for (const [pattern, terms] of entries) {
    const name = `routes[${spell(pattern)}]`
    assertObject(terms, `${name} must be an object such as { price: "4.00" }`)
    assertTerms(terms, ` (in ${name})`)
  }
  return { terms: Object.values(routes), findTerms }
}

/** Max length of a category in the interface. */
const maxCategoryLength = 255

function assertTerms(terms: Terms<never>, where = ''): void {
  const { price, category, preflight, capture } = terms
  if (!isFunction(price)) assertPrice(price, where)
  if (isThere(category) && typeof category !== 'string') {
    throw new TypeError(`category must be a string such as "data", not ${spell(category)}${where}`)
  }
  if (isThere(category) && Array.from(category).length > maxCategoryLength) {
    throw new TypeError(
      `category must have at most ${maxCategoryLength} characters, not ${Array.from(category).length}${where}`,
    )
  }
  if (isThere(preflight) && typeof preflight !== 'boolean') {
    throw new TypeError(`preflight must be true or false, not ${spell(preflight)}${where}`)
  }
  if (isThere(capture)) assertCapture(capture, where)
}

function assertCapture(capture: unknown, where = ''): void {
  if (captureTimes.some((time) => time === capture)) return
  throw new TypeError(`capture must be "before", "after" or "metered", not ${spell(capture)}${where}`)
}

function assertClient(client: Partial<PaymentClient> | undefined, terms: readonly Terms<never>[]): void {
  const isAskedFirst = terms.some(({ preflight }) => preflight)
  if (isFunction(client?.payments?.verify) && (!isAskedFirst || isFunction(client?.verifyAgent))) return
  throw new TypeError(`client must be a Purser of @purser/client with a merchant key, not ${spell(client)}`)
}

/** The options for charging after the handler, which need a client that can, and a price that is charged so. */
function readLateOptions<Request>(
  { client, shouldCapture, captureSeconds }: PaymentOptions<Request>,
  { capture, terms }: { readonly capture: CaptureTime; readonly terms: readonly Terms<Request>[] },
): (response: HandlerResponse, request: Request) => boolean | Promise<boolean> {
  const isLate = terms.some((one) => (one.capture ?? capture) !== 'before')
  if (isLate && !canCapture(client)) {
    throw new TypeError(
      'capture: "after" and "metered" need a client with the methods payments.authorize, capture and void',
    )
  }
  for (const [name, value] of Object.entries({ shouldCapture, captureSeconds })) {
    if (isThere(value) && !isLate) throw new TypeError(`${name} needs capture: "after" or "metered"`)
  }
  if (isThere(shouldCapture) && !isFunction(shouldCapture)) {
    throw new TypeError(`shouldCapture must be a function, not ${spell(shouldCapture)}`)
  }
  const isSeconds = Number.isInteger(captureSeconds) && captureSeconds! >= 60 && captureSeconds! <= 86_400
  if (isThere(captureSeconds) && !isSeconds) {
    throw new TypeError(
      `captureSeconds must be a whole number of seconds, from 60 to 86400, not ${spell(captureSeconds)}`,
    )
  }
  return shouldCapture ?? (({ status }) => status < 400)
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
