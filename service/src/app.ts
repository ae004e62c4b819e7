import { endpoints } from '@purser/wire/openapi'
import fastify, {
  errorCodes,
  LogController,
  type FastifyInstance,
  type FastifyReply,
  type FastifyServerOptions,
} from 'fastify'

import type { OidcOptions } from './console/oidc-sign-in.ts'
import { oidcPath } from './console/sign-in-cookie.ts'
import { builtConsole, serveStaticFiles } from './console/static-files.ts'
import type { TurnLimits } from './http/account-turns.ts'
import { refuse } from './http/answers.ts'
import { createAuthentication } from './http/authentication.ts'
import {
  answerOneAtATime,
  arrivalOptions,
  boundConnections,
  type ConnectionLimits,
} from './http/connections.ts'
import { answerClientError, answerFailure, answerFailures } from './http/failures.ts'
import { requestIdOf, traceOf } from './http/request-trace.ts'
import { createAccessLog, watchRequests, type RequestObserver } from './http/watch-requests.ts'
import { RateLimits, type RateLimitSettings } from './http/rate-limits.ts'
import { createSessionAuthentication } from './http/session-authentication.ts'
import { createServe, routePath, send } from './http/serve.ts'
import { createStreamSlots } from './http/stream-slots.ts'
import {
  limitChangesOfAccount,
  connectionLimits,
  defaultRateLimits,
  keepAliveTimeoutMs,
  maxBodyBytes,
  maxExports,
  maxExportsOfAccount,
  maxParameterLength,
  readsOfAccount,
} from './limits.ts'
import { serveMetrics, type MetricsRoute } from './metrics/metrics-route.ts'
import { metricsPath } from './metrics/metrics-token.ts'
import { serveAccounts } from './routes/accounts.ts'
import { serveAgents } from './routes/agents.ts'
import { serveApiKeys } from './routes/api-keys.ts'
import { serveAuditLog } from './routes/audit-log.ts'
import { serveAuthorizations } from './routes/authorizations.ts'
import { serveBudgets } from './routes/budgets.ts'
import { serveConsoleAgents } from './routes/console/agents.ts'
import { serveConsoleApiKeys } from './routes/console/api-keys.ts'
import { serveConsoleFeed } from './routes/console/feed.ts'
import { serveConsoleMandates } from './routes/console/mandates.ts'
import { serveConsoleOverview } from './routes/console/overview.ts'
import { serveConsoleSpending } from './routes/console/spending.ts'
import { serveConsoleSearch } from './routes/console/search.ts'
import { serveConsoleSellers } from './routes/console/sellers.ts'
import { serveConsoleSession } from './routes/console/session.ts'
import { serveConsoleStatus } from './routes/console/status.ts'
import { serveConsoleStop } from './routes/console/stop.ts'
import { serveConsoleSystem, type SystemContext } from './routes/console/system.ts'
import { serveConsoleTransactions } from './routes/console/transactions.ts'
import type { RouteContext } from './routes/context.ts'
import { createExports } from './routes/csv-export.ts'
import { serveHealth } from './routes/health.ts'
import { serveApprovals } from './routes/approvals.ts'
import { serveBacktests } from './routes/backtests.ts'
import { serveJournal } from './routes/journal.ts'
import { serveMandates } from './routes/mandates.ts'
import { servePayments } from './routes/payments.ts'
import { servePolicy } from './routes/policy.ts'
import { serveRefunds } from './routes/refunds.ts'
import { serveSellers } from './routes/sellers.ts'
import { serveSessions } from './routes/sessions.ts'
import { serveSettlements } from './routes/settlements.ts'
import { serveTestClock } from './routes/test-clock.ts'
import { serveTransactions } from './routes/transactions.ts'
import { serveVerifyAgent } from './routes/verify-agent.ts'

