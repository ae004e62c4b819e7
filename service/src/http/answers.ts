import type { Readable } from 'node:stream'

import { errorAnswers, type ErrorCode, type ValidationItem } from '@purser/wire/errors'

import { boundEchoes } from './validation/bounded-echo.ts'

/** The response of a route: a status, a JSON body, and additional headers. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  /** The body as JSON text, if already serialized. */
  readonly json?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A stream to send instead of the body; the headers have its type. */
  readonly stream?: Readable
}

export function ok(body: unknown, headers?: Answer['headers']): Answer {
  return headers ? { status: 200, body, headers } : { status: 200, body }
}

export function created(body: unknown, headers?: Answer['headers']): Answer {
  return headers ? { status: 201, body, headers } : { status: 201, body }
}

/** Marks a response as a replay of an earlier one. */
export const replayed = { 'idempotent-replayed': 'true' }

/** The response for an error code, with its status from the error table. */
export function refuse(code: ErrorCode): Answer {
  const answer = { status: errorAnswers[code].status, body: { detail: code } }
  const headers = headersOf[code]
  return headers ? { ...answer, headers } : answer
}

/** The 422 response: the errors of the request, in field order. */
export function unprocessable(errors: readonly ValidationItem[]): Answer {
  return { status: 422, body: { detail: boundEchoes(errors) } }
}

/** The required headers of an error response. */
const headersOf: Partial<Record<ErrorCode, Record<string, string>>> = {
  'Not authenticated': { 'www-authenticate': 'Bearer' },
  invalid_api_key: { 'www-authenticate': 'Bearer error="invalid_token"' },
  invalid_session: { 'www-authenticate': 'Bearer' },
  query_too_slow: { 'retry-after': '2' },
  rate_limited: { 'retry-after': '1' },
  too_many_streams: { 'retry-after': '5' },
  store_unavailable: { 'retry-after': '1' },
}
