import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Time and buffer limits for clients. */
export interface ConnectionLimits {
  /** Timeouts for the head and the body of a request, each from the start of the request. */
  readonly arriveTimeoutMs: number
  /** How often connections are checked; a timeout may be late by this much. */
  readonly checkIntervalMs: number
  /** Max open connections of the process; one more is closed at once. */
  readonly maxConnections: number
  /**
   * A client with waiting responses must read `minBytesInTime` in each period of this length, or all of them.
   */
  readonly writeTimeoutMs: number
  readonly minBytesInTime: number
  /** Whether a pipelined request waits for the response to the previous one. */
  readonly oneAtATime: boolean
  /** Max pipelined requests that wait, in total and per connection. */
  readonly maxWaiting: number
  readonly maxWaitingOfConnection: number
  /** Max bytes waiting to be sent, in total and per connection. */
  readonly maxBuffered: number
  readonly maxBufferedOfConnection: number
}

/** The options of the HTTP server: its timeouts, and that it answers no request itself. */
export function arrivalOptions({ arriveTimeoutMs, checkIntervalMs }: ConnectionLimits) {
  return {
    requireHostHeader: false,
    headersTimeout: arriveTimeoutMs,
    requestTimeout: arriveTimeoutMs,
    connectionsCheckingInterval: checkIntervalMs,
  }
}

/** Calls `done` when the previous responses of the connection have been sent. */
type InTurn = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void

/**
 * Starts a pipelined request when the previous responses have been sent. Otherwise hundreds of requests that
 * arrive together would be handled at once, blocking other clients, and all their responses buffered for a
 * client that may read none. Returns the hook, for requests that the router refuses itself.
 */
export function answerOneAtATime(app: FastifyInstance, limits: ConnectionLimits): InTurn {
  /** The number of waiting requests of each connection. */
  const waiting = new Map<Socket, number>()
  let total = 0

  app.server.on('connection', (socket: Socket) => {
    socket.once('close', () => {
      total -= waiting.get(socket) ?? 0
      waiting.delete(socket)
    })
  })
  const inTurn: InTurn = ({ raw: { socket } }, { raw: response }, done) => {
    // Node assigns the connection to one response after the other, and to none after it has closed.
    if (response.socket) return done()
    const count = (waiting.get(socket) ?? 0) + 1
    if (count > limits.maxWaitingOfConnection || total >= limits.maxWaiting) return stopReading(socket)
    add(socket, 1)
    response.once('socket', () => {
      add(socket, -1)
      // The next request starts after other connections have had a turn.
      setImmediate(done)
    })
  }
  app.addHook('onRequest', inTurn)
  return inTurn

  function add(socket: Socket, change: 1 | -1): void {
    waiting.set(socket, (waiting.get(socket) ?? 0) + change)
    total += change
  }
}

/** Untyped parser internals: how Node passes on each request, and 2 if the remaining bytes are not HTTP. */
interface RequestParser {
  onIncoming: () => number
}

/** Disconnects a client at once. Node alone would still parse thousands of requests that it has received. */
function stopReading(socket: Socket): void {
  const { parser } = socket as unknown as { readonly parser: RequestParser | null }
  if (parser) parser.onIncoming = () => 2
  socket.destroy()
}

/** The progress of a client that is slow to read. */
interface Backlog {
  /** When the client had last read enough, by `performance.now()`. */
  sinceMs: number
  /** Bytes of the connection it had read by then. */
  takenBytes: number
}

/** Disconnects clients that do not read their responses, and connections above the limit. */
export function boundConnections(
  server: Server & { dropMaxConnection?: boolean },
  limits: ConnectionLimits,
): void {
  server.maxConnections = limits.maxConnections
  // Also with several workers: the primary would pass the connection to the next full one.
  server.dropMaxConnection = true
  const open = new Set<Socket>()
  const backlogs = new Map<Socket, Backlog>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      backlogs.delete(socket)
    })
  })
  server.on('request', ({ httpVersion, socket }: IncomingMessage) => {
    if (httpVersion === '1.0') endedByClose.add(socket)
  })
  const timer = setInterval(check, limits.checkIntervalMs).unref()
  server.once('close', () => clearInterval(timer))

  function check(): void {
    const nowMs = performance.now()
    let bufferedBytes = 0
    for (const socket of open) {
      const waiting = socket.writableLength
      // After a 408, for example, a client may keep its side of the connection open.
      if (waiting === 0 && !socket.writableEnded) {
        backlogs.delete(socket)
        continue
      }
      if (waiting > limits.maxBufferedOfConnection || isStuck(socket, nowMs)) giveUp(socket)
      else bufferedBytes += waiting
    }
    if (bufferedBytes > limits.maxBuffered) relieve(bufferedBytes)
  }

  /** Whether a client has read too little for too long. */
  function isStuck(socket: Socket, nowMs: number): boolean {
    const takenBytes = takenBytesOf(socket)
    const backlog = backlogs.get(socket)
    if (!backlog || takenBytes - backlog.takenBytes >= limits.minBytesInTime) {
      backlogs.delete(socket)
      backlogs.set(socket, { sinceMs: nowMs, takenBytes })
      return false
    }
    return nowMs - backlog.sinceMs > limits.writeTimeoutMs
  }

  /** Disconnects clients, longest idle first, until the buffers are within the limit. */
  function relieve(bufferedBytes: number): void {
    let excess = bufferedBytes - limits.maxBuffered
    for (const socket of backlogs.keys()) {
      if (excess <= 0) return
      excess -= socket.writableLength
      giveUp(socket)
    }
  }

  function giveUp(socket: Socket): void {
    backlogs.delete(socket)
    cutOff(socket)
  }
}

/** Connections with a request over HTTP/1.0, whose response may have no other end than that of its connection. */
const endedByClose = new WeakSet<Socket>()

/** Closes a connection, so that half a response does not look complete: over HTTP/1.0, with a reset. */
export function cutOff(socket: Socket): void {
  if (endedByClose.has(socket)) socket.resetAndDestroy()
  else socket.destroy()
}

/** Untyped socket internals: how much the operating system has accepted. */
interface WriteHandle {
  readonly bytesWritten: number
  readonly writeQueueSize: number
}

/**
 * The bytes that the operating system has accepted. `socket.writableLength` shrinks only by whole responses,
 * and a large one may take a slow reader a while.
 */
function takenBytesOf(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { readonly _handle: WriteHandle | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
