import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AddressInfo, Server, Socket } from 'node:net'

import type { FastifyInstance } from 'fastify'

import { createApp } from './app.ts'
import { createBackgroundLog } from './background-log.ts'
import { chosenKeys, type Config } from './config.ts'
import { startFiguresKeeper } from './console/figures-keeper.ts'
import { describeSystem } from './console/system.ts'
import { createTally } from './console/tally.ts'
import { deriveSignInKey } from './console/sign-in-cookie.ts'
import { deriveProofKeys } from './domain/proof.ts'
import { prepareFirstStart, type MintedKeys } from './first-start.ts'
import { startHoldSweep } from './hold-sweep.ts'
import { createIds } from './ids.ts'
import { stopTimeoutMs } from './limits.ts'
import { explainStoreFailure, openStore, placeOfLedger } from './open-store.ts'
import { codeOf } from './store/error-code.ts'

/** A service that answers. */
export interface RunningService {
  /** Where it answers, such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** The keys that were minted, when the store was empty. */
  readonly minted: MintedKeys | undefined
  /** Resolves to the cause when the service can serve no longer, until it is started anew. */
  readonly ended: Promise<unknown>
  /** Finishes what was accepted, within a bound, and lets go of the store. */
  readonly stop: () => Promise<void>
}

/** The service cannot listen; the message says why and what would help. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

/**
 * The service, started: store, application, network. Throws a `StoreOpenError` or a `ListenError` when
 * it cannot be.
 */
export async function startService(config: Config, now: () => number = Date.now): Promise<RunningService> {
  const ended = Promise.withResolvers<unknown>()
  const { store, proofSecrets } = await openStore(config, { onEnd: ended.resolve })
  try {
    const tally = createTally(now)
    const context = {
      store,
      tally,
      site: { publicUrl: config.publicUrl === undefined ? undefined : new URL(config.publicUrl) },
      now,
      ids: createIds(now),
      randomBytes,
      proofKeys: {
        sandbox: deriveProofKeys(proofSecrets, 'sandbox'),
        production: deriveProofKeys(proofSecrets, 'production'),
      },
    }
    const app = await createApp({
      ...context,
      chosenKeys: chosenKeys(config),
      system: describeSystem(config),
      oidc: config.oidc && { settings: config.oidc, signInKey: deriveSignInKey(proofSecrets[0]) },
      logger: { level: config.logLevel, stream: process.stderr },
    })
    await store.checkReady()
    await listen(app, config)
    const connections = trackConnections(app.server)
    // After the port is won: keys that a failing start made would be shown to nobody.
    const minted = await prepareFirstStart(context, config.bootstrapKeys).catch(async (error: unknown) => {
      await app.close()
      throw error
    })
    const observer = createBackgroundLog({ log: app.log, place: placeOfLedger(config.database) })
    const sweep = startHoldSweep({ store, now, observer })
    const figures = startFiguresKeeper({ store, tally, observer })
    return {
      url: urlOf(app.server.address() as AddressInfo),
      minted,
      ended: ended.promise,
      stop: async () => {
        await closeApp(app, connections)
        await Promise.all([sweep.stop(), figures.stop()])
        await store.close()
      },
    }
  } catch (error) {
    await store.close()
    throw explainStoreFailure(error, config)
  }
}

/** Takes the port. The welcome says where, in words for people, so the log does not say it again. */
async function listen(app: FastifyInstance, config: Config): Promise<void> {
  app.log.level = 'silent'
  try {
    await app.listen({ host: config.host, port: config.port })
  } catch (error) {
    throw explainListenFailure(error, config)
  } finally {
    app.log.level = config.logLevel
  }
}

/** How long a connection of a closing service may wait for one more request. */
const closingKeepAliveMs = 100

/** Closes the network: what was accepted is answered, within the bound. */
async function closeApp(app: FastifyInstance, connections: ReadonlySet<Socket>): Promise<void> {
  // A connection that never asked anything, a browser's spare one for instance, is owed no answer.
  for (const connection of connections) if (connection.bytesRead === 0) connection.destroy()
  // A connection that is answered from now on is idle again after that, and would be waited for.
  app.server.keepAliveTimeout = closingKeepAliveMs
  app.server.keepAliveTimeoutBuffer = 0
  await Promise.race([app.close(), sleep(stopTimeoutMs, undefined, { ref: false })])
  app.server.closeAllConnections()
}

/** The connections that are open at any moment. */
function trackConnections(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>()
  server.on('connection', (connection: Socket) => {
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
  })
  return connections
}

function urlOf({ address, family, port }: AddressInfo): string {
  const host = family === 'IPv6' ? `[${address}]` : address
  return `http://${host}:${port}`
}

function explainListenFailure(error: unknown, { host, port }: Config): unknown {
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return new ListenError(
        `Port ${port} on ${host} is taken; choose another with PURSER_PORT, or 0 for any free one`,
      )
    case 'EACCES':
      return new ListenError(
        `Port ${port} needs rights that this user lacks; choose one above 1023 with PURSER_PORT`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new ListenError(`${host} is no address of this machine; set PURSER_HOST to 127.0.0.1 or 0.0.0.0`)
    default:
      return error
  }
}
