import { errorAnswers, type ErrorCode } from '@purser/wire/errors'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

import { QueryTooSlowError, StoreUnavailableError } from '../store/store.ts'
import { refuse } from './answers.ts'
import { keyOfError, RepeatedErrors } from './repeated-errors.ts'
import { send } from './serve.ts'

/** Responds to failures: broken requests, a failing store, a bug. */
export function answerFailures(app: FastifyInstance): void {
  app.setErrorHandler<FastifyError>((error, request, reply) => answerFailure(error, request, reply))
}

/** The response for a thrown error, never with a stack trace. */
export function answerFailure(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (error instanceof StoreUnavailableError) {
    const answer = refuse('store_unavailable')
    writeError(error, request, { status: answer.status, message: 'the store is unavailable' })
    return send(reply, { ...answer, headers: { 'retry-after': String(error.retryAfterSeconds) } })
  }
  if (error instanceof QueryTooSlowError) {
    request.log.warn({ err: error }, 'a query of the console took too long')
    return send(reply, refuse('query_too_slow'))
  }
  const code = codeByError[error.code]
  if (code) return send(reply, refuse(code))
  if (error.statusCode !== undefined && error.statusCode < 500) return send(reply, refuse('bad_request'))
  writeError(error, request, { status: 500, message: 'a bug: the request failed' })
  return send(reply, refuse('internal_error'))
}

/** The recently logged errors of an application. */
const repeatedErrors = new WeakMap<object, RepeatedErrors>()

/** Logs an error with its request, or counts it if the same error was logged recently. */
function writeError(
  error: Error,
  request: FastifyRequest,
  { status, message }: { readonly status: number; readonly message: string },
): void {
  const application = request.server.server
  const repeated = repeatedErrors.get(application) ?? new RepeatedErrors()
  repeatedErrors.set(application, repeated)
  const log = request.server.log
  const isFirst = repeated.isFirst(keyOfError(error), (count) =>
    log.error(
      { err: { type: error.name, message: error.message }, count },
      `${message}, ${count} more times`,
    ),
  )
  if (!isFirst) return
  const { caller } = request
  const about = {
    route: `${request.method} ${request.routeOptions.url ?? 'unknown'}`,
    status,
    account: caller?.accountId,
    key: caller?.keyId,
  }
  request.log.error({ err: error, ...about }, message)
}

/** The responses to errors of the HTTP library. */
const codeByError: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_BAD_URL: 'Not Found',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
}

/** Responds to bytes that are not an HTTP request, and closes the connection. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  const earlier = earlierResponseOf(socket)
  if (error.code === 'ECONNRESET' || !socket.writable || earlier?.headersSent === true) {
    socket.destroy()
    return
  }
  if (earlier) {
    // An error now would be read as the response to the earlier request, which may charge. Close after that response.
    earlier.shouldKeepAlive = false
    return
  }
  const code = codeByClientError[error.code ?? ''] ?? 'bad_request'
  const body = JSON.stringify({ detail: code })
  socket.end(
    `HTTP/1.1 ${errorAnswers[code].status} ${code}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Cache-Control: no-store\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

/** Untyped internals of Node: the response that a connection is to send next. */
interface Connection {
  readonly _httpMessage: ServerResponse | null
}

/** The unfinished response to a request that had arrived as a whole before the bytes that are not one. */
function earlierResponseOf(socket: Socket): ServerResponse | undefined {
  const { _httpMessage: response } = socket as unknown as Connection
  return response?.req.complete === true ? response : undefined
}

const codeByClientError: Record<string, ErrorCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'header_too_large',
}
