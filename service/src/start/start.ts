import { randomBytes } from 'node:crypto'
import type { AddressInfo, Server } from 'node:net'

import type { FastifyInstance } from 'fastify'

import { environments } from '@purser/wire/fields'

import { createApp, type AppLimits } from '../app.ts'
import { createBackgroundLog, createWaitLog } from '../background/background-log.ts'
import { chosenKeys, type Config } from '../settings/config.ts'
import { startFiguresKeeper } from '../console/figures-keeper.ts'
import { describeSystem } from './system-context.ts'
import { createTally } from '../console/tally.ts'
import { deriveSignInKey } from '../console/sign-in-cookie.ts'
import { hashApiKey } from '../domain/api-key.ts'
import { deriveProofKeys } from '../domain/proof.ts'
import { deriveVerificationKey } from '../domain/seller-verification.ts'
import { prepareFirstStart, type MintedKeys } from './first-start.ts'
import { startHoldSweep } from '../background/hold-sweep.ts'
import { startStopContinuation } from '../background/stop-continuation.ts'
import { createIds } from '../ids.ts'
import { connectionLimits } from '../limits.ts'
import { explainListenFailure, listenForMetrics, numberOfPort } from './listening.ts'
import { explainStoreFailure, openStore, placeOfLedger } from './open-store.ts'
import type { MetricsRoute } from '../metrics/metrics-route.ts'
import type { MetricsServer } from '../metrics/metrics-server.ts'
import { scrapeOfOne, type Scrape } from '../metrics/scrape.ts'
import { ServiceMetrics } from '../metrics/service-metrics.ts'
import { createDomainProver, type ProveDomain } from '../prove-domain.ts'
import { prepareStopping, type Stopping } from './stopping.ts'
import type { Store } from '../store/store.ts'
import { commit, release } from '../version.ts'

/** A running service. */
export interface RunningService {
  /** Its URL, such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** The generated keys, if the store was empty. */
  readonly minted: MintedKeys | undefined
  /** The metrics of this process, if enabled. */
  readonly metrics: ServiceMetrics | undefined
  /** The URL of the metrics, if any. */
  readonly metricsUrl: string | undefined
  /** Resolves to the cause if the service must be restarted. */
  readonly ended: Promise<unknown>
  /**
   * Keeps accepting requests for a while (by default not at all), then finishes accepted ones within a limit, and
   * closes the store.
   */
  readonly stop: (drainMs?: number) => Promise<void>
}

export interface StartOptions {
  readonly now?: () => number
  /** The metrics of all workers, if there are several: then the primary serves them on their separate port. */
  readonly scrapeAll?: Scrape
  /** Overrides of `limits.ts`. */
  readonly limits?: AppLimits
  /** Checks the challenge of a seller's domain. */
  readonly proveDomain?: ProveDomain | undefined
}

/**
 * Starts the service: store, application, network; `limits` override those of the configuration. Throws a
 * `StoreOpenError` or a `ListenError` if it cannot start.
 */
