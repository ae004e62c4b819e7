import type { Readable } from 'node:stream'

import { errorAnswers, type ErrorCode, type ValidationItem } from '@purser/wire/errors'

import { boundEchoes } from './validation/bounded-echo.ts'

/** What a route answers: a status, a JSON body, and the headers beyond the usual ones. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  /** The body as JSON, where it is written already. */
  readonly json?: string
  readonly headers?: Readonly<Record<string, string>>
  /** What is sent instead of the body, as it comes; the headers say what it is. */
  readonly stream?: Readable
}

export function ok(body: unknown, headers?: Answer['headers']): Answer {
  return headers ? { status: 200, body, headers } : { status: 200, body }
}

export function created(body: unknown, headers?: Answer['headers']): Answer {
  return headers ? { status: 201, body, headers } : { status: 201, body }
}

/** The answer of an error code, with the status that the table of errors gives it. */
export function refuse(code: ErrorCode): Answer {
  const answer = { status: errorAnswers[code].status, body: { detail: code } }
  const headers = headersOf[code]
  return headers ? { ...answer, headers } : answer
}

/** The 422 answer: the faults of the request, in the order of its fields. */
export function unprocessable(faults: readonly ValidationItem[]): Answer {
  return { status: 422, body: { detail: boundEchoes(faults) } }
}

/** The headers that an error answer must carry. */
const headersOf: Partial<Record<ErrorCode, Record<string, string>>> = {
  'Not authenticated': { 'www-authenticate': 'Bearer' },
  invalid_api_key: { 'www-authenticate': 'Bearer error="invalid_token"' },
  invalid_session: { 'www-authenticate': 'Bearer' },
  query_too_slow: { 'retry-after': '2' },
  rate_limited: { 'retry-after': '1' },
  too_many_streams: { 'retry-after': '5' },
  store_unavailable: { 'retry-after': '1' },
}
