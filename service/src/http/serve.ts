import type { Endpoint } from '@purser/wire/endpoint'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, ObjectSchema, Schema } from '@purser/wire/schema/type'

import type { Caller } from '../domain/records.ts'
import { maxBodyBytes } from '../limits.ts'
import { andThen, type MaybePromise } from './maybe-promise.ts'
import { AccountTurns, type TurnLimits } from './account-turns.ts'
import { refuse, unprocessable, type Answer } from './answers.ts'
import type { Authentication, CallerSession } from './authentication.ts'
import { cutOff } from './connections.ts'
import { readIdempotencyKey } from './idempotency-key.ts'
import type { RateLimits } from './rate-limits.ts'
import { traceOf } from './request-trace.ts'
import { isSameSite } from './same-site.ts'
import type { SiteOptions } from './session-cookie.ts'
import { echoExactly } from './validation/exact-echo.ts'
import { readJsonBody } from './validation/json-body.ts'
import { compileQueryReader } from './validation/query.ts'
import { compileValidator } from './validation/validator.ts'

/** The context of a route: the caller and the validated request. */
export interface Call<Body extends Schema, Query extends ObjectSchema, Params extends ObjectSchema> {
  readonly caller: Caller
  readonly body: Static<Body>
  /** The text of the body, for values that are returned unchanged. */
  readonly json: string | undefined
  readonly query: Static<Query>
  readonly params: Static<Params>
  /** The path with its query, for links of lists. */
  readonly url: string
  readonly header: (name: string) => string | undefined
  /** The `Idempotency-Key`: null without one, undefined if it is not valid. */
  readonly idempotencyKey: string | null | undefined
  /** Whether the request comes from a page of the service, or from no page. */
  readonly isSameSite: () => boolean
  /** The session of a caller with a cookie. */
  readonly session: CallerSession | undefined
  /** Runs the next step of a stream in the account's turn. */
  readonly takeTurn: <Result>(task: () => Result | Promise<Result>) => Promise<Result>
  /** Runs a change of limits in the account's turn, since an added limit may count many payments. */
  readonly changeLimits: (change: () => Promise<Answer>) => Promise<Answer>
  /** Whether the caller is still authenticated; streams check this periodically. */
  readonly isStillLetIn: () => Promise<boolean>
  /** For a cached caller, rechecks the key. Undefined for other callers. */
  readonly confirmCaller: (() => Promise<boolean>) | undefined
  /** Call this when a transaction has found the caller's key valid. */
  readonly callerIsConfirmed: () => void
}

/**
 * Identifies the caller; with `isRecheck` this does not count as a use. With `mayBeRemembered` a cached
 * caller is accepted without a look-up of the key.
 */
export type Authenticate = (
  request: FastifyRequest,
  options?: {
    readonly isRecheck?: boolean
    readonly mayBeRemembered?: boolean
    readonly mustBeKnown?: boolean
  },
) => MaybePromise<Authentication>

export interface ServeOptions {
  /**
   * Whether the route's own transaction rechecks the caller's key. Before any other response, the key is
   * looked up.
   */
  readonly confirmsCaller?: boolean
  /** Whether the route starts sessions, which are rate limited by address. */
  readonly isSignIn?: boolean
  /** Whether pages poll this automatically: a session that does nothing else counts as unused. */
  readonly isPolled?: boolean
}

/** Serves an endpoint of the interface; the handler's value becomes the response. */
export type Serve = <Body extends Schema, Query extends ObjectSchema, Params extends ObjectSchema>(
  endpoint: Endpoint<Body, Query, Params>,
  handle: (call: Call<Body, Query, Params>) => Promise<Answer>,
  options?: ServeOptions,
) => void

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    session: CallerSession | undefined
    /** Whether the caller's key still has to be checked. */
    isRemembered: boolean
    /** When waiting for the body of an authenticated request began, by `performance.now()`. */
    awaitedSinceMs: number
    /** The original content type. */
    contentType: string | undefined
  }
  interface FastifyContextConfig {
    endpoint?: Endpoint<never, never, never>
  }
}

