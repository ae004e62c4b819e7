import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { traceOf } from './request-trace.ts'

/** A finished request: answered, or its client has disconnected. */
export interface FinishedRequest {
  readonly request: FastifyRequest
  /** The template of the route, such as `/mandates/:mandate_id`; `unmatched` if there is none. */
  readonly route: string
  /** 499 if the client disconnected before it had the complete response. */
  readonly status: number
  readonly ms: number
}

export type RequestObserver = (finished: FinishedRequest) => void

/** As in nginx. */
const clientGone = 499

/**
 * Reports each finished request to observers. Returns a function to report requests that no hook sees. Does nothing
 * without observers.
 */
export function watchRequests(
  app: FastifyInstance,
  observers: readonly RequestObserver[],
): (request: FastifyRequest, reply: FastifyReply) => void {
  if (observers.length === 0) return () => undefined
  const watch = (request: FastifyRequest, reply: FastifyReply) => {
    reply.raw.on('close', () => {
      const finished = {
        request,
        route: request.routeOptions.url ?? 'unmatched',
        status: reply.raw.writableFinished ? reply.raw.statusCode : clientGone,
        ms: reply.elapsedTime,
      }
      for (const observe of observers) observe(finished)
    })
  }
  app.addHook('onRequest', (request, reply, done) => {
    watch(request, reply)
    done()
  })
  return watch
}

/** Logs each request, without query, body or key, at every log level. */
export function createAccessLog(log: FastifyBaseLogger): RequestObserver {
  const lines = log.child({}, { level: 'info' })
  return ({ request, route, status, ms }) => {
    const { id, method, caller, headers } = request
    lines.info(
      {
        reqId: id,
        traceId: traceOf(headers)?.traceId,
        method,
        route,
        status,
        ms: Math.round(ms * 1_000) / 1_000,
        account: caller?.accountId,
        key: caller?.keyId,
      },
      'request',
    )
  }
}
