import { TimeoutError } from '../errors.ts'
import { timerMs } from '../timers.ts'
import { untouchedBody } from '../untouched-body.ts'
import type { PaymentResult } from './payment-result.ts'
import { failedPayment, type ShownPayment } from './uncertain-payment.ts'

/**
 * The response with the goods. Its body is streamed; if it is interrupted, reading it rejects with a
 * `PaymentUncertainError`.
 */
export function paidAnswer(answer: Response, payment: ShownPayment, result: PaymentResult): Response {
  if (!answer.body) return answer
  const { status, transaction_id } = result
  const fate = status === 'unknown' ? undefined : { status, transaction_id }
  const explain = (cause: unknown) => failedPayment({ payment, reason: 'incomplete', fate, cause })
  return likeAnswer(answer, untouchedBody(answer, explain))
}

const maxShortBytes = 64 * 1024
const shortAnswerTimeoutMs = 5_000

/** A response without goods, with the beginning of its body, as far as it arrives within 5 seconds. */
export async function shortAnswer(answer: Response): Promise<Response> {
  const reader = answer.body?.getReader()
  if (!reader) return answer
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), shortAnswerTimeoutMs)
  try {
    while (size < maxShortBytes) {
      const { done, value } = await reader.read()
      if (done) break
      chunks.push(value)
      size += value.length
    }
  } catch {
    // A partial body is better than nothing.
  } finally {
    clearTimeout(timer)
    void reader.cancel().catch(() => {})
  }
  return likeAnswer(answer, new Blob(chunks).slice(0, maxShortBytes).stream())
}

const bodies = new WeakMap<Response, Uint8Array<ArrayBuffer>>()

/**
 * The same response with its body buffered; if it has more than `maxBytes`, the body is streamed. Rejects if the body is
 * interrupted, or if nothing of it arrives for `stalledMs` milliseconds.
 */
export async function withBytes(
  answer: Response,
  { maxBytes, stalledMs }: { readonly maxBytes: number; readonly stalledMs: number },
): Promise<Response> {
  const reader = answer.body?.getReader()
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (;;) {
    const chunk = reader && (await within(stalledMs, reader))
    if (!chunk || chunk.done) break
    chunks.push(chunk.value)
    size += chunk.value.length
    if (size > maxBytes) return likeAnswer(answer, continued(chunks, reader))
  }
  const bytes = new Uint8Array(await new Blob(chunks).arrayBuffer())
  const copy = reader ? likeAnswer(answer, bytes) : answer
  bodies.set(copy, bytes)
  return copy
}

/** The next part of a body. Rejects, and gives up the body, if it does not arrive in time. */
async function within(
  stalledMs: number,
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
): Promise<ReadableStreamReadResult<Uint8Array<ArrayBuffer>>> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const stalled = new Promise<never>((_, reject) => {
    const late = new TimeoutError(`The body of the response stalled for ${stalledMs} ms`)
    timer = setTimeout(() => reject(late), timerMs(stalledMs))
  })
  try {
    return await Promise.race([reader.read(), stalled])
  } catch (error) {
    void reader.cancel().catch(() => {})
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** The buffered body of a response; undefined if it was not buffered. */
export function bytesOf(answer: Response): Uint8Array<ArrayBuffer> | undefined {
  return bodies.get(answer)
}

function continued(
  begun: Uint8Array<ArrayBuffer>[],
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    pull: async (controller) => {
      const next = begun.shift() ?? (await reader?.read())?.value
      if (next) controller.enqueue(next)
      else controller.close()
    },
    cancel: (reason) => reader?.cancel(reason),
  })
}

/** A response without its body. */
type Head = Pick<Response, 'status' | 'statusText' | 'headers' | 'url' | 'redirected'>

/** A response with the same status, headers and URL, and another body. */
export function likeAnswer(answer: Head, body: BodyInit | null): Response {
  const { status, statusText, headers, url, redirected } = answer
  // A server may send what no `Response` can be made with; it says so all the same.
  const init = {
    status: Math.min(status, mostStatus),
    statusText: isReasonPhrase(statusText) ? statusText : '',
    headers,
  }
  const copy = new Response(body, init)
  for (const [name, value] of Object.entries({ status, statusText, url, redirected })) {
    Object.defineProperty(copy, name, { value })
  }
  return copy
}

/** The highest status that a `Response` can be made with. */
const mostStatus = 599

/** Whether a `Response` can be made with this text as its `statusText`. */
function isReasonPhrase(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
}
