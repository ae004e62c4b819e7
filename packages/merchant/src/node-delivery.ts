import type { IncomingHttpHeaders, ServerResponse } from 'node:http'

import type { Answer, Decision, Paid } from './gate.ts'

/** What the gate asks about the head of a request, besides its target. */
export function readHeaders({ method = 'GET', headers }: RequestHead) {
  const hosts = [headers.host, headers['x-forwarded-host']]
  return { method, proof: headers['x-payment-proof'], hosts, reportsDelivery: true }
}

interface RequestHead {
  readonly method?: string | undefined
  readonly headers: IncomingHttpHeaders
}

/** Sends a refusal, if any. Returns true if there is none, so that the handler should run. */
export function letPass(response: ServerResponse, decision: Decision): boolean {
  if (decision.outcome === 'free') return true
  if (decision.outcome === 'paid') return beginDelivery(response, decision)
  send(response, decision.answer)
  return false
}

/**
 * Puts the receipt on the answer and watches what becomes of it. False when the customer has gone meanwhile:
 * then the handler is not to be run. Nothing was delivered if the connection ends before the whole answer was handed to
 * the system, or if the answer is a failure of the server (5xx).
 */
export function beginDelivery(response: ServerResponse, paid: Paid): boolean {
  if (response.destroyed || response.closed) {
    void paid.notDelivered()
    return false
  }
  for (const [name, value] of Object.entries(paid.headers)) response.setHeader(name, value)
  let isWhole = false
  // Node tells of the end of an answer that it throws away as well. Once it has told, the socket is not known any more.
  response.prependOnceListener('finish', () => (isWhole = response.socket?.destroyed !== true))
  response.once('close', () => {
    const isEnough = isWhole || (response.headersSent && !paid.redeliversUnfinished)
    if (isEnough && response.statusCode < 500) void paid.delivered()
    else void paid.notDelivered()
  })
  return true
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}
