import type { IncomingHttpHeaders, ServerResponse } from 'node:http'

import type { Answer, Decision, Paid } from './gate.ts'
import { isClosed, isWhole, setHeaders } from './node-response.ts'
import { holdResponse } from './node-settlement.ts'
import { hostHeaders } from './resource/resource.ts'

/** The gate's view of the request headers, besides the target. */
export function readHeaders({ method = 'GET', headers }: RequestHead) {
  const hosts = hostHeaders.map((name) => headers[name])
  return { method, proof: headers['x-payment-proof'], hosts, reportsDelivery: true }
}

interface RequestHead {
  readonly method?: string | undefined
  readonly headers: IncomingHttpHeaders
}

/**
 * Waits until a response with a payment is the next one of its connection. Until then nothing of it can be sent, and on
 * Node 22 it does not learn that the connection has closed; then this never resolves.
 */
export async function turnOf(request: RequestHead, response: ServerResponse): Promise<void> {
  // Responses without a connection, as of test tools and some WebSocket plugins, wait for nothing.
  const socket: object = response.req?.socket ?? {}
  const current: unknown = Reflect.get(socket, '_httpMessage') ?? response
  if (current === response || response.socket !== null) return
  if (request.headers['x-payment-proof'] === undefined) return
  await new Promise((resolve) => response.once('socket', resolve))
}

/**
 * The decision about a request, with an upgrade already charged: the goods of a WebSocket do not pass through its
 * response, so it is charged before it opens, and counts as delivered.
 */
export async function settleUpgrade(request: object, decision: Decision): Promise<Decision> {
  if (!(request as { readonly upgrade?: boolean }).upgrade) return decision
  if (decision.outcome === 'authorized') {
    const settlement = await decision.settle({ status: 101, header: () => null })
    if (settlement.outcome === 'withheld') return { outcome: 'unavailable', answer: settlement.answer }
  } else if (decision.outcome !== 'paid') return decision
  await decision.delivered()
  return { outcome: 'free' }
}

/** Sends a refusal, if any. Returns true if there is none, so that the handler should run. */
export function letPass(response: ServerResponse, decision: Decision): boolean {
  if (decision.outcome === 'free') return true
  if (decision.outcome === 'paid') return beginDelivery(response, decision)
  if (decision.outcome === 'authorized') return holdResponse(response, decision)
  send(response, decision.answer)
  return false
}

/**
 * Adds the receipt to the response and watches its delivery. False if the customer has disconnected; then the handler
 * must not run. Nothing was delivered if the connection closes before the complete response was handed to the
 * operating system, or if the response is a server error (5xx).
 */
export function beginDelivery(response: ServerResponse, paid: Paid): boolean {
  if (isClosed(response)) {
    void paid.notStarted()
    return false
  }
  // The application may have begun the response while the payment was verified.
  if (!response.headersSent) setHeaders(response, paid.headers)
  let hasAllLeft = false
  response.prependOnceListener('finish', () => (hasAllLeft = isWhole(response)))
  response.once('close', () => {
    const isEnough = hasAllLeft || (response.headersSent && !paid.redeliversUnfinished)
    if (isEnough && response.statusCode < 500) void paid.delivered()
    else void paid.notDelivered()
  })
  return true
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}
