import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { traceOf } from './request-trace.ts'

/** A request whose answer was sent, or whose client is gone. */
export interface FinishedRequest {
  readonly request: FastifyRequest
  /** The template of the route, such as `/mandates/:mandate_id`; `unmatched` when there is none. */
  readonly route: string
  /** 499 when the client was gone before it had the whole answer. */
  readonly status: number
  readonly ms: number
}

export type RequestObserver = (finished: FinishedRequest) => void

/** As nginx has it. */
const clientGone = 499

/**
 * Tells observers of each request when it is finished. Returns the function that has them told of one, for those that no
 * hook sees. Without observers it does nothing.
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

/** Writes a line for each request: no query, no body, no key, whatever level the log has. */
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
