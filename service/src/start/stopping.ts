import type { ServerResponse } from 'node:http'
import { Server as NetServer, type Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

import type { FastifyInstance } from 'fastify'

import { cutOff } from '../http/connections.ts'
import { stopTimeoutMs } from '../limits.ts'

/** The shutdown of a service: it drains, then closes. */
export interface Stopping {
  readonly isDraining: () => boolean
  /**
   * Answers requests for this long, each with `Connection: close`, then stops accepting and finishes accepted
   * requests.
   */
  readonly stop: (drainMs: number) => Promise<void>
}

/** Call this before the application listens. */
export function prepareStopping(app: FastifyInstance): Stopping {
  const connections = trackConnections(app.server)
  let isDraining = false
  return {
    isDraining: () => isDraining,
    stop: async (drainMs) => {
      if (drainMs > 0) {
        isDraining = true
        app.server.prependListener('request', endConnection)
        await sleep(drainMs)
        await givePortUp(app.server, connections)
      }
      await close(app, connections)
    },
  }
}

/** Closes a connection after its response, so that its client's next request goes elsewhere. */
function endConnection(_: unknown, response: ServerResponse): void {
  response.setHeader('connection', 'close')
}

/** How long connections are kept before the port is closed, during which no new one may arrive. */
const settleMs = 250

/** How long no new connection may have arrived, and how long to wait for that: a busy process has few such moments. */
const quietMoments = [
  { quietMs: 50, patienceMs: 1_000 },
  { quietMs: 10, patienceMs: 1_000 },
  { quietMs: 1, patienceMs: 5_000 },
] as const

/** A turn of the event loop that takes less than this only looks for new connections. */
const idleTurnMs = 0.3

/** Time for a load balancer to close its idle connections itself. */
const balancerIdleMs = 1_500

/**
 * Closes the port of a drained service. The operating system resets connections that the service has not accepted
 * yet, so a load balancer that still sends requests would lose some. Existing connections are therefore kept for a
 * moment: the balancer reuses them and opens hardly any new ones. They close after their next response once the port
 * is closed.
 */
async function givePortUp(server: Server, connections: Connections): Promise<void> {
  server.off('request', endConnection)
  await sleep(settleMs)
  await untilQuiet(connections)
  // The server's own method also closes idle connections, on which a request may be arriving.
  NetServer.prototype.close.call(server)
  server.prependListener('request', endConnection)
  await Promise.race([connections.untilGone(), sleep(balancerIdleMs)])
}

/**
 * Waits until no new connection has arrived for a moment and none can be waiting to be accepted. That is only known
 * just after a sleep, when the operating system does not interrupt the process, and if looking for new connections
 * found no other work.
 */
async function untilQuiet(connections: Connections): Promise<void> {
  for (const { quietMs, patienceMs } of quietMoments) {
    const giveUpAtMs = performance.now() + patienceMs
    while (performance.now() < giveUpAtMs) {
      const before = connections.accepted()
      await sleep(quietMs)
      const wokeUpAtMs = performance.now()
      await nextTurn()
      if (performance.now() - wokeUpAtMs < idleTurnMs && connections.accepted() === before) return
    }
  }
}

/** How long a connection of a closing service may wait for one more request. */
const closingKeepAliveMs = 100

/** Closes the network: accepted requests are answered, within the limit. */
async function close(app: FastifyInstance, connections: Connections): Promise<void> {
  // A connection that is answered from now on becomes idle again, and would be waited for.
  app.server.keepAliveTimeout = closingKeepAliveMs
  app.server.keepAliveTimeoutBuffer = 0
  // A connection without any request, such as a browser's spare one, needs no response. Anything sent over it has
  // been read by now.
  const sweep = setTimeout(() => {
    for (const connection of connections.open) if (connection.bytesRead === 0) connection.destroy()
  }, closingKeepAliveMs)
  const closed = app.close().then(() => {
    app.server.closeIdleConnections()
    return connections.untilGone()
  })
  await Promise.race([closed, sleep(stopTimeoutMs, undefined, { ref: false })])
  clearTimeout(sweep)
  for (const connection of connections.open) cutOff(connection)
}

interface Connections {
  /** The currently open connections. */
  readonly open: ReadonlySet<Socket>
  /** How many have been accepted in total. */
  readonly accepted: () => number
  /** Resolves when none is open. */
  readonly untilGone: () => Promise<void>
}

function trackConnections(server: Server): Connections {
  const open = new Set<Socket>()
  let accepted = 0
  let waiting: (() => void)[] = []
  server.on('connection', (connection: Socket) => {
    open.add(connection)
    accepted += 1
    connection.once('close', () => {
      open.delete(connection)
      if (open.size > 0) return
      for (const resolve of waiting) resolve()
      waiting = []
    })
  })
  return {
    open,
    accepted: () => accepted,
    untilGone: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  }
}