export async function startService(
  config: Config,
  { now = Date.now, scrapeAll, proveDomain = createDomainProver(), limits = {} }: StartOptions = {},
): Promise<RunningService> {
  const metrics = config.metrics && new ServiceMetrics()
  const ended = Promise.withResolvers<unknown>()
  let reportWait: ((waitedMs: number) => void) | undefined
  const ids = createIds(now)
  const { store, proofSecrets } = await openStore(config, {
    nextId: ids.next,
    onEnd: ended.resolve,
    onWait: (waitedMs) => reportWait?.(waitedMs),
    metrics: metrics?.store,
  })
  let metricsServer: MetricsServer | undefined
  try {
    const tally = createTally(now)
    const context = {
      store,
      tally,
      decisions: metrics?.decisions,
      site: { publicUrl: config.publicUrl === undefined ? undefined : new URL(config.publicUrl) },
      now,
      ids,
      sellerVerification: {
        isRequired: config.requiresVerifiedSellers,
        key: deriveVerificationKey(proofSecrets[0]),
        proveDomain,
      },
      randomBytes,
      proofKeys: {
        sandbox: deriveProofKeys(proofSecrets, 'sandbox'),
        production: deriveProofKeys(proofSecrets, 'production'),
      },
    }
    let stopping: Stopping | undefined
    const scrape = scrapeAll ?? (metrics && scrapeOfOne(metrics))
    const system = describeSystem(config)
    const app = await createApp({
      ...context,
      isDraining: () => stopping?.isDraining() ?? false,
      chosenKeys: chosenKeys(config),
      connections: { ...connectionLimits, maxConnections: config.maxConnections },
      rateLimits: config.rateLimits,
      trustedProxies: config.trustedProxies,
      ...limits,
      system,
      accessLog: config.accessLog,
      onFinished: metrics && ((finished) => metrics.requests.observe(finished)),
      metrics: scrape && routeOf(config, scrape),
      oidc: config.oidc && { settings: config.oidc, signInKey: deriveSignInKey(proofSecrets[0]) },
      logger: { level: config.logLevel, stream: process.stderr },
    })
    reportWait = createWaitLog(app.log)
    await store.checkReady()
    stopping = prepareStopping(app)
    const { stop } = stopping
    if (scrape && !scrapeAll) metricsServer = await listenForMetrics(config, scrape)
    await listen(app, config)
    // Only once the port is ours: otherwise the keys of a failing start would never be seen.
    const minted = await prepareFirstStart(context, config.bootstrapKeys).catch(async (error: unknown) => {
      await app.close()
      throw error
    })
    // Requests are answered already: the service is ready. A store that fails now reports it elsewhere.
    if (!minted) warnAboutUnknownKeys(app.log, store, config).catch(() => undefined)
    metrics?.watch({
      store,
      now,
      readDisk: system.readDisk,
      countConnections: () => countConnections(app.server),
      build: {
        version: release,
        commit: commit(),
        node_version: process.version,
        store: config.database.kind,
      },
    })
    const observer = createBackgroundLog({ log: app.log, place: placeOfLedger(config.database) })
    const sweep = startHoldSweep({ store, now, observer })
    const stops = startStopContinuation({ store, now, observer })
    const figures = startFiguresKeeper({ store, tally, observer })
    const url = urlOf(app.server.address() as AddressInfo)
    return {
      url,
      minted,
      metrics,
      metricsUrl: metricsServer?.url ?? (config.metrics ? `${url}/metrics` : undefined),
      ended: ended.promise,
      stop: async (drainMs = 0) => {
        await stop(drainMs)
        await Promise.all([sweep.stop(), stops.stop(), figures.stop()])
        await store.close()
        await metricsServer?.close()
        metrics?.stop()
      },
    }
  } catch (error) {
    await metricsServer?.close()
    await store.close()
    throw explainStoreFailure(error, config)
  }
}

/** A chosen key that was changed or revoked later looks like a mistyped one to its user. */
async function warnAboutUnknownKeys(
  log: FastifyInstance['log'],
  store: Store,
  { bootstrapKeys }: Config,
): Promise<void> {
  for (const environment of environments) {
    const key = bootstrapKeys[environment]
    if (key === undefined || (await store.authenticate(hashApiKey(key)))) continue
    log.warn(
      `PURSER_BOOTSTRAP_${environment.toUpperCase()}_KEY is no working key of this ledger, since only a first start creates chosen keys: set the key of the first start, or issue another with purser keys issue --operator and remove the setting`,
    )
  }
}

/** Listens on the port. The welcome shows the URL, so the log does not repeat it. */
async function listen(app: FastifyInstance, config: Config): Promise<void> {
  app.log.level = 'silent'
  try {
    await app.listen({ host: config.host, port: await numberOfPort(config) })
  } catch (error) {
    throw explainListenFailure(error, config)
  } finally {
    app.log.level = config.logLevel
  }
}

/** Metrics on the main port, unless they have a separate one. */
function routeOf({ metrics }: Pick<Config, 'metrics'>, scrape: Scrape): MetricsRoute | undefined {
  if (metrics?.port !== undefined || metrics?.token === undefined) return undefined
  return { token: metrics.token, scrape }
}

function countConnections(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count ?? 0)))
}

function urlOf({ address, family, port }: AddressInfo): string {
  const host = family === 'IPv6' ? `[${address}]` : address
  return `http://${host}:${port}`
}