/** Limits per client and account; default `limits.ts`. */
export interface AppLimits {
  readonly connections?: ConnectionLimits
  readonly rateLimits?: RateLimitSettings | 'off'
  /** The reverse proxies that name the address of their clients; none by default. */
  readonly trustedProxies?: readonly string[]
  /** Max concurrent list and figure reads of one account. */
  readonly reads?: TurnLimits
  /** Max concurrent changes of limits of one account. */
  readonly limitChanges?: TurnLimits
}

/** The dependencies of the application. */
export interface AppOptions extends RouteContext, AppLimits {
  /** Keys chosen by the operator, which need no checksum. */
  readonly chosenKeys: ReadonlySet<string>
  readonly system: SystemContext
  /** Sign-in with an identity provider, if configured. */
  readonly oidc?: Pick<OidcOptions, 'settings' | 'signInKey'> | undefined
  readonly logger: NonNullable<FastifyServerOptions['logger']>
  /** Whether the service is about to stop. */
  readonly isDraining?: () => boolean
  /** Whether each request is logged. */
  readonly accessLog?: boolean
  /** Called with each finished request. */
  readonly onFinished?: RequestObserver | undefined
  /** Metrics on the main port, if enabled. */
  readonly metrics?: MetricsRoute | undefined
}

/** The HTTP application, ready to listen: interface 0.1.0 over a store. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { connections = connectionLimits, trustedProxies = [] } = options
  const app = fastify({
    bodyLimit: maxBodyBytes,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    http: arrivalOptions(connections),
    requestTimeout: connections.arriveTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    // While closing, answer requests on open connections, then close those connections.
    return503OnClosing: false,
    // Public pages answer HEAD; endpoints with a key do not.
    exposeHeadRoutes: true,
    logController: new LogController({ disableRequestLogging: true }),
    logger: options.logger,
    genReqId: ({ headers }) => requestIdOf(headers),
    routerOptions: { maxParamLength: maxParameterLength },
    // No route has a Fastify schema, so loading Fastify's compilers would only slow each start.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    frameworkErrors: (error, request, reply) => {
      watch(request, reply)
      inTurn(request, reply, () => void answerFailure(error, request, reply))
    },
    clientErrorHandler: answerClientError,
  })
  const watch = watchRequests(app, [
    ...(options.onFinished ? [options.onFinished] : []),
    ...(options.accessLog === true ? [createAccessLog(app.log)] : []),
  ])
  boundConnections(app.server, connections)
  const inTurn: ReturnType<typeof answerOneAtATime> = connections.oneAtATime
    ? answerOneAtATime(app, connections)
    : (_request, _reply, done) => done()
  answerLikeOthers(app)
  readBodiesAsBytes(app)
  nameTraces(app)
  answerFailures(app)
  answerTheRest(app, options.metrics ? [metricsPath] : [])

  const { store, chosenKeys } = options
  const authenticateKey = createAuthentication({
    findCaller: store.authenticate,
    chosenKeys,
    onUse: options.tally.countUse,
  })
  const {
    rateLimits: quotas = defaultRateLimits,
    reads = readsOfAccount,
    limitChanges = limitChangesOfAccount,
  } = options
  const rateLimits = quotas === 'off' ? undefined : new RateLimits(quotas)
  const authenticateSession = createSessionAuthentication({
    ...options.site,
    store,
    now: options.now,
    mayGuess: (request) => !rateLimits?.takeForAddress(request),
  })
  const serve = createServe(app, {
    rateLimits,
    reads,
    limitChanges,
    site: options.site,
    onUse: options.tally.countUse,
    // A cookie is used only without a key.
    authenticate: (request, how) =>
      request.headers.authorization === undefined && request.headers.cookie !== undefined
        ? authenticateSession(request, how)
        : authenticateKey(request.headers.authorization, how),
  })
  serveAccounts(serve, options)
  serveApiKeys(serve, options)
  serveSessions(serve, options)
  serveAgents(serve, options)
  serveMandates(serve, options)
  serveApprovals(serve, options)
  serveBacktests(serve, options)
  serveBudgets(serve, options)
  serveSellers(serve, options)
  servePayments(serve, options)
  serveAuthorizations(serve, options)
  servePolicy(serve, options)
  serveVerifyAgent(serve, options)
  const exportSlots = createStreamSlots({ most: maxExports, mostOfAccount: maxExportsOfAccount })
  const answerExport = createExports(exportSlots, options.now)
  serveTransactions(serve, options, answerExport)
  serveRefunds(serve, options)
  serveJournal(serve, options, answerExport)
  serveSettlements(serve, options)
  serveTestClock(serve, options)
  serveAuditLog(serve, options)
  serveHealth(serve, options)
  serveConsoleSession(serve, { ...options, authenticateKey, oidcPath: options.oidc ? oidcPath : null })
  serveConsoleOverview(serve, options)
  serveConsoleSpending(serve, options)
  serveConsoleMandates(serve, options)
  serveConsoleTransactions(serve, options, answerExport)
  serveConsoleAgents(serve, options)
  serveConsoleSellers(serve, options)
  serveConsoleApiKeys(serve, options)
  serveConsoleSearch(serve, options)
  serveConsoleStatus(serve, options)
  serveConsoleStop(serve, options)
  const feeds = serveConsoleFeed(serve, options)
  app.addHook('preClose', (done) => {
    feeds.end()
    done()
  })
  serveConsoleSystem(serve, options, { system: options.system, feeds })
  serveStaticFiles(app, builtConsole)
  leadToConsole(app)
  if (options.metrics) serveMetrics(app, options.metrics, rateLimits)
  if (options.oidc) {
    const { serveOidcSignIn } = await import('./console/oidc-sign-in.ts')
    serveOidcSignIn(app, { ...options, ...options.oidc, rateLimits })
  }
  serveReference(app)
  return app
}

/**
 * Passes every body to the routes as bytes, whatever its content type: the interface defines how content
 * types are handled (the 422 body), so the HTTP library sees only an unknown one. Reading bytes itself, it
 * would copy them again.
 */
function readBodiesAsBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/octet-stream', ({ headers }, payload, done) => {
    let body: Buffer = Buffer.alloc(0)
    let length = 0
    const refuseLength = () => done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE())
    if (Number(headers['content-length']) > maxBodyBytes) return refuseLength()
    payload.on('data', (chunk: Buffer) => {
      if (length > maxBodyBytes) return
      const end = length + chunk.length
      if (end > maxBodyBytes) refuseLength()
      else if (length === 0) body = chunk
      else {
        // Copied, because each small chunk that is kept takes much more memory than its bytes.
        if (end > body.length) body = grow(body, end)
        chunk.copy(body, length)
      }
      length = end
    })
    // Without an end, the client has disconnected.
    payload.on('end', () => {
      if (length <= maxBodyBytes) done(null, body.subarray(0, length))
    })
  })
  app.addHook('onRequest', (request, _reply, done) => {
    request.contentType = request.headers['content-type']
    request.raw.headers['content-type'] = 'application/octet-stream'
    done()
  })
}

/** A copy of a buffer with room for this many bytes and more, so that a body in many chunks is copied few times. */
function grow(body: Buffer, leastBytes: number): Buffer {
  const grown = Buffer.allocUnsafeSlow(Math.min(maxBodyBytes, Math.max(leastBytes, 2 * body.length)))
  body.copy(grown)
  return grown
}

/** Answers what Node would answer at once, without a turn: requests without a host, or with an unknown expectation. */
function answerLikeOthers(app: FastifyInstance): void {
  app.server.on('checkExpectation', (...request) => app.server.emit('request', ...request))
  app.addHook('onRequest', ({ raw: { httpVersion, headers } }, reply, done) => {
    if (httpVersion !== '1.1' || headers.host !== undefined) return done()
    send(reply, { ...refuse('bad_request'), headers: { connection: 'close' } })
  })
}

/** Adds the trace id to the log lines of a request. */
function nameTraces(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const trace = traceOf(request.headers)
    if (trace) request.log = request.log.child({ traceId: trace.traceId })
    done()
  })
}

