import { errorAnswers, errorCodes, type ErrorCode } from '@purser/wire/errors'
import { verificationFailures, type VerificationFailure } from '@purser/wire/payments'
import { denialCodes, type DenialCode } from '@purser/wire/policy'

/** Every error code, denial code and failure reason of the service. */
export type Word = ErrorCode | DenialCode | VerificationFailure

export const words: readonly Word[] = [
  ...new Set<Word>([...errorCodes, ...denialCodes, ...verificationFailures]),
]

/** The file name of a code's page. */
export function pageOf(word: Word): string {
  return `${word.toLowerCase().replaceAll(' ', '-')}.md`
}

/** The status of a `detail` code; undefined for a code that is only a refusal. */
export function answerOf(word: Word): { readonly status: number; readonly when: string } | undefined {
  return word in errorAnswers ? errorAnswers[word as ErrorCode] : undefined
}

export function isDenial(word: Word): word is DenialCode {
  return (denialCodes as readonly Word[]).includes(word)
}

export function isVerificationFailure(word: Word): word is VerificationFailure {
  return (verificationFailures as readonly Word[]).includes(word)
}

/** When a refusal is returned. */
export const refusedWhen: Readonly<Record<DenialCode | VerificationFailure, string>> = {
  agent_revoked: 'checks 1 and 2: the account has no such agent in this environment, or it is revoked',
  mandate_expired:
    'checks 3 to 5: the agent has no such mandate, or it is paused, revoked or expired; the detail says which',
  merchant_not_allowed:
    'checks 6 and 7: the domain is not in `allowed_sellers`, or the category not in `allowed_categories`',
  resource_not_allowed: 'check 6a: the URL of the resource matches no pattern of `allowed_resources`',
  amount_exceeds_per_transaction_limit: 'check 8: the amount is above `max_spend_per_transaction`',
  total_budget_exceeded:
    'check 9: the amount plus what is spent (for a proof, also what is held or authorized) is above `max_spend_total`',
  velocity_limit_exceeded:
    'check 10: the payment does not fit into one of the `limits` of the mandate; `limit` says which, and when there is room again',
  shared_budget_exceeded:
    'check 11: the payment does not fit into a limit of a shared budget above the mandate; `budget` and `limit` say which',
  budget_frozen: 'check 11: a shared budget above the mandate is frozen',
  approval_required:
    'check 12: the amount is above the threshold for approval, nothing was bought from the seller before, or a limit that requires approval is exceeded; `approval` says whether a person has decided',
  proof_expired:
    'step 1: the proof is older than five minutes, or was ended: voided, its authorization voided or expired, its agent or mandate revoked, its mandate paused, a shared budget above it frozen, or open proofs ended with `end_holds`',
  amount_mismatch: 'step 2: the amount or currency of the proof is not exactly the expected text',
  invalid_signature:
    'step 3: a field was changed, added or removed, or the proof is from another service or environment',
  nonce_reused: 'step 4: the proof was charged or authorized before',
}