const noBytes = Buffer.alloc(0)

/** A body or a turn that comes within this time counts as immediate. */
const promptMs = 1

export interface CreateServeOptions {
  readonly authenticate: Authenticate
  readonly site: SiteOptions
  /** Default none. */
  readonly rateLimits?: RateLimits | undefined
  /** Max concurrent list and figure reads of one account. */
  readonly reads: TurnLimits
  /** Max concurrent changes of limits of one account. */
  readonly limitChanges: TurnLimits
  /** Called with each cached caller whose key a transaction has found valid. */
  readonly onUse: (caller: Caller) => void
}

/** The `serve` of an application: authentication, then role, then validation, then the route. */
export function createServe(
  app: FastifyInstance,
  { authenticate, site, rateLimits, reads, limitChanges, onUse }: CreateServeOptions,
): Serve {
  app.decorateRequest('caller', null)
  app.decorateRequest('session', undefined)
  app.decorateRequest('isRemembered', false)
  app.decorateRequest('awaitedSinceMs', Infinity)
  app.decorateRequest('contentType', undefined)
  const turns = new AccountTurns(reads)
  const turnsOfLimitChanges = new AccountTurns(limitChanges)

  /** Rechecks the caller of a request that took a while to arrive, or to get its turn. */
  async function refusalMeanwhile(request: FastifyRequest): Promise<Answer | undefined> {
    const authentication = await authenticate(request, { isRecheck: true })
    if ('refusal' in authentication) return refuse(authentication.refusal)
    request.isRemembered = false
    return undefined
  }

  return (endpoint, handle, { confirmsCaller = false, isPolled = false, isSignIn = false } = {}) => {
    const validateBody = endpoint.body && compileValidator(endpoint.body, 'body')
    const readQuery = compileQueryReader(endpoint)
    const { roles } = endpoint
    const readsMany = endpoint.errors.includes('query_too_slow') || endpoint.query?.properties['cursor']

    function letIn(request: FastifyRequest, reply: FastifyReply): MaybePromise<Answer | undefined> {
      if (roles === 'public') return isSignIn ? rateLimits?.takeForAddress(request) : undefined
      const authentication = authenticate(request, {
        mayBeRemembered: confirmsCaller && hasFitBody(request),
        mustBeKnown: rateLimits?.mayTry(request) === false,
        isRecheck: isPolled,
      })
      return andThen(authentication, (found) => admit(found, request, reply))
    }

    function admit(
      authentication: Authentication,
      request: FastifyRequest,
      reply: FastifyReply,
    ): MaybePromise<Answer | undefined> {
      if ('refusal' in authentication) {
        const { refusal } = authentication
        const isGuess = refusal === 'invalid_api_key' || refusal === 'rate_limited'
        return (isGuess && rateLimits?.takeForAddress(request)) || refuse(refusal)
      }
      const limited = rateLimits?.takeFor(authentication.caller)
      if (limited) void reply.headers(limited.headers)
      if (limited?.refusal) return limited.refusal
      const { isRemembered = false } = authentication
      if (!roles.includes(authentication.caller.role)) {
        const meanwhile = isRemembered ? refusalMeanwhile(request) : undefined
        return andThen(meanwhile, (refusal) => refusal ?? refuse('insufficient_scope'))
      }
      request.caller = authentication.caller
      request.isRemembered = isRemembered
      request.session = authentication.session
      if (!request.raw.complete) request.awaitedSinceMs = performance.now()
      return undefined
    }

    function answer(request: FastifyRequest): Answer | Promise<Answer> {
      let query: unknown
      let body: unknown
      let json: string | undefined
      if (readQuery) {
        const validation = readQuery(request.query)
        if (!validation.ok) return unprocessable(validation.items)
        query = validation.value
      }
      if (validateBody) {
        const reading = readJsonBody((request.body as Buffer | undefined) ?? noBytes, request.contentType)
        if (reading.kind === 'unreadable') return refuse('There was an error parsing the body')
        if (reading.kind === 'invalid') return unprocessable(reading.items)
        const validation = validateBody(reading.value)
        if (!validation.ok) return unprocessable(echoExactly(validation.items, reading.json))
        body = validation.value
        json = reading.json
      }
      const header = (name: string) => request.headers[name]?.toString()
      const { caller, session, params, url } = request
      const isStillLetIn = async () => 'caller' in (await authenticate(request, { isRecheck: true }))
      return handle({
        confirmCaller: request.isRemembered
          ? async () => (await refusalMeanwhile(request)) === undefined
          : undefined,
        callerIsConfirmed() {
          if (request.isRemembered && caller) onUse(caller)
          request.isRemembered = false
        },
        caller,
        session,
        params,
        query,
        body,
        json,
        url,
        header,
        idempotencyKey: readIdempotencyKey(request.raw),
        takeTurn: (task: () => unknown) => turns.runAlways(caller?.accountId ?? '', task),
        changeLimits: async (change: () => Promise<Answer>) => {
          // The key may have been revoked while the change waited.
          const task = async () => (await refusalMeanwhile(request)) ?? change()
          return (await turnsOfLimitChanges.run(caller?.accountId ?? '', task)) ?? refuse('rate_limited')
        },
        isStillLetIn,
        isSameSite: () => isSameSite(request.headers, site),
      } as never)
    }

    /** The response of an expensive read, in the account's turn. */
    async function answerInTurn(request: FastifyRequest, { accountId }: Caller): Promise<Answer> {
      const sinceMs = performance.now()
      const task = async () => {
        // The connection has closed, so this response is never sent.
        if (request.raw.socket.destroyed) return refuse('bad_request')
        const hasWaited = performance.now() - sinceMs > promptMs
        return (hasWaited ? await refusalMeanwhile(request) : undefined) ?? answer(request)
      }
      const answered = await turns.run(accountId, task)
      return answered ?? refuse('rate_limited')
    }

    async function respond(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      try {
        const isLate = performance.now() - request.awaitedSinceMs > promptMs
        const refusal = isLate ? await refusalMeanwhile(request) : undefined
        const { caller } = request
        const answered =
          refusal ?? (await (readsMany && caller ? answerInTurn(request, caller) : answer(request)))
        send(reply, (request.isRemembered ? await refusalMeanwhile(request) : undefined) ?? answered)
      } catch (error) {
        void reply.send(error instanceof Error ? error : new Error(String(error)))
      }
    }

    app.route({
      method: endpoint.method,
      url: routePath(endpoint.path),
      exposeHeadRoute: roles === 'public',
      config: { endpoint: endpoint as unknown as Endpoint<never, never, never> },
      // Calls `done` at once or returns a promise: most requests need not wait.
      onRequest(request, reply, done): Promise<void> | void {
        const refusal = letIn(request, reply)
        if (refusal instanceof Promise) return refusal.then((answer) => void (answer && send(reply, answer)))
        if (refusal) send(reply, refusal)
        else done()
      },
      handler: (request, reply) => void respond(request, reply),
    })
  }
}

/** Whether only the route can respond: bodies without a length, or too long, may be refused before. */
function hasFitBody({ headers }: FastifyRequest): boolean {
  return Number(headers['content-length'] ?? Infinity) <= maxBodyBytes
}

/** The path of an endpoint in the router's syntax. */
export function routePath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** Sends a response as JSON or a stream, with the request id and, if present, the trace. */
export function send(reply: FastifyReply, { status, body, json, headers, stream }: Answer): FastifyReply {
  // Responses contain keys, budgets and sessions, so they must not be cached.
  void reply.header('cache-control', 'no-store')
  if (headers) void reply.headers(headers)
  void reply.header('x-request-id', reply.request.id).code(status)
  const { headers: sent } = reply.request
  if (sent['traceparent'] !== undefined && traceOf(sent))
    void reply.header('traceparent', sent['traceparent'])
  if (stream) {
    stream.once('error', () => {
      if (reply.raw.socket) cutOff(reply.raw.socket)
    })
    return reply.send(stream)
  }
  return reply.type('application/json; charset=utf-8').send(json ?? JSON.stringify(body))
}
