import type { Server } from 'node:http'
import type { Socket } from 'node:net'

import type { FastifyInstance } from 'fastify'

/** How long clients may take, and how much is kept for them. */
export interface ConnectionLimits {
  /** How long the head and the body of a request may take to arrive, each from the beginning of the request. */
  readonly arriveTimeoutMs: number
  /** How often connections are looked at; a timeout may be late by so much. */
  readonly checkIntervalMs: number
  /** Max open connections of the process; one more is closed at once. */
  readonly maxConnections: number
  /** A client that has answers waiting must take `minBytesInTime` in each stretch of so long, or all of them. */
  readonly writeTimeoutMs: number
  readonly minBytesInTime: number
  /** Whether a request that is sent before the answer to the one before it waits for that answer. */
  readonly oneAtATime: boolean
  /** Max bytes that wait to be sent, for all connections and for one. */
  readonly maxBuffered: number
  readonly maxBufferedOfConnection: number
}

/** The options of the HTTP server that bound how long a request may take to arrive. */
export function arrivalOptions({ arriveTimeoutMs, checkIntervalMs }: ConnectionLimits) {
  return {
    headersTimeout: arriveTimeoutMs,
    requestTimeout: arriveTimeoutMs,
    connectionsCheckingInterval: checkIntervalMs,
  }
}

/**
 * Begins a pipelined request when the answers before it have left. All requests that arrive together would be handled in
 * one go, hundreds of them, while nobody else is answered, and all their answers be kept for a client that reads none.
 */
export function answerOneAtATime(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, { raw: response }, done) => {
    // Node hands the connection to one response after the other, and to none any more when it has closed. The next request
    // begins when other connections have had their turn.
    if (response.socket) done()
    else response.once('socket', () => setImmediate(done))
  })
}

/** What waits for a client that does not take it. */
interface Backlog {
  /** When the client last had taken enough, on the clock of `performance.now()`. */
  sinceMs: number
  /** How many bytes of the connection it had taken by then. */
  takenBytes: number
}

/** Cuts off clients that do not take their answers, and whoever connects beyond the limit. */
export function boundConnections(
  server: Server & { dropMaxConnection?: boolean },
  limits: ConnectionLimits,
): void {
  server.maxConnections = limits.maxConnections
  // In one of several workers, too: the primary would hand the connection to the next one that is full.
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
      if (waiting > limits.maxBufferedOfConnection || isStuck(socket, nowMs)) cutOff(socket)
      else bufferedBytes += waiting
    }
    if (bufferedBytes > limits.maxBuffered) relieve(bufferedBytes)
  }

  /** Whether a client has taken too little for too long. */
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

  /** Cuts clients off until what waits for the others is within the bound: first who has taken nothing for longest. */
  function relieve(bufferedBytes: number): void {
    let excess = bufferedBytes - limits.maxBuffered
    for (const socket of backlogs.keys()) {
      if (excess <= 0) return
      excess -= socket.writableLength
      cutOff(socket)
    }
  }

  function cutOff(socket: Socket): void {
    backlogs.delete(socket)
    socket.destroy()
  }
}

/** What Node does not describe of a socket: how far the operating system has taken what was written. */
interface WriteHandle {
  readonly bytesWritten: number
  readonly writeQueueSize: number
}

/**
 * How many bytes the operating system has taken. `socket.writableLength` shrinks by whole answers only, and a large one
 * may take a slow reader a while.
 */
function takenBytesOf(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { readonly _handle: WriteHandle | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
