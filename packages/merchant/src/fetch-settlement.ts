import { copyOf, dropped, statusOf, toNobody, toResponse, watchBody, withReceipt } from './fetch-delivery.ts'
import type { Answer, Authorized, HandlerResponse } from './gate.ts'
import { inTime } from './deliveries/in-time.ts'
import { settleInTime } from './settle-in-time.ts'

/** How a framework answers instead of the handler. */
interface Framework {
  /** The response to send instead of a withheld one. */
  readonly refuse?: (answer: Answer) => Response
  /** The status of the thrown values that the framework turns into responses. */
  readonly statusOfThrown?: (thrown: unknown) => number | undefined
  /** The response to a failure; otherwise it is thrown on, and the framework answers it. */
  readonly answerTo?: (thrown: unknown) => Response
}

/**
 * The response of a handler whose payment is authorized. It is settled when the handler has answered: nothing of the
 * body is read before. A metered one is settled at the end of its body.
 */
export async function deliverAuthorized(
  authorized: Authorized,
  { signal }: Request,
  handle: () => Response | Promise<Response>,
  { refuse = toResponse, statusOfThrown, answerTo }: Framework = {},
): Promise<Response> {
  if (signal.aborted) {
    await authorized.notStarted()
    return toNobody()
  }
  const onGone = () => void authorized.notDelivered()
  signal.addEventListener('abort', onGone, { once: true })
  let answer: Response
  try {
    answer = sendable(await handle())
    if (signal.aborted) {
      discard(answer)
      return toNobody()
    }
  } catch (thrown) {
    const status = statusOfThrown?.(thrown)
    if (status === undefined || signal.aborted) {
      await authorized.void()
      if (!answerTo) throw thrown
      const failed = answerTo(thrown)
      const settlement = await authorized.settle(headOf(failed))
      return settlement.outcome === 'withheld' ? failed : withReceipt(failed, settlement)
    }
    const settlement = await authorized.settle({ status, header: () => null })
    if (settlement.outcome === 'withheld') return refuse(settlement.answer)
    if (settlement.outcome === 'captured') await authorized.delivered()
    throw thrown
  } finally {
    signal.removeEventListener('abort', onGone)
  }
  // A failure is decided before it leaves, so that its head can say that nothing was charged.
  const isMetered = authorized.capture === 'metered' && answer.status < 400
  if (isMetered && answer.body) return meterBody(answer, signal, authorized)
  const settlement = await authorized.settle(headOf(answer))
  if (settlement.outcome === 'withheld') {
    discard(answer)
    return refuse(settlement.answer)
  }
  const settled = withReceipt(answer, settlement)
  if (settlement.outcome === 'voided') return settled
  if (signal.aborted) {
    await authorized.notDelivered()
    return settled
  }
  if (settled.body && authorized.redeliversUnfinished) return watchBody(settled, signal, authorized)
  await authorized.delivered()
  return settled
}

/**
 * The same response, whose end is sent only once it is settled. If the customer disconnects after the first
 * byte, the amount so far is charged; if the handler fails while the customer reads, nothing is.
 */
function meterBody(answer: Response, signal: AbortSignal, authorized: Authorized): Response {
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
  let hasSent = false
  let isOver = false
  /** When the last piece was sent, and when the customer last asked for one after a pause. */
  let sentAtMs = Infinity
  let waitedAtMs = -Infinity
  /** The settlement of a stalled stream. */
  let cutting: Promise<unknown> | undefined

  /** Ends the delivery, once; false if the response must not end. */
  async function end(how: 'whole' | 'failed' | 'gone'): Promise<boolean> {
    if (isOver) return true
    isOver = true
    stopTimer()
    signal.removeEventListener('abort', onGone)
    if (how === 'failed') return authorized.void()
    if (how === 'gone') {
      // Its handler may meter what it has sent, also just after the cancellation.
      const limit = {
        ms: cancelMs(authorized.settleWithinMs),
        message: 'The stream was not cancelled in time',
      }
      await inTime(reader.cancel(signal.reason), limit).catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve))
      if (!hasSent) {
        await authorized.notDelivered()
        return true
      }
    }
    const settlement = await authorized.settle(headOf(answer))
    if (settlement.outcome === 'captured') await authorized.delivered()
    return settlement.outcome !== 'withheld'
  }

  const onGone = () => void end('gone')
  // Charges for what a stalled stream has sent while that is possible; the rest is not sent.
  const stopTimer = settleInTime(authorized.settleWithinMs, () => {
    if (hasSent) cutting = end('gone')
    return hasSent
  })
  signal.addEventListener('abort', onGone, { once: true })
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (performance.now() - sentAtMs >= pauseMs) waitedAtMs = performance.now()
        let piece: ReadableStreamReadResult<Uint8Array>
        try {
          piece = await reader.read()
        } catch (error) {
          await end(performance.now() - waitedAtMs < blamedForMs ? 'gone' : 'failed')
          return controller.error(error)
        }
        if (cutting) {
          await cutting
          return controller.error(new Error('The response was not read in time'))
        }
        if (!piece.done) {
          hasSent = true
          sentAtMs = performance.now()
          return controller.enqueue(piece.value)
        }
        if (await end('whole')) controller.close()
        else controller.error(new Error('The payment could not be captured'))
      },
      cancel: async () => void (await end('gone')),
    },
    // Nothing is read before it is requested.
    { highWaterMark: 0 },
  )
  dropped.register(body, onGone)
  return withReceipt(new Response(body, answer), { headers: { 'cache-control': 'private' } })
}

/**
 * If the customer has paused this long, and the stream fails soon afterwards, a time limit may have passed in the pause: then the
 * amount so far is charged.
 */
const pauseMs = 100
const blamedForMs = 1_000

/** How long the handler may take to end a cancelled stream: half of what is left when a stalled one is cut off. */
function cancelMs(settleWithinMs: number): number {
  return Math.min(5_000, settleWithinMs / 20)
}

/** A copy, made before the charge: a response that cannot be sent, such as a used one, is a failure of the handler. */
function sendable(answer: Response): Response {
  return answer.status < 200 ? answer : copyOf(answer)
}

/** Cancels the body of a response that is not sent, without waiting: the handler's own code runs in it. */
function discard({ body }: Response): void {
  void body?.cancel().catch(() => undefined)
}

function headOf(answer: Response): HandlerResponse {
  return { status: statusOf(answer), header: (name) => answer.headers.get(name) }
}
