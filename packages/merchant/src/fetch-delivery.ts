import type { Answer, Paid } from './gate.ts'

/** What the gate asks about a `Request`. The host in its address is what the customer wrote, and is not used. */
export function readRequest({ method, url, headers }: Request) {
  return { method, target: url, proof: headers.get('x-payment-proof') }
}

export function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body, { status, headers })
}

/**
 * The handler's answer with the receipt on it; its body is passed on and never read. Nothing was delivered if
 * the handler threw, if it answered with a failure of the server (5xx), or if the customer had gone by then.
 */
export async function deliver(
  paid: Paid,
  { signal }: Request,
  handle: () => Response | Promise<Response>,
  isAnswer: (thrown: unknown) => boolean = () => false,
): Promise<Response> {
  let isDelivered = false
  try {
    // Nobody reads this answer.
    if (signal.aborted) return new Response(null, { status: 503 })
    const answer = await handle()
    isDelivered = answer.status < 500 && !signal.aborted
    return withReceipt(answer, paid)
  } catch (thrown) {
    isDelivered = isAnswer(thrown)
    throw thrown
  } finally {
    if (!isDelivered) await paid.notDelivered()
  }
}

/** A copy, because the headers of some answers cannot be changed. What the handler said itself stays. */
function withReceipt(answer: Response, paid: Paid): Response {
  const copy = new Response(answer.body, answer)
  for (const [name, value] of Object.entries(paid.headers)) {
    if (!copy.headers.has(name)) copy.headers.set(name, value)
  }
  return copy
}
