import type { ServerResponse } from 'node:http'
import { Server as NetServer, type Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

import type { FastifyInstance } from 'fastify'

import { stopTimeoutMs } from '../limits.ts'

/** How a service stops: it drains, and then it closes. */
export interface Stopping {
  readonly isDraining: () => boolean
  /** Answers requests for so long, each with `Connection: close`, then takes no more and finishes what it accepted. */
  readonly stop: (drainMs: number) => Promise<void>
}

/** To be called before the application listens. */
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

/** Has a connection end with its answer, so that the next request of its client goes elsewhere. */
function endConnection(_: unknown, response: ServerResponse): void {
  response.setHeader('connection', 'close')
}

/** How long connections are kept before the port is given up, and no new one must have come when it is. */
const settleMs = 250
const quietMs = 50

/** How long a quiet moment is waited for. */
const quietPatienceMs = 3_000

/** How long a balancer that keeps idle connections for a second has to end them itself. */
const balancerIdleMs = 1_500

/**
 * Gives up the port of a service that has drained. The system resets what it has connected and the service has not
 * accepted yet, so a balancer that still sends requests would lose some of them. So its connections are kept for a
 * moment: then it uses those, and opens hardly any. They end with their next answer when the port is closed.
 */
async function givePortUp(server: Server, connections: Connections): Promise<void> {
  server.off('request', endConnection)
  await sleep(settleMs)
  await untilQuiet(connections)
  server.prependListener('request', endConnection)
  // The server's own method ends idle connections, too, over which a request may be on its way.
  NetServer.prototype.close.call(server)
  await Promise.race([connections.untilGone(), sleep(balancerIdleMs)])
}

/** Waits until no new connection has come for a moment. */
async function untilQuiet(connections: Connections): Promise<void> {
  const giveUpAtMs = performance.now() + quietPatienceMs
  for (let before = -1; before !== connections.accepted() && performance.now() < giveUpAtMs;) {
    before = connections.accepted()
    await sleep(quietMs)
    // A process that stood still finds its timer due before it looks at the network: it must look first.
    await nextTurn()
  }
}

/** How long a connection of a closing service may wait for one more request. */
const closingKeepAliveMs = 100

/** Closes the network: what was accepted is answered, within the bound. */
async function close(app: FastifyInstance, connections: Connections): Promise<void> {
  // A connection that is answered from now on is idle again after that, and would be waited for.
  app.server.keepAliveTimeout = closingKeepAliveMs
  app.server.keepAliveTimeoutBuffer = 0
  // A connection that never asked anything, a browser's spare one for instance, is owed no answer. What was sent over
  // one has been read by then.
  const sweep = setTimeout(() => {
    for (const connection of connections.open) if (connection.bytesRead === 0) connection.destroy()
  }, closingKeepAliveMs)
  const closed = app.close().then(() => {
    app.server.closeIdleConnections()
    return connections.untilGone()
  })
  await Promise.race([closed, sleep(stopTimeoutMs, undefined, { ref: false })])
  clearTimeout(sweep)
  app.server.closeAllConnections()
}

interface Connections {
  /** Those that are open at any moment. */
  readonly open: ReadonlySet<Socket>
  /** How many have been accepted in all. */
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
