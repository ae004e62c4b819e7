import type { Answer, Paid } from './gate.ts'

/** What the gate asks about a `Request`. The host in its address is what the customer wrote, and is not used. */
export function readRequest({ method, url, headers }: Request) {
  return { method, target: url, proof: headers.get('x-payment-proof'), reportsDelivery: true }
}

export function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body, { status, headers })
}

/**
 * The answer of a paid handler. Nothing was delivered if it throws, if it answers with a failure of the server
 * (5xx), or if the customer goes before the whole body was taken. `isAnswer` tells what is thrown and is an answer all the
 * same.
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
  let isWatched = false
  signal.addEventListener('abort', onGone, { once: true })
  try {
    const answer = signal.aborted ? toNobody : await handle()
    isDelivered = answer.status < 500 && !signal.aborted
    isWatched = isDelivered && answer.body !== null && paid.redeliversUnfinished
    return isWatched ? watchBody(answer, signal, paid) : answer
  } catch (thrown) {
    isDelivered = isAnswer(thrown)
    throw thrown
  } finally {
    signal.removeEventListener('abort', onGone)
    if (!isWatched) await (isDelivered ? paid.delivered() : paid.notDelivered())
  }
}

/** Servers take the next piece when the last has gone, so the end of a large body is not taken long before it is sent. */
const pieceBytes = 65_536

/** The same answer, whose body says when it was taken to its end, or that nobody takes it any more. */
function watchBody(answer: Response, signal: AbortSignal, paid: Paid): Response {
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
    // Nothing is taken before somebody asks for it.
    { highWaterMark: 0 },
  )
  dropped.register(body, onGone)
  return new Response(body, answer)
}

/** Of a body that a layer above has thrown away unread nobody would hear the end. */
const dropped = new FinalizationRegistry<() => void>((onGone) => onGone())

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
