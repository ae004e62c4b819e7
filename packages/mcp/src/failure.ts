import {
  ApiError,
  AuthenticationError,
  ConnectionError,
  PermissionError,
  ServerError,
  ValidationError,
} from '@purser/client'

import type { Reason } from './reason.ts'

/** Why a tool could not run, written for the model. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly reason: Reason

  constructor(reason: Reason) {
    super(reason.reason_detail)
    this.reason = reason
  }
}

/** The failure that a model sees for an error, without the error's other details. */
export function reasonOf(error: unknown): Reason {
  if (error instanceof Failure) return error.reason
  if (error instanceof ConnectionError) return serviceUnavailable(null)
  if (error instanceof ServerError || (error instanceof ApiError && error.status === 429)) {
    return serviceUnavailable(error.retryAfterMs)
  }
  if (error instanceof AuthenticationError) {
    return {
      reason_code: 'key_not_accepted',
      reason_detail: "The payment service rejected this agent's key; it may be revoked.",
      remedy: 'Stop buying and do not retry. Tell the person who runs this server that a new key is needed.',
    }
  }
  if (error instanceof PermissionError) {
    return {
      reason_code: 'not_an_agent_key',
      reason_detail: `The payment service does not let this key do that (${error.code}).`,
      remedy: 'Ask the person who runs this server to check the role of PURSER_AGENT_KEY.',
    }
  }
  if (error instanceof ValidationError) {
    const problems = error.items.slice(0, 5).map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`)
    return {
      reason_code: 'invalid_request',
      reason_detail: problems.join('; '),
      remedy: 'Correct the arguments and call again.',
    }
  }
  if (error instanceof ApiError && error.code === `http_${error.status}`) {
    return {
      reason_code: 'not_the_service',
      reason_detail: `The configured address is not the payment service's: it answered ${error.status}.`,
      remedy: 'Ask the person who runs this server to check PURSER_URL, and any proxy in between.',
    }
  }
  if (error instanceof ApiError) {
    return {
      reason_code: error.code,
      reason_detail: `The payment service answered ${error.status} ${error.code}.`,
      remedy: remedies[error.code] ?? 'Tell the person who runs this server.',
    }
  }
  if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')) {
    return {
      reason_code: 'interrupted',
      reason_detail: 'The call was cancelled or took too long.',
      remedy: retry,
    }
  }
  return {
    reason_code: 'internal_error',
    reason_detail: 'Something went wrong in the tool itself.',
    remedy: `${retry} If it happens again, tell the person who runs this server.`,
  }
}

const retry = 'Call again with the same arguments; a purchase_id that is reused is never charged twice.'

const remedies: Readonly<Record<string, string>> = {
  production_payments_not_supported:
    'Ask the person who runs this server for a sandbox key: this service makes no production payments.',
}

function serviceUnavailable(retryAfterMs: number | null): Reason {
  return {
    reason_code: 'service_unavailable',
    reason_detail: 'The payment service cannot be reached, or cannot answer now.',
    remedy: `Wait ${Math.ceil((retryAfterMs ?? 5_000) / 1000)} seconds. ${retry}`,
  }
}
