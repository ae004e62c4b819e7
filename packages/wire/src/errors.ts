import { Type, type Static } from './schema/type.ts'
import { maxItems, maxLengths } from './lengths.ts'

/**
 * Every error with only a `detail` code, with its status and cause. The error reference is generated from
 * this table (Errors).
 */
export const errorAnswers = {
  'Not authenticated': { status: 401, when: 'the request has no bearer token' },
  invalid_api_key: {
    status: 401,
    when: 'the key is unknown, mistyped or revoked, or its account is disabled',
  },
  insufficient_scope: { status: 403, when: "the key's role has no access to this endpoint or record" },
  seller_not_yours: {
    status: 403,
    when: 'the caller owns neither the mandate nor the seller registered under merchant_domain',
  },
  merchant_not_allowed: {
    status: 403,
    when: "the mandate's allowed_sellers does not include merchant_domain, or it now enforces categories that do not include the proof's",
  },
  merchant_not_payee: {
    status: 403,
    when: "the collector belongs to another account and merchant_domain is neither the host of the proof's resource nor a parent domain of it",
  },
  resource_not_allowed: {
    status: 403,
    when: "the mandate's allowed_resources no longer include the resource of the proof",
  },
  category_mismatch: { status: 403, when: 'the request names another category than the proof' },
  production_payments_not_supported: { status: 400, when: 'a production key requests a proof' },
  sandbox_only: { status: 400, when: 'a production key reads or advances the test clock' },
  test_clock_too_far: {
    status: 409,
    when: 'the test clock would be more than ten years ahead; it was not advanced',
  },
  'There was an error parsing the body': {
    status: 400,
    when: 'the body is not UTF-8 text, or is nested too deeply',
  },
  not_found: {
    status: 404,
    when: 'no record with that id exists in the account and environment of the key',
  },
  budget_not_found: {
    status: 404,
    when: 'no shared budget with the id in the body exists in the account and environment of the key',
  },
  'Not Found': { status: 404, when: 'the service has no such path' },
  'Method Not Allowed': {
    status: 405,
    when: 'the path does not support this method; the Allow header lists the methods it supports',
  },
  request_timeout: { status: 408, when: 'the complete request did not arrive in time' },
  account_exists: { status: 409, when: 'an account with the same idp_user_id exists' },
  budget_too_deep: { status: 409, when: 'the parent of the budget already has three budgets above it' },
  own_account: { status: 409, when: "an operator tries to disable the account of the operator's own key" },
  seller_exists: { status: 409, when: 'the domain is already registered in this environment' },
  last_owner_key: { status: 409, when: "the key is the account's last working owner or operator key" },
  mandate_revoked: {
    status: 409,
    when: 'the request changes a revoked mandate, or asks for wider terms of one',
  },
  budget_below_committed: {
    status: 409,
    when: 'a new total budget, or the new maximum of a limit of a shared budget, is below what is spent, authorized and held',
  },
  history_too_long: {
    status: 409,
    when: 'a limit is added that would have to count more than 20,000 payments or decisions of its current period',
  },
  if_match_required: {
    status: 428,
    when: 'the request changes a versioned record without If-Match, so it could undo a change that the caller has not seen',
  },
  version_mismatch: {
    status: 412,
    when: 'the version in If-Match is not the current one: the record has changed since it was read',
  },
  widening_needs_owner: {
    status: 403,
    when: 'the amendment allows something that the mandate does not allow, or changes its purpose, and the caller is not an owner',
  },
  idempotency_key_required: { status: 400, when: 'a refund is requested without an Idempotency-Key header' },
  not_refundable: { status: 409, when: 'the transaction is not a payment, so there is nothing to refund' },
  refund_exceeds_payment: {
    status: 409,
    when: 'the amount, with the earlier refunds, is above what the payment charged; nothing was refunded',
  },
  too_many_refunds: { status: 409, when: 'the payment has 100 refunds, which is the max' },
  order_already_paid: { status: 409, when: 'the order was paid under this mandate' },
  order_mismatch: {
    status: 409,
    when: 'the order has an open proof for another amount or resource under this mandate',
  },
  already_captured: { status: 409, when: 'the payment was charged before' },
  authorization_expired: {
    status: 409,
    when: 'the capture deadline of the authorization has passed; nothing was charged',
  },
  authorization_voided: { status: 409, when: 'the authorization was voided; nothing was charged' },
  amount_exceeds_authorization: {
    status: 409,
    when: 'the amount to capture is above the authorized amount; nothing was charged',
  },
  own_request: {
    status: 403,
    when: 'the caller made the request: somebody else must decide on it',
  },
  approval_expired: { status: 409, when: 'the approval was not decided, or not used, in time' },
  approval_decided: { status: 409, when: 'the approval is already decided, or used' },
  nothing_to_increase: {
    status: 409,
    when: 'the request widens none of the total, the max per payment, the expiry and the limits, or asks for a lower total',
  },
  too_many_approvals: { status: 409, when: 'the mandate has the max number of pending approvals' },
  another_stop: {
    status: 409,
    when: 'the request resumes the mandates of another stop than the last one; nothing was resumed',
  },
  proof_captured: { status: 409, when: 'the request voids a charged proof' },
  proof_authorized: {
    status: 409,
    when: 'the request voids a proof that its merchant has authorized; only the merchant can void it',
  },
  agent_revoked: {
    status: 409,
    when: 'the request creates a key or a mandate for a revoked agent, or asks for wider terms of its mandate',
  },
  payload_too_large: { status: 413, when: 'the body is over 64 KiB' },
  cross_site_request: {
    status: 403,
    when: 'the request has a session cookie but comes from another site',
  },
  csrf_token_missing: {
    status: 403,
    when: 'a request with a session cookie changes something, but X-Purser-Console does not contain the CSRF token of the session',
  },
  environment_not_in_session: {
    status: 403,
    when: 'the session or the key has no access to the environment that the request names',
  },
  set_up_link_spent: { status: 403, when: 'the set-up link was used, has expired, or never existed' },
  invalid_session: {
    status: 401,
    when: 'the session of the cookie has ended, or its account is disabled; sign in again',
  },
  no_session: {
    status: 404,
    when: 'the request was authenticated by a key, so there is no session to show or end',
  },
  too_many_streams: {
    status: 429,
    when: 'the account or the service has the max number of open streams; close one, or retry later',
  },
  rate_limited: {
    status: 429,
    when: 'the key or its account has sent too many requests, or the address too many wrong keys; Retry-After says when to retry',
  },
  query_too_slow: {
    status: 503,
    when: 'the console query took too long; payments are not affected',
  },
  invalid_idempotency_key: {
    status: 400,
    when: 'the Idempotency-Key header is empty, over 255 characters, not printable ASCII, or sent more than once',
  },
  idempotency_key_reused: {
    status: 422,
    when: 'the Idempotency-Key was used for another request',
  },
  header_too_large: { status: 431, when: 'the request headers are too large' },
  bad_request: { status: 400, when: 'the request is not well-formed HTTP' },
  internal_error: { status: 500, when: 'a bug in the service; the log has the request id' },
  shutting_down: {
    status: 503,
    when: 'the service is about to stop: send new requests elsewhere; requests that still arrive are answered',
  },
  store_unavailable: {
    status: 503,
    when: 'the store is unavailable; the change may or may not have been made',
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

/** One error in a request: its location, what is wrong and what is valid (Errors, 422). */
export const ValidationItem = Type.Object({
  type: Type.String({
    maxLength: maxLengths.word,
    description: 'Kind of error, such as `missing` or `string_type`.',
    examples: ['missing'],
  }),
  loc: Type.Array(Type.Union([Type.String({ maxLength: maxLengths.word }), Type.Integer()]), {
    maxItems: maxItems.place,
    description: 'Location of the error: `body` or `query`, then field names and list indexes.',
    examples: [['body', 'name']],
  }),
  msg: Type.String({
    maxLength: maxLengths.message,
    description: 'What is wrong and what is valid, in a sentence.',
    examples: ['Field required'],
  }),
  input: Type.Optional(
    Type.Unknown({
      description:
        'The value that was sent. Long text is truncated and ends in `…`; a large object or list is omitted.',
    }),
  ),
  ctx: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'The violated limits, by name; omitted if there are none.',
    }),
  ),
})
export type ValidationItem = Static<typeof ValidationItem>

export const ValidationErrorBody = Type.Object({
  detail: Type.Array(ValidationItem, {
    maxItems: maxItems.faults,
    description: 'The first 20 errors, in field order.',
  }),
})
export type ValidationErrorBody = Static<typeof ValidationErrorBody>
