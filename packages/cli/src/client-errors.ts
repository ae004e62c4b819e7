import {
  ApiError,
  AuthenticationError,
  ConnectionError,
  NotFoundError,
  PermissionError,
  PurserError,
  TimeoutError,
  UnavailableError,
  ValidationError,
  type BelowCommitted,
  type LimitBelowCommitted,
} from '@purser/client'

import { exitCodes } from './exit-codes.ts'
import type { Io } from './io.ts'

/** The message and exit code for an error of the client; undefined for other errors. */
export function explainClientError(
  error: unknown,
  { calledAs }: Pick<Io, 'calledAs'>,
): { readonly message: string; readonly exitCode: number } | undefined {
  if (!(error instanceof PurserError)) return undefined
  if (error instanceof TimeoutError) {
    return {
      message: `the service did not answer in time (${error.message})`,
      exitCode: exitCodes.unavailable,
    }
  }
  if (error instanceof ConnectionError) {
    const message = isPlainHttp(error)
      ? 'the service at this https:// address does not use TLS; use http:// in PURSER_URL or the profile'
      : `the service does not answer (${error.message}); ${calledAs} doctor finds out why`
    return { message, exitCode: exitCodes.unavailable }
  }
  if (error instanceof ApiError) return explainAnswer(error)
  return { message: error.message, exitCode: exitCodes.failed }
}

/** Whether an https request got an answer in plain HTTP; the client passes on the error of fetch, whose cause has the code. */
function isPlainHttp({ cause }: ConnectionError): boolean {
  return cause instanceof Error && Object(cause.cause).code === 'ERR_SSL_WRONG_VERSION_NUMBER'
}

function explainAnswer(error: ApiError): { readonly message: string; readonly exitCode: number } {
  if (error instanceof ValidationError) {
    const faults = error.items.map(({ loc, msg }) => `  ${loc.slice(1).join('.') || loc.join('.')}: ${msg}`)
    return { message: ['The service rejected this:', ...faults].join('\n'), exitCode: exitCodes.usage }
  }
  if (error.status < 500 && error.code.startsWith('http_')) {
    const message = `what answers at this address is not a Purser service (HTTP ${error.status}); check PURSER_URL or the profile`
    return { message, exitCode: exitCodes.unavailable }
  }
  if (error.status >= 500 && error.code.startsWith('http_')) {
    const message = `what answers at this address fails (HTTP ${error.status}): the service is down behind a proxy, or this is another server`
    return { message, exitCode: exitCodes.unavailable }
  }
  if (error instanceof AuthenticationError) {
    const message = 'the service rejected this key: it is unknown, mistyped, revoked, or from another service'
    return { message, exitCode: exitCodes.unauthorised }
  }
  if (error instanceof PermissionError) {
    const known = conflicts[error.code]
    const message = known ?? `a key with this role may not do that (${error.code})`
    return { message, exitCode: exitCodes.unauthorised }
  }
  if (error instanceof NotFoundError) {
    const message = 'no such record, or this key cannot see it (another account or environment)'
    return { message, exitCode: exitCodes.notFound }
  }
  if (error instanceof UnavailableError || error.status === 429) {
    const pause = error.retryAfterMs === null ? '' : ` in ${Math.ceil(error.retryAfterMs / 1000)} seconds`
    const message = `the service is unavailable (${error.code}); retry${pause}`
    return { message, exitCode: exitCodes.unavailable }
  }
  const known = error.code === 'budget_below_committed' ? belowCommitted(error.body) : conflicts[error.code]
  const request = error.requestId === null ? '' : ` (request ${error.requestId})`
  return { message: known ?? error.message + request, exitCode: exitCodes.failed }
}

/** A total budget or a limit that is too low, with the figures of the answer. */
function belowCommitted(body: unknown): string {
  const { usage, max_spend_total, spent_total, held_total, authorized_total } = body as Partial<
    BelowCommitted & LimitBelowCommitted
  >
  const isCount = usage && Number(usage.count) > (usage.max_count ?? Infinity)
  const [max, committed] = !usage
    ? [max_spend_total, `sum of ${spent_total} spent, ${held_total} held and ${authorized_total} authorized`]
    : isCount
      ? [usage.max_count, `${usage.count} payments that count for this limit`]
      : [usage.max_amount, `${usage.committed} USDC that count for this limit`]
  return `${max} is below the ${committed}; --end-holds ends the open proofs, and what is spent stays spent`
}

/** The meaning of the codes of a 400, 403, 409 or 412 for the user of the command. */
const conflicts: Readonly<Record<string, string>> = {
  insufficient_scope:
    "a key with this role may not do that (insufficient_scope): use an owner's key, or to manage accounts and release domains an operator's; an agent's key only pays for its own agent, a merchant's only collects, and an approver's only reads, decides and narrows",
  sandbox_only: 'only a sandbox has a test clock, and this is a production key',
  own_account: "this is the account of the key itself; use an operator's key of another account",
  nothing_to_increase: 'the mandate already allows that; purser mandates show shows its terms',
  account_exists: 'an account with the same --idp-user-id exists',
  seller_exists: 'a seller with this domain exists in this environment; an operator can release the domain',
  last_owner_key: "this is the account's last owner or operator key; issue another one first",
  mandate_revoked: 'the mandate is permanently revoked',
  widening_needs_owner: 'this allows more than before, or changes what people read: only an owner may',
  version_mismatch: 'it has changed in the meantime; look at it again, then repeat the command',
  own_request: 'the request was made with this key; somebody else must decide on it',
  approval_expired: 'it was not decided, or not used, in time; the agent has to ask again',
  approval_decided: 'it has been decided already, or was used; purser approvals show says how',
  agent_revoked: 'the agent is permanently revoked',
  proof_captured: 'the proof has already been charged; purser proofs show has its transaction',
  not_refundable: 'the transaction is not a payment; nothing was refunded',
  refund_exceeds_payment: 'all refunds together would exceed the payment; nothing was refunded',
  too_many_refunds: 'the payment has the max number of refunds; nothing was refunded',
  order_already_paid: 'the order was paid under this mandate',
  order_mismatch: 'the order has an open proof for another amount or resource',
  already_captured: 'the payment has already been charged; purser proofs show has its transaction',
  authorization_expired: 'the capture deadline has passed; nothing was charged',
  authorization_voided: 'the authorization was voided; nothing was charged',
  amount_exceeds_authorization: 'the amount is above the authorized amount; nothing was charged',
  proof_authorized: 'the merchant has authorized the payment; only the merchant can void it',
  production_payments_not_supported: 'payments need a sandbox key, and this is a production key',
}
