import type { Answer, Paid } from './gate.ts'
import { hostHeaders } from './resource/resource.ts'

/** The gate's view of a `Request`. The host in its URL is controlled by the customer and not used. */
export function readRequest({ method, url, headers }: Request) {
  const hosts = hostHeaders.map((name) => headers.get(name))
  return { method, target: url, proof: headers.get('x-payment-proof'), hosts, reportsDelivery: true }
}

export function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body, { status, headers })
}

/**
 * The response of a paid handler. Nothing was delivered if it throws, answers with a server error (5xx), or the
 * customer disconnects before the complete body was read. `isAnswer` recognizes thrown values that are responses.
 */
export async function deliver(
  paid: Paid,
  { signal }: Request,
  handle: () => Response | Promise<Response>,
  isAnswer: (thrown: unknown) => boolean = () => false,
): Promise<Response> {
  if (signal.aborted) {
    await paid.notStarted()
    return toNobody()
  }
  const onGone = () => void paid.notDelivered()
  let isDelivered = false
  let isWatched = false
  signal.addEventListener('abort', onGone, { once: true })
  try {
    const answer = await handle()
    isDelivered = statusOf(answer) < 500 && !signal.aborted
    if (!isDelivered || answer.body === null || !paid.redeliversUnfinished) return answer
    const watched = watchBody(answer, signal, paid)
    isWatched = true
    return watched
  } catch (thrown) {
    isDelivered = isAnswer(thrown)
    throw thrown
  } finally {
    signal.removeEventListener('abort', onGone)
    if (!isWatched) await (isDelivered ? paid.delivered() : paid.notDelivered())
  }
}

/** The status of a response. That of `Response.error()` is 0, but it is a failure. */
export function statusOf({ status }: Response): number {
  return status || 500
}

/** A response that is never read. */
export function toNobody(): Response {
  return new Response(null, { status: 503 })
}

/**
 * Servers read the next chunk once the previous one is sent, so the end of a large body is read only shortly before
 * it is sent.
 */
const pieceBytes = 65_536

type Reported = Pick<Paid, 'delivered' | 'notDelivered'>

/** The same response, with a body that reports when it was read completely or cancelled. */
export function watchBody(answer: Response, signal: AbortSignal, paid: Reported): Response {
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
  let rest: Uint8Array = new Uint8Array()
  let isOver = false
  async function end(isWhole: boolean): Promise<void> {
    if (isOver) return
    isOver = true
    signal.removeEventListener('abort', onGone)
    await (isWhole ? paid.delivered() : paid.notDelivered())
  }
  const onGone = () => void end(false)
  signal.addEventListener('abort', onGone, { once: true })
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          if (rest.length === 0) {
            const { done, value } = await reader.read()
            if (done) {
              await end(true)
              return controller.close()
            }
            rest = value
          }
          controller.enqueue(rest.subarray(0, pieceBytes))
          rest = rest.subarray(pieceBytes)
        } catch (error) {
          await end(false)
          controller.error(error)
        }
      },
      async cancel(reason) {
        await end(false)
        await reader.cancel(reason)
      },
    },
    // Nothing is read before it is requested.
    { highWaterMark: 0 },
  )
  dropped.register(body, () => {
    onGone()
    void reader.cancel().catch(() => undefined)
  })
  return new Response(body, answer)
}

/** If a layer above discards the body unread, its end would never be reported. */
export const dropped = new FinalizationRegistry<() => void>((onGone) => onGone())

/**
 * A copy with the receipt, because some responses have immutable headers. Its body is passed on unread; the handler's
 * own headers are kept. A WebSocket upgrade and `Response.error()` cannot be copied.
 */
export function withReceipt(answer: Response, { headers }: Pick<Paid, 'headers'>): Response {
  if (answer.status < 200) return answer
  const copy = copyOf(answer)
  for (const [name, value] of Object.entries(headers)) {
    if (!copy.headers.has(name)) copy.headers.set(name, value)
  }
  return copy
}

/** A copy with the same body. */
export function copyOf(answer: Response): Response {
  keepOrigin(answer)
  return new Response(answer.body, answer)
}

/** The responses that bodies arrived with. */
const origins = new WeakMap<ReadableStream, Response>()

/**
 * Keeps a response as long as its body: Node cancels an unread body of another server once the response it arrived with is
 * garbage, although a copy has it.
 */
export function keepOrigin(answer: Response): void {
  if (answer.body && !origins.has(answer.body)) origins.set(answer.body, answer)
}
