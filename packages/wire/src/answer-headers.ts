import type { Endpoint } from './endpoint.ts'
import { errorAnswers } from './errors.ts'
import { maxLengths } from './lengths.ts'

/** A response header, as declared in the OpenAPI document. */
export interface AnswerHeader {
  readonly name: string
  readonly description: string
  /** Whether every response that declares the header includes it. */
  readonly required: boolean
  readonly schema: Readonly<Record<string, unknown>>
}

/** Every response header of the service beyond those of HTTP itself, by component name. */
export const answerHeaders = {
  RequestId: {
    name: 'x-request-id',
    description: "The id of the request; each of the service's log lines about the request has it.",
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: maxLengths.word },
  },
  CacheControl: {
    name: 'Cache-Control',
    description: 'Caches must not store the response.',
    required: true,
    schema: { type: 'string', pattern: '^no-store', maxLength: maxLengths.word },
  },
  RateLimit: {
    name: 'RateLimit',
    description:
      'What is left of the quota in `RateLimit-Policy`: `r` requests, and `t` seconds until it is full again. Absent if limits are off, or if the request was refused before it was counted.',
    required: false,
    schema: { type: 'string', pattern: '^"[a-z]+";r=\\d+;t=\\d+$', maxLength: maxLengths.word },
  },
  RateLimitPolicy: {
    name: 'RateLimit-Policy',
    description: 'The quota that the request was counted against: `q` requests in `w` seconds.',
    required: false,
    schema: { type: 'string', pattern: '^"[a-z]+";q=\\d+;w=\\d+$', maxLength: maxLengths.word },
  },
  RetryAfter: {
    name: 'Retry-After',
    description: 'Seconds to wait before retrying the request.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  RetryAfterOutage: {
    name: 'Retry-After',
    description: 'Seconds to wait before retrying; absent for `shutting_down`.',
    required: false,
    schema: { type: 'integer', minimum: 1 },
  },
  ETag: {
    name: 'ETag',
    description: 'The version of the record, in quotes: send it in `If-Match` to change the record.',
    required: true,
    schema: { type: 'string', pattern: '^"[1-9]\\d*"$', maxLength: maxLengths.word },
  },
  Link: {
    name: 'Link',
    description: 'The URL of the next page, as `<…>; rel="next"` (RFC 8288); absent on the last page.',
    required: false,
    schema: { type: 'string', pattern: '^</[^>]*>; rel="next"$', maxLength: maxLengths.feedPlace },
  },
  IdempotentReplayed: {
    name: 'Idempotent-Replayed',
    description: '`true` if this is the response to an earlier request with the same `Idempotency-Key`.',
    required: false,
    schema: { type: 'string', enum: ['true'] },
  },
  WwwAuthenticate: {
    name: 'WWW-Authenticate',
    description: 'The authentication scheme of the endpoint (RFC 6750).',
    required: true,
    schema: { type: 'string', pattern: '^Bearer', maxLength: maxLengths.word },
  },
  SetSessionCookie: {
    name: 'Set-Cookie',
    description:
      'The session cookie; after signing out, one that deletes it. Its name is `__Host-purser-session` over TLS, otherwise `purser-session`.',
    required: true,
    schema: { type: 'string', pattern: '^(__Host-)?purser-session=', maxLength: maxLengths.message },
  },
  ContentDisposition: {
    name: 'Content-Disposition',
    description: 'The file name for saving in a browser.',
    required: true,
    schema: { type: 'string', pattern: '^attachment; filename="', maxLength: maxLengths.word },
  },
  AccelBuffering: {
    name: 'X-Accel-Buffering',
    description: 'Tells a proxy not to buffer events.',
    required: true,
    schema: { type: 'string', enum: ['no'] },
  },
} as const satisfies Record<string, AnswerHeader>

export type AnswerHeaderId = keyof typeof answerHeaders

/** Endpoints that replay their first response for a retry with the same `Idempotency-Key`. */
const replaying = [
  'issueProof',
  'verify',
  'authorize',
  'capture',
  'refundTransaction',
  'createMandate',
  'createBudget',
]
/** Endpoints that read one record with a version; those that change one require its version. */
const versioned = ['getMandate', 'getBudget']
const signingInOrOut = ['startSession', 'endSession']

/** The headers of an endpoint's response with this status. */
export function headersOf(one: Endpoint, status: number): AnswerHeaderId[] {
  const isLimited = one.roles !== 'public' || (status === 429 && one.errors.includes('rate_limited'))
  const isGood = status < 300
  const isList = isGood && one.query?.properties['cursor'] !== undefined
  const wait = one.errors.includes('shutting_down') ? 'RetryAfterOutage' : 'RetryAfter'
  const errorStatuses = one.errors.map((code): number => errorAnswers[code].status)
  return [
    'RequestId',
    'CacheControl',
    ...when(isLimited, 'RateLimit', 'RateLimitPolicy'),
    ...when((status === 429 || status === 503) && errorStatuses.includes(status), wait),
    ...when(isGood && (versioned.includes(one.id) || one.errors.includes('if_match_required')), 'ETag'),
    ...when(isList, 'Link'),
    ...when(isGood && replaying.includes(one.id), 'IdempotentReplayed'),
    ...when(status === 401, 'WwwAuthenticate'),
    ...when(isGood && signingInOrOut.includes(one.id), 'SetSessionCookie'),
    ...when(isGood && one.produces === 'text/csv', 'ContentDisposition'),
    ...when(isGood && one.produces === 'text/event-stream', 'AccelBuffering'),
  ]
}

function when(isSent: boolean, ...ids: AnswerHeaderId[]): AnswerHeaderId[] {
  return isSent ? ids : []
}
