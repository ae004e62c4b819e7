import type { ServerResponse } from 'node:http'

import type { Answer, Decision, Paid } from './gate.ts'

/** Sends what stands in the way of the goods. True when nothing does, and the handler is to be run. */
export function letPass(response: ServerResponse, decision: Decision): boolean {
  if (decision.outcome === 'free') return true
  if (decision.outcome === 'paid') return beginDelivery(response, decision)
  send(response, decision.answer)
  return false
}

/**
 * Puts the receipt on the answer and watches what becomes of it. False when the customer has gone meanwhile:
 * then the handler is not to be run. Nothing was delivered if the connection ends before an answer was begun,
 * or if the answer is a failure of the server (5xx).
 */
export function beginDelivery(response: ServerResponse, paid: Paid): boolean {
  if (response.destroyed || response.closed) {
    void paid.notDelivered()
    return false
  }
  for (const [name, value] of Object.entries(paid.headers)) response.setHeader(name, value)
  response.once('close', () => {
    if (!response.headersSent || response.statusCode >= 500) void paid.notDelivered()
  })
  return true
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}
