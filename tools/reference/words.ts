import { errorAnswers, errorCodes, type ErrorCode } from '@purser/wire/errors'
import { verificationFailures, type VerificationFailure } from '@purser/wire/payments'
import { denialCodes, type DenialCode } from '@purser/wire/policy'

/** Every word with which the service says no. */
export type Word = ErrorCode | DenialCode | VerificationFailure

export const words: readonly Word[] = [
  ...new Set<Word>([...errorCodes, ...denialCodes, ...verificationFailures]),
]

/** The name of a word's page. */
export function pageOf(word: Word): string {
  return `${word.toLowerCase().replaceAll(' ', '-')}.md`
}

/** The status of a word in `detail`; undefined for one that is a refusal only. */
export function answerOf(word: Word): { readonly status: number; readonly when: string } | undefined {
  return word in errorAnswers ? errorAnswers[word as ErrorCode] : undefined
}

export function isDenial(word: Word): word is DenialCode {
  return (denialCodes as readonly Word[]).includes(word)
}

export function isVerificationFailure(word: Word): word is VerificationFailure {
  return (verificationFailures as readonly Word[]).includes(word)
}

/** When a refusal is given. */
export const refusedWhen: Readonly<Record<DenialCode | VerificationFailure, string>> = {
  agent_revoked: 'checks 1 and 2: the account has no such agent in this environment, or it is revoked',
  mandate_expired:
    'checks 3 to 5: the agent has no such mandate, it is paused or revoked, or its time is over; the detail says which',
  merchant_not_allowed:
    'checks 6 and 7: the domain is not in `allowed_sellers`, or the category not in `allowed_categories`',
  amount_exceeds_per_transaction_limit: 'check 8: the amount is above `max_spend_per_transaction`',
  total_budget_exceeded:
    'check 9: what is spent, for a proof also what is held, and the amount are more than `max_spend_total`',
  proof_expired:
    'step 1: the proof is older than five minutes, or was ended: voided, its agent or mandate revoked, its mandate paused',
  amount_mismatch:
    'step 2: amount or currency of the proof is not, letter by letter, what the merchant expects',
  invalid_signature:
    'step 3: a field was changed, added or left out, or the proof is of another service or environment',
  nonce_reused: 'step 4: the proof was charged before',
}

/** What helps, for whoever reads the word. */
export const remedies: Readonly<Record<Word, string>> = {
  'Not authenticated': 'Send the header `Authorization: Bearer <API key>`.',
  invalid_api_key:
    'Look for a cut or mistyped key; its last four characters are the `hint` in the list of keys. A revoked key stays revoked: have another one issued.',
  insufficient_scope:
    'Use a key of a role that the endpoint lists. An agent’s key speaks for its own agent only; a merchant’s cannot ask for proofs, an agent’s cannot verify.',
  seller_not_yours:
    'Register the seller under this domain in your account, in the same environment as the key.',
  merchant_not_allowed:
    'The owner of the mandate names the domain in `allowed_sellers` of a new mandate, or the agent buys elsewhere. The proof is not used up by this.',
  merchant_not_payee: 'Collect under the domain that serves the resource, or a domain above it.',
  production_payments_not_supported: 'Use a sandbox key: interface 0.1.0 has sandbox payments only.',
  'There was an error parsing the body': 'Send UTF-8 text, and JSON of a moderate depth.',
  not_found:
    'Look whether the id is whole, and whether the key is of the account and environment it was made in.',
  'Not Found': 'Compare the path with the list of endpoints; some carry `/v1`, others do not.',
  'Method Not Allowed': 'Use one of the methods in the `Allow` header.',
  request_timeout: 'Send the request without a pause; look at the network between.',
  account_exists: 'Use the account that exists, or another `idp_user_id`.',
  own_account:
    'Sign in or call as an operator of another account; your own keys and sessions you can revoke one by one.',
  seller_exists:
    'The domain has a seller in this environment: yours, which you can list, or somebody else’s. An operator can release it.',
  last_owner_key: 'Issue another owner key first, then revoke this one.',
  mandate_revoked: 'A revoked mandate stays so: create a new one.',
  proof_captured: 'The charge stands: look the proof up, and fetch what it paid for with the same proof.',
  agent_revoked:
    'A revoked agent stays so: create a new one. For an agent that you expect to work, check the id and the environment of the key.',
  payload_too_large: 'Send less: every body of the interface fits into a few KiB.',
  invalid_idempotency_key:
    'Send 1 to 255 printable ASCII characters without spaces at the ends, for instance a random UUID.',
  idempotency_key_reused:
    'Send the request as it was the first time, to get its proof again; for another payment make a new key.',
  header_too_large: 'Send fewer or shorter headers; cookies have no meaning here.',
  cross_site_request:
    'Open the console at its own address; a page of another site cannot act in your session. Programs use an API key.',
  csrf_token_missing:
    'Send the token of the session, which `GET /console/session` tells, in `X-Purser-Console`. Programs use an API key.',
  environment_not_in_session:
    'Name an environment that the session sees, or sign in with a key of the other.',
  set_up_link_spent:
    'Sign in with an owner or operator key; the link works once, soon after the first start.',
  invalid_session: 'Sign in again: sessions end by themselves, with their key, and when signed out of.',
  no_session: 'Nothing is to be done: a key needs no session.',
  rate_limited:
    'Wait for the seconds of `Retry-After`, then send fewer requests. An operator sets the limits: see the operators guide.',
  too_many_streams: 'Close a tab that shows the live feed, or ask again after `Retry-After`.',
  query_too_slow: 'Ask for a shorter time or again a little later. Payments are not held up by it.',
  bad_request: 'Look at what is between you and the service: the bytes that arrive are no HTTP request.',
  internal_error: 'Ask the operator, with the `x-request-id` of the answer: the log has the reason under it.',
  shutting_down: 'Nothing is to be done: `/readyz` says so to what balances load.',
  store_unavailable:
    'Wait the seconds in `Retry-After`, then send the same again; for a verification with the same `Idempotency-Key`, which tells whether it was charged.',
  mandate_expired: 'The owner resumes the mandate, or creates a new one.',
  amount_exceeds_per_transaction_limit: 'Pay less at once, or have a mandate with a higher cap.',
  total_budget_exceeded: 'Pay less, wait up to six minutes for open proofs to end, or have a new mandate.',
  proof_expired:
    'The agent asks for a new proof. If it may be your own payment whose answer was lost, look the proof up first.',
  amount_mismatch:
    'Compare the two texts: `10.0` is not `10.00`. Nothing is used up; the right text is verified.',
  invalid_signature:
    'Pass the proof on exactly as it came, and use a sandbox key of the service that made it.',
  nonce_reused:
    'If it was your own request, send its `Idempotency-Key` again, or look the proof up; otherwise refuse it.',
}