/**
 * Answers 405 with `Allow` on every path of the interface for other methods, and 404 elsewhere. The fallback does it: a
 * route for each method and path would take a tenth of the time of a start.
 */
function answerTheRest(app: FastifyInstance, ownPages: readonly string[]): void {
  const pages = [openApiPath, referencePath, ...ownPages].map((path) => ({
    method: 'GET',
    path,
    roles: 'public',
  }))
  const paths = [...Map.groupBy([...endpoints, ...pages], ({ path }) => routePath(path))].map(
    ([url, known]) => ({
      url,
      segments: url.split('/'),
      allowed: known
        .flatMap(({ method, roles }) => (method === 'GET' && roles === 'public' ? ['GET', 'HEAD'] : [method]))
        .sort(),
    }),
  )
  // Names take precedence over parameters, like in the router: letters sort after the colon.
  paths.sort((a, b) => (a.url < b.url ? 1 : -1))
  for (const { url, segments, allowed } of paths) {
    // These need routes, or a path with a parameter would answer.
    const others = paths.filter((other) => other.url !== url && isPathOf(other.segments, segments))
    const method = [...new Set(others.flatMap((other) => other.allowed))].filter(
      (one) => !allowed.includes(one),
    )
    if (method.length === 0) continue
    app.route({ method, url, handler: (_request, reply) => sendNotAllowed(reply, allowed) })
  }
  app.setNotFoundHandler((request, reply) => {
    const path = segmentsOf(request.url)
    const known = path && paths.find(({ segments }) => isPathOf(segments, path))
    return known ? sendNotAllowed(reply, known.allowed) : send(reply, refuse('Not Found'))
  })
}

function sendNotAllowed(reply: FastifyReply, allowed: readonly string[]): FastifyReply {
  return send(reply, { ...refuse('Method Not Allowed'), headers: { allow: allowed.join(', ') } })
}

function segmentsOf(url: string): string[] | undefined {
  const [path = ''] = url.split('?', 1)
  try {
    return decodeURI(path).split('/')
  } catch {
    return undefined
  }
}

function isPathOf(segments: readonly string[], path: readonly string[]): boolean {
  return (
    path.length === segments.length && segments.every((segment, index) => isSegment(segment, path[index]))
  )
}

function isSegment(segment: string, given = ''): boolean {
  return segment.startsWith(':') ? given !== '' && given.length <= maxParameterLength : given === segment
}

/** Redirects browsers from `/` to the console; for all other clients `/` is an unknown path. */
function leadToConsole(app: FastifyInstance): void {
  app.get('/', (request, reply) => {
    const { accept = '', authorization } = request.headers
    const isBrowser = accept.includes('text/html') && authorization === undefined
    return isBrowser
      ? reply.headers({ vary: 'accept', 'cache-control': 'no-store' }).redirect('/console/', 302)
      : send(reply, refuse('Not Found'))
  })
}

const openApiPath = '/openapi.json'
const referencePath = '/docs'

/** The OpenAPI document as text, once it is needed. */
let openApiJson: string | undefined

/**
 * The OpenAPI document, and the interactive reference based on it. Both are loaded by the first request for them, because
 * they would take an eighth of the time of each start.
 */
function serveReference(app: FastifyInstance): void {
  app.get(openApiPath, async (_request, reply) => {
    const { openApiDocument } = await import('@purser/wire/openapi/document')
    openApiJson ??= JSON.stringify(openApiDocument)
    return send(reply, { status: 200, body: openApiDocument, json: openApiJson })
  })
  let reference: Promise<FastifyInstance> | undefined
  for (const page of ['', '/', '/json', '/yaml', '/static/*']) {
    app.get(referencePath + page, async (request, reply) => {
      reference ??= import('./reference.ts').then(({ createReference }) => createReference(referencePath))
      const { routing } = await reference
      reply.hijack()
      routing(request.raw, reply.raw)
    })
  }
}

function noCompiler(): never {
  throw new Error('a route has a Fastify schema, but no compiler for it is loaded')
}
