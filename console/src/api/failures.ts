import { ApiError, ConnectionError, ValidationError, type ValidationItem } from '@purser/client'

/** A message with a remedy for each error code. */
const sentences: Record<string, string> = {
  not_found: 'It does not exist here, or belongs to another environment.',
  agent_revoked: 'The agent is revoked. Create another one.',
  mandate_revoked: 'The mandate is revoked. Create another one.',
  seller_exists: 'A seller with this domain is already registered.',
  own_request: 'You made this request yourself. Another person must decide.',
  approval_decided:
    'Somebody has decided differently, or the approval was used. The screen shows the current state.',
  approval_expired: 'It was not decided, or not used, in time. The agent must ask again.',
  nothing_to_increase: 'The mandate already allows this.',
  too_many_approvals: 'This mandate has too many pending requests. Decide some of them first.',
  widening_needs_owner: 'Only an owner can allow more. Narrower terms need no owner.',
  if_match_required: 'The version that you changed is unknown. Reload the page, and repeat the change.',
  version_mismatch: 'It was changed after you opened it. Look at the current terms, and repeat the change.',
  budget_below_committed:
    'This is less than what is already spent, authorized and held. Choose more, or also end the open proofs.',
  budget_not_found: 'This shared budget does not exist here.',
  budget_too_deep: 'Budgets can be four levels deep, and this one would be the fifth.',
  history_too_long: 'The new limit would have to count too many earlier payments. Choose a shorter window.',
  seller_not_yours: 'Another account collected this payment, so only that account can refund it.',
  not_refundable: 'Only a payment that was charged can be refunded.',
  refund_exceeds_payment: 'This is more than what is left of the payment. Nothing was refunded.',
  too_many_refunds: 'The payment has 100 refunds, which is the max.',
  idempotency_key_required: 'The refund was sent without its key, so nothing was refunded. Reload the page.',
  idempotency_key_reused: 'Something else was sent with the same key, so nothing was done. Reload the page.',
  another_stop: 'Another stop has begun since: resume again to end both.',
  last_owner_key: 'This is the last working owner key of the account. Issue another one first.',
  insufficient_scope: 'Your key is not allowed to do this: only an owner can.',
  invalid_api_key: 'This key is unknown or revoked.',
  set_up_link_spent: 'This set-up link has already been used or has expired. Sign in with a key.',
  query_too_slow: 'The query took too long and was stopped so that it does not slow down payments.',
  too_many_streams: 'Too many live feeds and exports are open. Close another window of the console.',
  store_unavailable: 'The service cannot reach its database right now.',
  rate_limited: 'Too many requests were sent. Wait a moment, and try again.',
  environment_not_in_session: 'You are signed in to the other environment. Reload the page.',
  internal_error: 'The service has failed. Its log has the details.',
  shutting_down: 'The service is restarting.',
  csrf_token_missing: 'This page is out of date. Reload it.',
}

/** A sentence about an error, with a remedy. */
export function explainFailure(error: unknown): string {
  if (error instanceof ValidationError) {
    return error.items
      .map((item) => `${item.loc.filter((part) => part !== 'body').join('.')}: ${inWords(item)}`)
      .join('; ')
  }
  if (error instanceof ApiError) return sentences[error.code] ?? explainStatus(error)
  if (error instanceof ConnectionError) return 'The service could not be reached. Is it running?'
  return error instanceof Error ? error.message : String(error)
}

/** About an answer that is not the service's, such as that of a proxy before it. */
function explainStatus(error: ApiError): string {
  const { status, code } = error
  if (status === 429) return sentences['rate_limited']!
  if (status === 502 || status === 503 || status === 504)
    return `A proxy answered ${status}: the service behind it may be restarting.`
  if (isForeign(error))
    return `Something other than the service answered (${status}), such as a proxy or the sign-in page of a network.`
  return `The service answered ${status}: ${code}.`
}

/** Whether something else answered in place of the service: its errors have codes. */
export function isForeign({ status, code }: ApiError): boolean {
  return code === `http_${status}`
}

/** The same about a change, and whether it may have been made: only a refusal says that it was not. */
export function explainChange(error: unknown): string {
  return `${explainFailure(error)}${isRefusal(error) ? '' : ' It may or may not have been done.'}`
}

/** The same after a sentence that says what was not done, such as `Not revoked: …`: perhaps it was. */
export function explainNotDone(sentence: string, error: unknown): string {
  const claim = isRefusal(error)
    ? sentence
    : `Perhaps ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`
  return `${claim} ${explainFailure(error)}`
}

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500
}

/** The validation errors of a form: by field, and the rest as a sentence. */
export function formFaults<const Field extends string>(
  error: unknown,
  fields: readonly Field[],
): { readonly byField: Partial<Record<Field, string>>; readonly rest: string | undefined } {
  const byField: Partial<Record<Field, string>> = {}
  if (!error) return { byField, rest: undefined }
  if (!(error instanceof ValidationError)) return { byField, rest: explainChange(error) }
  for (const item of error.items) {
    const field = fields.find((one) => one === item.loc[1])
    if (!field) return { byField: {}, rest: explainFailure(error) }
    byField[field] = inWords(item)
  }
  return { byField, rest: undefined }
}

/** What is wrong with a value: `Value is …`. */
export function inWords({ type, msg, ctx }: ValidationItem): string {
  const words = type === 'value_error' && typeof ctx?.['error'] === 'string' ? ctx['error'] : msg
  return words.charAt(0).toUpperCase() + words.slice(1)
}
