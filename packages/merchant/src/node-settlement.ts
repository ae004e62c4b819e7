import type { OutgoingHttpHeader, ServerResponse } from 'node:http'

import type { Answer, Authorized, Settlement } from './gate.ts'
import {
  isClosed,
  isClosedFromOutside,
  isWhole,
  keepConnection,
  resetHeaders,
  setHeaders,
  streamOf,
} from './node-response.ts'
import { settleInTime } from './settle-in-time.ts'

/**
 * Holds the response of a handler whose payment is authorized: nothing leaves before its first byte is settled. Of a
 * metered response, only the end is held, unless it is a failure, whose head can then say that nothing was charged. False
 * if the customer has disconnected; then the handler must not run. `earlier` are the application's own headers, which a
 * withheld response keeps.
 */
export function holdResponse(
  response: ServerResponse,
  authorized: Authorized,
  earlier: Readonly<Record<string, OutgoingHttpHeader | undefined>> = response.getHeaders(),
): boolean {
  if (isClosed(response)) {
    void authorized.notStarted()
    return false
  }
  const { socket } = response
  const isMetered = authorized.capture === 'metered'
  // A metered head may leave before the receipt's headers are known, and file servers make a file public by default. The
  // application may have begun the response while the payment was verified.
  if (!response.headersSent) response.setHeader('cache-control', 'private')
  const real = {
    writeHead: response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse,
    write: response.write.bind(response) as (...args: unknown[]) => boolean,
    end: response.end.bind(response) as (...args: unknown[]) => ServerResponse,
    flushHeaders: response.flushHeaders.bind(response),
    destroy: response.destroy.bind(response),
  }
  // What a handler sends through the stream of HTTP/2 would leave before the charge.
  const stream = streamOf(response)
  const bypasses = ['pushStream']
  if (!isMetered) bypasses.push('respond', 'respondWithFile', 'respondWithFD')
  for (const name of bypasses) if (stream) Reflect.set(stream, name, refuse)
  const held: (() => unknown)[] = []
  let state: 'holding' | 'passing' | 'discarding' = 'holding'
  let isHeadHeld = false
  let isEndHeld = false
  let settling: Promise<Settlement> | undefined
  let letConnectionGo: (() => void) | undefined
  let hasAllLeft = false
  let isCut = false
  let isDestroyedByHandler = false
  /** Whether the customer is slower than the handler: what ends the response then may be a time limit that it has caused. */
  let isStalled = false

  // What a handler sees of a response that it has begun or ended.
  Object.defineProperties(response, {
    headersSent: { configurable: true, get: () => isHeadHeld || (isMetered && hasLeft(response)) },
    writableEnded: { configurable: true, get: () => isEndHeld },
  })

  response.writeHead = (status: number, ...rest: unknown[]) => {
    if (state === 'discarding') return response
    if (state === 'passing' || isSentAtOnce(status)) return real.writeHead(status, ...rest)
    if (isHeadHeld) {
      // Some middleware calls `_implicitHeader()` again because the head has not left.
      if (rest.length === 0 && status === response.statusCode) return response
      throw alreadySent()
    }
    assertStatus(status)
    response.statusCode = status
    const headers = typeof rest[0] === 'string' ? rest[1] : rest[0]
    if (typeof rest[0] === 'string') response.statusMessage = rest[0]
    setHeaders(response, headers)
    isHeadHeld = true
    return response
  }
  response.flushHeaders = () => {
    if (state === 'discarding') return
    if (state === 'passing' || isSentAtOnce()) real.flushHeaders()
    else hold(real.flushHeaders)
  }
  response.write = (...args: unknown[]) => {
    if (state === 'discarding') return accept(args)
    if (state === 'passing' || (isSentAtOnce() && !isEndHeld)) return real.write(...args)
    if (isEndHeld) return false
    assertChunk(args[0])
    hold(() => real.write(...args))
    return false
  }
  response.end = (...args: unknown[]) => {
    if (state === 'discarding') return response
    if (state === 'passing') return real.end(...args)
    if (isEndHeld) return response
    if (typeof args[0] !== 'function' && args[0] !== undefined && args[0] !== null) assertChunk(args[0])
    hold(() => real.end(...args))
    isEndHeld = true
    letConnectionGo = keepConnection(response)
    return response
  }
  response.destroy = (error?: Error) => {
    letConnectionGo?.()
    isStalled ||= response.writableNeedDrain
    // A handler may also destroy a response because the customer has left.
    isDestroyedByHandler ||= !isClosed(response) && !isClosedFromOutside(response, socket)
    // Over HTTP/2, a response that ends without an error looks complete.
    return real.destroy(error ?? (stream && new Error('The response is incomplete')))
  }

  response.prependOnceListener('finish', () => (hasAllLeft = isWhole(response)))
  response.once('close', () => void onClose())
  if (isMetered) {
    response.once('close', settleInTime(authorized.settleWithinMs, cutOff))
    // The server's timeout for an idle connection destroys it without an error.
    const onTimeout = () => (isStalled = true)
    socket?.once('timeout', onTimeout)
    response.once('close', () => socket?.off('timeout', onTimeout))
  }
  return true

  /** Whether what the handler writes leaves before the payment is settled. */
  function isSentAtOnce(status = response.statusCode): boolean {
    return isMetered && !isHeadHeld && (status < 400 || hasLeft(response))
  }

  /** Ends a stalled stream while what it has sent can be charged; the rest is not sent. */
  function cutOff(): boolean {
    if (settling) return true
    if (!hasLeft(response)) return false
    isCut = true
    response.destroy()
    return true
  }

  function hold(call: () => unknown): void {
    // What Node refuses is an error of the handler, and must not be charged first.
    if (!settling && !response.headersSent) assertStatus(response.statusCode, response.statusMessage)
    isHeadHeld = true
    held.push(call)
    if (!settling) void settle().then(release)
  }

  function settle(): Promise<Settlement> {
    return (settling ??= authorized.settle({
      status: response.statusCode,
      header: (name) => textOf(response.getHeader(name)),
    }))
  }

  function release(settlement: Settlement): void {
    Reflect.deleteProperty(response, 'headersSent')
    Reflect.deleteProperty(response, 'writableEnded')
    for (const name of bypasses) if (stream) Reflect.deleteProperty(stream, name)
    letConnectionGo?.()
    if (settlement.outcome === 'withheld') return withhold(settlement.answer)
    state = 'passing'
    if (!response.headersSent) {
      for (const [name, value] of Object.entries(settlement.headers)) {
        // The handler's own headers are kept.
        if (!response.hasHeader(name)) response.setHeader(name, value)
      }
    }
    let hasRoom = true
    try {
      for (const call of held.splice(0)) hasRoom = call() !== false
    } catch (error) {
      // The handler has returned, so it cannot answer this error: cut the response off.
      return void real.destroy(error as Error)
    }
    // The handler was told to wait.
    if (hasRoom && !response.writableEnded) response.emit('drain')
  }

  function withhold({ status, headers, body }: Answer): void {
    state = 'discarding'
    held.length = 0
    // The start of a metered response cannot be undone: abort it, so that the customer notices.
    if (response.headersSent) return void response.destroy()
    resetHeaders(response, earlier)
    response.statusMessage = ''
    real.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
    real.end(body)
  }

  async function onClose(): Promise<void> {
    if (!settling) {
      if (!isCut && !isStalled && (isDestroyedByHandler || !isClosedFromOutside(response, socket)))
        return void (await authorized.void())
      // Without a byte the customer has nothing, and may come again.
      if (!(isMetered && hasLeft(response))) return authorized.notDelivered()
      // The handler's own listeners may meter what it has sent.
      await new Promise((resolve) => setImmediate(resolve))
    }
    const hasBegun = hasLeft(response)
    const { outcome } = await settle()
    if (outcome !== 'captured') return
    const isEnough = isMetered || hasAllLeft || (hasBegun && !authorized.redeliversUnfinished)
    await (isEnough ? authorized.delivered() : authorized.notDelivered())
  }
}

