import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

import { createPaymentGate, type PaymentOptions } from './gate.ts'
import { letPass, readHeaders } from './node-delivery.ts'

export type * from './gate.ts'
export { paymentOf } from './payment.ts'

/** A listener for `http.createServer` that runs the handler for requests that are paid. */
export function requirePayment(
  options: PaymentOptions<IncomingMessage>,
  handler: (request: IncomingMessage, response: ServerResponse) => unknown,
): RequestListener {
  const decide = createPaymentGate(options)
  const onError = options.onError ?? console.error

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // What mounts a listener below a path, such as Express and connect, keeps the whole target in `originalUrl`.
    const { url = '/', originalUrl = url }: IncomingMessage & { readonly originalUrl?: string } = request
    const decision = await decide({ ...readHeaders(request), target: originalUrl, rewritten: [url], request })
    if (letPass(response, decision)) await handler(request, response)
  }

  return (request, response) => {
    answer(request, response).catch((error: unknown) => {
      onError(error)
      // What has begun to go out cannot be called back: the customer sees that it breaks off.
      if (response.headersSent) response.destroy()
      else response.writeHead(500).end()
    })
  }
}