/** How to fix each error. */
export const remedies: Readonly<Record<Word, string>> = {
  'Not authenticated': 'Send the header `Authorization: Bearer <API key>`.',
  invalid_api_key:
    'Check for a truncated or mistyped key; its last four characters are the `hint` in the list of keys. A revoked key stays revoked: get a new one.',
  insufficient_scope:
    'Use a key with a role that the endpoint lists. An agent’s key works only for its own agent; a merchant’s key cannot request proofs, an agent’s key cannot verify.',
  seller_not_yours:
    'Register the seller under this domain in your account, in the same environment as the key.',
  merchant_not_allowed:
    'Ask the owner for a mandate that lists the domain in `allowed_sellers`, or buy elsewhere. The proof is not used up.',
  resource_not_allowed:
    'Request the resource under its plain URL, without dot segments and encoded slashes, or ask the owner for a mandate whose `allowed_resources` include it. A proof is not used up.',
  category_mismatch:
    'Send the category that the proof was requested with, or none. The proof is not used up.',
  merchant_not_payee: 'Collect under the domain that serves the resource, or a parent domain.',
  production_payments_not_supported: 'Use a sandbox key: interface 0.1.0 has sandbox payments only.',
  sandbox_only: 'Use a sandbox key: production always has the time of the service.',
  test_clock_too_far:
    'Read the clock and advance it by less; for a clock that is not ahead, use another account.',
  'There was an error parsing the body': 'Send JSON as UTF-8 text, without deep nesting.',
  not_found:
    'Check that the id is complete, and that the key belongs to the record’s account and environment.',
  'Not Found': 'Compare the path with the list of endpoints; some begin with `/v1`, others do not.',
  'Method Not Allowed': 'Use one of the methods in the `Allow` header.',
  request_timeout: 'Send the request without pauses; check the network between you and the service.',
  account_exists: 'Use the existing account, or another `idp_user_id`.',
  own_account:
    'Use an operator key of another account. You can revoke your own keys and sessions one by one.',
  seller_exists:
    'The domain already has a seller in this environment: your own, which you can list, or another account’s. An operator can release it.',
  last_owner_key: 'Issue another owner key first, then revoke this one.',
  mandate_revoked: 'A revoked mandate stays revoked: create a new one.',
  budget_below_committed:
    'Request at least what is committed, or end the open proofs with `end_holds: true`. What is spent stays spent; to stop further payments, pause or revoke the mandate, or freeze the shared budget.',
  history_too_long:
    'Add a limit with a shorter window, or create a new mandate or shared budget with the limit.',
  if_match_required: 'Read the record first, and send its `ETag`, such as `"3"`, in `If-Match`.',
  version_mismatch:
    'Read the record again, check whether the change still makes sense, and repeat it with the new version.',
  widening_needs_owner:
    'Use an owner’s key, or let an owner make the change in the console. Narrower terms need no owner.',
  idempotency_key_required:
    'Send a random key in `Idempotency-Key`, and the same key with each retry of this refund.',
  not_refundable: 'Refund the payment, whose `status` is `paid`: a refund names it in `refund_of`.',
  refund_exceeds_payment:
    'List the refunds of the payment, and refund at most the rest. If this was a retry, send the `Idempotency-Key` of the first attempt.',
  too_many_refunds: 'Settle the rest with the buyer in another way.',
  order_already_paid:
    'Nothing to pay: the transaction of the order has its `order_id`. For another purchase, use another id.',
  order_mismatch:
    'Request the amount and the resource of the order, or void its proof first. For another purchase, use another id.',
  already_captured:
    'The charge stands: look up the proof for its transaction. To get the answer of a lost capture again, retry with its `Idempotency-Key`.',
  authorization_expired:
    'Ask for a new payment. Capture earlier, or authorize with a longer `capture_seconds` if the mandate allows it.',
  authorization_voided: 'Ask for a new payment: a voided authorization cannot be captured.',
  amount_exceeds_authorization:
    'Capture at most the authorized amount; ask for another payment for the rest.',
  own_request: 'Ask another person to decide: nobody can decide their own request.',
  approval_expired: 'Ask again: the agent requests the proof, or the increase, once more.',
  approval_decided: 'Look the approval up: its `decisions` say who decided what.',
  nothing_to_increase:
    'Read the mandate: if it already allows this, nothing needs to change. Leave out a lower total: narrowing is an amendment, and needs no approval.',
  too_many_approvals: 'Wait until a person has decided on some of them, or until they expire.',
  another_stop:
    'Look at the status again, and find out why agents were stopped again. Resume with the new `stop_number`.',
  proof_captured: 'The charge stands: look up the proof, and use it to fetch what it paid for.',
  proof_authorized:
    'Ask the merchant to void it, or wait for its `capture_deadline`: until then the merchant may charge it.',
  agent_revoked:
    'A revoked agent stays revoked: create a new one. If the agent should work, check its id and the environment of the key.',
  payload_too_large: 'Send a smaller body: every request of the interface fits into a few KiB.',
  invalid_idempotency_key:
    'Send 1 to 255 printable ASCII characters without leading or trailing spaces, for example a random UUID.',
  idempotency_key_reused:
    'Repeat the original request to get its proof again; for another payment, use a new key.',
  header_too_large: 'Send fewer or shorter headers; cookies are not needed here.',
  cross_site_request:
    'Open the console at its own URL; pages of other sites cannot use your session. Behind a proxy, set `PURSER_PUBLIC_URL`. Programs use an API key.',
  csrf_token_missing:
    'Send the `csrf_token` of the session, from `GET /v1/console/session`, in `X-Purser-Console`. A read with the token of another session is refused, too. Programs use an API key.',
  environment_not_in_session: 'Name the environment of the session or key, or use a key of the other one.',
  set_up_link_spent:
    'Sign in with an owner or operator key; the link works once, soon after the first start.',
  invalid_session: 'Sign in again: sessions end after a while, with their key, and when you sign out.',
  no_session: 'Nothing to do: a key needs no session.',
  rate_limited:
    'Wait as long as `Retry-After` says, then send fewer requests. An operator sets the limits: see the operators guide.',
  too_many_streams: 'Close a tab that shows the live feed, or retry after `Retry-After`.',
  query_too_slow: 'Use a shorter time range, or retry later. Payments are not affected.',
  bad_request: 'Check the proxies between you and the service: what arrives is not a valid HTTP request.',
  internal_error: 'Contact the operator with the `x-request-id` of the response: the log has the cause.',
  shutting_down: 'Nothing to do: `/readyz` tells load balancers to stop routing here.',
  store_unavailable:
    'Wait as long as `Retry-After` says, then retry; retry a verification with the same `Idempotency-Key`, to learn whether it was charged.',
  mandate_expired: 'The owner resumes the mandate, or creates a new one.',
  amount_exceeds_per_transaction_limit: 'Pay less per payment, or ask the owner for a higher cap.',
  velocity_limit_exceeded:
    'Wait until `limit.resets_at`, pay less, or ask for a larger max with `POST /v1/mandates/{id}/increase-requests`. Null means that it never resets.',
  shared_budget_exceeded:
    'Wait until `limit.resets_at`, pay less, or ask the owner to raise the limit of the shared budget. Increase requests are about mandates only.',
  budget_not_found: 'Check the id against `GET /v1/budgets`, in the environment of the key.',
  budget_too_deep: 'Put the budget below one that has at most two budgets above it.',
  budget_frozen: 'Ask the owner to unfreeze the shared budget. Proofs that the freeze voided stay void.',
  total_budget_exceeded:
    'Pay less, wait up to six minutes for open proofs to expire, or ask the owner for a larger total.',
  approval_required:
    'A person decides at the `url` of `approval`, or with `POST /v1/approvals/{approval_id}/approve`. Then request the proof again with `approval_id`, within 15 minutes.',
  proof_expired:
    'Request a new proof. If it may be your own payment whose response was lost, look up the proof first.',
  amount_mismatch:
    'Compare the two texts: `10.0` is not `10.00`. The proof is not used up: retry with the right text.',
  invalid_signature: 'Send the proof unmodified, and use a sandbox key of the service that issued it.',
  nonce_reused:
    'If it was your own request, send its `Idempotency-Key` again, or look up the proof; otherwise refuse it.',
}
