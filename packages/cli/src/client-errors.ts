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
} from '@purser/client'

import { exitCodes } from './exit-codes.ts'
import type { Surroundings } from './surroundings.ts'

/** What an error of the client says to a person, with the exit code; undefined when it is no error of the client. */
export function explainClientError(
  error: unknown,
  { calledAs }: Pick<Surroundings, 'calledAs'>,
): { readonly message: string; readonly exitCode: number } | undefined {
  if (!(error instanceof PurserError)) return undefined
  if (error instanceof TimeoutError) {
    return {
      message: `the service did not answer in time (${error.message})`,
      exitCode: exitCodes.unavailable,
    }
  }
  if (error instanceof ConnectionError) {
    const message = `the service does not answer (${error.message}); ${calledAs} doctor looks what is wrong`
    return { message, exitCode: exitCodes.unavailable }
  }
  if (error instanceof ApiError) return explainAnswer(error)
  return { message: error.message, exitCode: exitCodes.failed }
}

function explainAnswer(error: ApiError): { readonly message: string; readonly exitCode: number } {
  if (error instanceof ValidationError) {
    const faults = error.items.map(({ loc, msg }) => `  ${loc.slice(1).join('.') || loc.join('.')}: ${msg}`)
    return { message: ['The service refuses this:', ...faults].join('\n'), exitCode: exitCodes.usage }
  }
  if (error instanceof AuthenticationError) {
    const message =
      'the service does not take this key: it is unknown, mistyped or revoked, or of another service'
    return { message, exitCode: exitCodes.unauthorised }
  }
  if (error instanceof PermissionError) {
    const message = `the key does not reach so far (${error.code}); use an owner's or an operator's`
    return { message, exitCode: exitCodes.unauthorised }
  }
  if (error instanceof NotFoundError) {
    const message = 'there is no such record, or this key does not see it (another account or environment)'
    return { message, exitCode: exitCodes.notFound }
  }
  if (error instanceof UnavailableError) {
    return {
      message: `the service cannot answer now (${error.code}); try again`,
      exitCode: exitCodes.unavailable,
    }
  }
  const known = conflicts[error.code]
  const request = error.requestId === null ? '' : ` (request ${error.requestId})`
  return { message: known ?? error.message + request, exitCode: exitCodes.failed }
}

/** What the words of a 400 or a 409 mean for whoever typed the command. */
const conflicts: Readonly<Record<string, string>> = {
  account_exists: 'an account with the same --idp-user-id exists',
  seller_exists: 'a seller with this domain exists in this environment; an operator can release the domain',
  last_owner_key: "this is the account's last owner or operator key; issue another one first",
  mandate_revoked: 'the mandate is revoked, for good',
  agent_revoked: 'the agent is revoked, for good',
  proof_captured: 'the proof has been charged, and stays so; purser proofs show names the transaction',
  production_payments_not_supported: 'payments are for sandbox keys only, and this key is of production',
}