/** Whether the head of a response was really handed to the connection. */
function hasLeft(response: ServerResponse): boolean {
  return Reflect.get(Object.getPrototypeOf(response) as object, 'headersSent', response) === true
}

/** A write after the response was replaced. */
function accept(args: readonly unknown[]): boolean {
  const done = args.findLast((one) => typeof one === 'function')
  if (done) process.nextTick(done)
  return false
}

function assertChunk(chunk: unknown): void {
  if (typeof chunk === 'string' || chunk instanceof Uint8Array) return
  const message = `The chunk must be a string, a Buffer or a Uint8Array, not ${typeof chunk}`
  throw Object.assign(new TypeError(message), { code: 'ERR_INVALID_ARG_TYPE' })
}

function assertStatus(status: number, message = ''): void {
  if (!(Number.isInteger(status) && status >= 100 && status <= 999)) {
    const error = new RangeError(`Invalid status code: ${status}`)
    throw Object.assign(error, { code: 'ERR_HTTP_INVALID_STATUS_CODE' })
  }
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(message)) {
    throw Object.assign(new TypeError('Invalid character in statusMessage'), { code: 'ERR_INVALID_CHAR' })
  }
}

function refuse(): never {
  throw new Error('A response that is charged later can only use writeHead, write and end')
}

function alreadySent(): Error {
  const message = 'Cannot write headers after they are sent to the client'
  return Object.assign(new Error(message), { code: 'ERR_HTTP_HEADERS_SENT' })
}

function textOf(value: OutgoingHttpHeader | undefined): string | null {
  if (value === undefined) return null
  return Array.isArray(value) ? value.join(', ') : String(value)
}
