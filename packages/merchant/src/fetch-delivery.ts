import type { Answer, Paid } from './gate.ts'

/** What the gate asks about a `Request`. The host in its address is what the customer wrote, and is not used. */
export function readRequest({ method, url, headers }: Request) {
  return { method, target: url, proof: headers.get('x-payment-proof') }
}

export function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body, { status, headers })
}

/**
 * The answer of a paid handler. Nothing was delivered if it throws, if it answers with a failure of the server
 * (5xx), or if the customer goes before it answers. `isAnswer` tells what is thrown and is an answer all the same.
 */
export async function deliver(
  paid: Paid,
  { signal }: Request,
  handle: () => Response | Promise<Response>,
  isAnswer: (thrown: unknown) => boolean = () => false,
): Promise<Response> {
  // Nobody reads this answer.
  const toNobody = new Response(null, { status: 503 })
  const onGone = () => void paid.notDelivered()
  let isDelivered = false
  signal.addEventListener('abort', onGone, { once: true })
  try {
    const answer = signal.aborted ? toNobody : await handle()
    isDelivered = answer.status < 500 && !signal.aborted
    return answer
  } catch (thrown) {
    isDelivered = isAnswer(thrown)
    throw thrown
  } finally {
    signal.removeEventListener('abort', onGone)
    if (!isDelivered) await paid.notDelivered()
  }
}

/**
 * A copy with the receipt on it, because the headers of some answers cannot be changed. Its body is passed on and
 * never read; what the handler said itself stays.
 */
export function withReceipt(answer: Response, { headers }: Paid): Response {
  const copy = new Response(answer.body, answer)
  for (const [name, value] of Object.entries(headers)) {
    if (!copy.headers.has(name)) copy.headers.set(name, value)
  }
  return copy
}
