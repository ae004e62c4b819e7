import { METHODS } from 'node:http'

import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { endpoints, openApiDocument } from '@purser/wire/openapi'
import fastify, { LogController, type FastifyInstance, type FastifyServerOptions } from 'fastify'

import { oidcPath, serveOidcSignIn, type OidcOptions } from './console/oidc-sign-in.ts'
import { builtConsole, serveStaticFiles } from './console/static-files.ts'
import { refuse } from './http/answers.ts'
import { createAuthentication } from './http/authentication.ts'
import { answerClientError, answerFailure, answerFailures } from './http/failures.ts'
import { createSessionAuthentication } from './http/session-authentication.ts'
import { createServe, routePath, send } from './http/serve.ts'
import { keepAliveTimeoutMs, maxBodyBytes, maxParameterLength, requestTimeoutMs } from './limits.ts'
import { serveAccounts } from './routes/accounts.ts'
import { serveAgents } from './routes/agents.ts'
import { serveApiKeys } from './routes/api-keys.ts'
import { serveAuditLog } from './routes/audit-log.ts'
import { serveConsoleAgents } from './routes/console-agents.ts'
import { serveConsoleApiKeys } from './routes/console-api-keys.ts'
import { serveConsoleFeed } from './routes/console-feed.ts'
import { serveConsoleMandates } from './routes/console-mandates.ts'
import { serveConsoleOverview } from './routes/console-overview.ts'
import { serveConsoleSearch } from './routes/console-search.ts'
import { serveConsoleSellers } from './routes/console-sellers.ts'
import { serveConsoleSession } from './routes/console-session.ts'
import { serveConsoleStop } from './routes/console-stop.ts'
import { serveConsoleSystem, type SystemContext } from './routes/console-system.ts'
import { serveConsoleTransactions } from './routes/console-transactions.ts'
import type { RouteContext } from './routes/context.ts'
import { serveHealth } from './routes/health.ts'
import { serveMandates } from './routes/mandates.ts'
import { servePayments } from './routes/payments.ts'
import { servePolicy } from './routes/policy.ts'
import { serveSellers } from './routes/sellers.ts'
import { serveTransactions } from './routes/transactions.ts'
import { serveVerifyAgent } from './routes/verify-agent.ts'

/** What the application is made of. */
export interface AppOptions extends RouteContext {
  /** Keys that the operator chose himself, and which need not carry a checksum. */
  readonly chosenKeys: ReadonlySet<string>
  readonly system: SystemContext
  /** Signing in at an identity provider, where one is set up. */
  readonly oidc?: Pick<OidcOptions, 'settings' | 'signInKey'> | undefined
  readonly logger: NonNullable<FastifyServerOptions['logger']>
}

/** The HTTP application, ready to listen: interface 0.1.0 over a store. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    // While it closes, a request that still arrives on an open connection is answered, and that ends it.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    logController: new LogController({ disableRequestLogging: true }),
    logger: options.logger,
    genReqId: requestId,
    routerOptions: { maxParamLength: maxParameterLength },
    frameworkErrors: (error, request, reply) => void answerFailure(error, request, reply),
    clientErrorHandler: answerClientError,
  })
  readBodiesAsBytes(app)
  answerFailures(app)
  answerOtherMethods(app)

  const { store, chosenKeys } = options
  const authenticateKey = createAuthentication({
    findCaller: store.authenticate,
    chosenKeys,
    onUse: options.tally.countUse,
  })
  const authenticateSession = createSessionAuthentication({ ...options.site, store, now: options.now })
  const serve = createServe(app, {
    site: options.site,
    onUse: options.tally.countUse,
    // A cookie counts only for who shows no key.
    authenticate: (request, how) =>
      request.headers.authorization === undefined && request.headers.cookie !== undefined
        ? authenticateSession(request, how)
        : authenticateKey(request.headers.authorization, how),
  })
  serveAccounts(serve, options)
  serveApiKeys(serve, options)
  serveAgents(serve, options)
  serveMandates(serve, options)
  serveSellers(serve, options)
  servePayments(serve, options)
  servePolicy(serve, options)
  serveVerifyAgent(serve, options)
  serveTransactions(serve, options)
  serveAuditLog(serve, options)
  serveHealth(serve, options)
  serveConsoleSession(serve, { ...options, authenticateKey, oidcPath: options.oidc ? oidcPath : null })
  serveConsoleOverview(serve, options)
  serveConsoleMandates(serve, options)
  serveConsoleTransactions(serve, options)
  serveConsoleAgents(serve, options)
  serveConsoleSellers(serve, options)
  serveConsoleApiKeys(serve, options)
  serveConsoleSearch(serve, options)
  serveConsoleStop(serve, options)
  const feeds = serveConsoleFeed(serve, options)
  app.addHook('preClose', (done) => {
    feeds.end()
    done()
  })
  serveConsoleSystem(serve, options, { system: options.system, feeds })
  serveStaticFiles(app, builtConsole)
  leadToConsole(app)
  if (options.oidc) serveOidcSignIn(app, { ...options, ...options.oidc })
  await serveReference(app)
  return app
}

/** 53 random bits as text. A count would tell each tenant how much the others do. */
function requestId(): string {
  return Math.random().toString(36).slice(2)
}

/**
 * Hands every body to the routes as bytes, whatever its content type: what a content type means is the
 * interface's affair (the 422 body), so the HTTP library only sees one it knows nothing about.
 */
function readBodiesAsBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  app.addHook('onRequest', (request, _reply, done) => {
    request.contentType = request.headers['content-type']
    request.raw.headers['content-type'] = 'application/octet-stream'
    done()
  })
}

/** CONNECT is for proxies and reaches no application. */
const methods = METHODS.filter((method) => method !== 'CONNECT')

/** Answers 405 with `Allow` on every path of the interface, for the methods that it does not have. */
function answerOtherMethods(app: FastifyInstance): void {
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  const served = [...endpoints, { method: 'GET', path: openApiPath }, { method: 'GET', path: referencePath }]
  for (const [url, known] of Map.groupBy(served, ({ path }) => routePath(path))) {
    const allowed = known.map(({ method }) => method).sort()
    app.route({
      method: methods.filter((method) => !allowed.includes(method)),
      url,
      handler: (_request, reply) =>
        send(reply, { ...refuse('Method Not Allowed'), headers: { allow: allowed.join(', ') } }),
    })
  }
}

/** Leads a browser from the bare address to the console; for all others `/` is as unknown as the interface has it. */
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

/** All that the reference may load: its own files, and the pictures that are drawn within them. */
const referencePolicy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'self'; frame-ancestors 'self'"

/** The OpenAPI document, and the interactive reference that is drawn from it. */
async function serveReference(app: FastifyInstance): Promise<void> {
  app.get(openApiPath, (_request, reply) => send(reply, { status: 200, body: openApiDocument }))
  await app.register(swagger, { mode: 'static', specification: { document: openApiDocument as never } })
  await app.register(swaggerUi, { routePrefix: referencePath, staticCSP: referencePolicy })
}
