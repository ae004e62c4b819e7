import { Type, type Static } from 'typebox'
import { maxItems, maxLengths } from './lengths.ts'

/**
 * Every answer that carries only a `detail` word, with its status and when it is given.
 * The reference page of errors is generated from this table (Errors).
 */
export const errorAnswers = {
  'Not authenticated': { status: 401, when: 'the request carries no bearer credentials' },
  invalid_api_key: {
    status: 401,
    when: 'the key is unknown, mistyped or revoked, or its account is disabled',
  },
  insufficient_scope: { status: 403, when: "the key's role does not reach this endpoint or this record" },
  seller_not_yours: {
    status: 403,
    when: 'the caller owns neither the mandate nor the seller registered under merchant_domain',
  },
  merchant_not_allowed: { status: 403, when: "the mandate's allowed_sellers does not admit merchant_domain" },
  merchant_not_payee: {
    status: 403,
    when: "the collector belongs to another account and merchant_domain is neither the host of the proof's resource nor a parent domain of it",
  },
  production_payments_not_supported: { status: 400, when: 'a production key asks for a proof' },
  'There was an error parsing the body': {
    status: 400,
    when: 'the body is not UTF-8 text, or is nested too deeply to be read',
  },
  not_found: {
    status: 404,
    when: 'no record of that id exists in the account and environment of the key',
  },
  'Not Found': { status: 404, when: 'the service has no such path' },
  'Method Not Allowed': {
    status: 405,
    when: 'the path exists but not with this method; the Allow header lists those it has',
  },
  request_timeout: { status: 408, when: 'the request did not arrive whole in time' },
  account_exists: { status: 409, when: 'an account with the same idp_user_id exists' },
  own_account: { status: 409, when: "an operator is to disable the account of the operator's own key" },
  seller_exists: { status: 409, when: 'the domain is registered already in this environment' },
  last_owner_key: { status: 409, when: "the key is the account's last working owner or operator key" },
  mandate_revoked: { status: 409, when: 'a revoked mandate is to be paused or resumed' },
  proof_captured: { status: 409, when: 'a proof that has been charged is to be voided' },
  agent_revoked: { status: 409, when: 'a key or a mandate is to be made for a revoked agent' },
  payload_too_large: { status: 413, when: 'the body is over 64 KiB' },
  cross_site_request: {
    status: 403,
    when: 'the request carries a session cookie but comes from another site',
  },
  csrf_token_missing: {
    status: 403,
    when: 'a request with a session cookie is to change something, and X-Purser-Console does not carry the token of the session',
  },
  environment_not_in_session: {
    status: 403,
    when: 'X-Purser-Environment names an environment that the session does not see',
  },
  set_up_link_spent: { status: 403, when: 'the set-up link was used, has expired, or never existed' },
  invalid_session: {
    status: 401,
    when: 'the session of the cookie has ended, or its account is disabled; sign in again',
  },
  no_session: {
    status: 404,
    when: 'the request was let in by a key, and there is no session to show or end',
  },
  too_many_streams: {
    status: 429,
    when: 'the account, or the service, has as many open streams as it may; close one, or try again later',
  },
  rate_limited: {
    status: 429,
    when: 'the key, its account, or the address that wrong keys come from has sent too many requests; Retry-After says when to go on',
  },
  query_too_slow: {
    status: 503,
    when: 'the figures could not be read within the time that console queries have; payments go on',
  },
  invalid_idempotency_key: {
    status: 400,
    when: 'the Idempotency-Key header is empty, over 255 characters, or not printable ASCII',
  },
  idempotency_key_reused: {
    status: 422,
    when: 'the same caller has used the Idempotency-Key for another request',
  },
  header_too_large: { status: 431, when: 'the request headers are too large' },
  bad_request: { status: 400, when: 'the request is not well-formed HTTP' },
  internal_error: { status: 500, when: 'a bug in the service; the log has the request id' },
  shutting_down: {
    status: 503,
    when: 'the service is about to stop: send new requests elsewhere; those that still come are answered',
  },
  store_unavailable: {
    status: 503,
    when: 'the store cannot answer now; whether a change was made is not known',
  },
} as const satisfies Record<string, { status: number; when: string }>

export type ErrorCode = keyof typeof errorAnswers
export const errorCodes = Object.keys(errorAnswers) as ErrorCode[]

export const ErrorBody = Type.Object({
  detail: Type.String({
    maxLength: maxLengths.word,
    description: 'Code of the error, such as `not_found`; the reference has a page for each.',
    examples: ['not_found'],
  }),
})
export type ErrorBody = Static<typeof ErrorBody>

/** One fault of a request: where it lies, what was wrong and what would be right (Errors, 422). */
export const ValidationItem = Type.Object({
  type: Type.String({
    maxLength: maxLengths.word,
    description: 'Kind of fault, such as `missing` or `string_type`.',
    examples: ['missing'],
  }),
  loc: Type.Array(Type.Union([Type.String({ maxLength: maxLengths.word }), Type.Integer()]), {
    maxItems: maxItems.place,
    description: 'Where the fault lies: `body` or `query`, then field names and list indexes.',
    examples: [['body', 'name']],
  }),
  msg: Type.String({
    maxLength: maxLengths.message,
    description: 'What is wrong and what would be right, in a sentence.',
    examples: ['Field required'],
  }),
  input: Type.Optional(
    Type.Unknown({
      description: 'What was sent. A long text is cut and ends in `…`; a large object or list is left out.',
    }),
  ),
  ctx: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'The limits that were broken, by name; left out where there are none.',
    }),
  ),
})
export type ValidationItem = Static<typeof ValidationItem>

export const ValidationErrorBody = Type.Object({
  detail: Type.Array(ValidationItem, {
    maxItems: maxItems.faults,
    description: 'The first 20 faults, in the order of the fields.',
  }),
})
export type ValidationErrorBody = Static<typeof ValidationErrorBody>
