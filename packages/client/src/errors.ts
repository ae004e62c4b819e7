import type { ErrorCode, ValidationItem } from './wire-types.ts'

/**
 * The base class of all errors of this client. If your own signal aborts, the call rejects with its reason.
 *
 * @example
 * try {
 *   await purser.mandates.get(mandateId)
 * } catch (error) {
 *   if (error instanceof ApiError) console.error(error.status, error.code, error.requestId)
 *   else throw error
 * }
 */
export class PurserError extends Error {
  override readonly name: string = 'PurserError'
}

/**
 * No response: the service could not be reached, or the connection broke. The request may have been executed.
 */
export class ConnectionError extends PurserError {
  override readonly name: string = 'ConnectionError'
}

/** No response in time. The request may have been executed. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError'
}

/** The contents of an error response. */
export interface ErrorAnswer {
  readonly status: number
  /**
   * The code in `detail`; `validation_error` for a 422; `http_<status>` if the response is not the service's.
   */
  readonly code: ErrorCode | 'validation_error' | (string & {})
  /** The id of the request in the service's log, if the response has it. */
  readonly requestId: string | null
  /** The `Retry-After` of the response in milliseconds, if it has a valid one. */
  readonly retryAfterMs: number | null
  /** The body as JSON, or its text if it is not JSON. */
  readonly body: unknown
}

/** An error response (Errors). A refused payment is not an error, but a result. */
export class ApiError extends PurserError implements ErrorAnswer {
  override readonly name: string = 'ApiError'
  declare readonly status: number
  declare readonly code: ErrorAnswer['code']
  declare readonly requestId: string | null
  declare readonly retryAfterMs: number | null
  declare readonly body: unknown

  constructor(message: string, answer: ErrorAnswer) {
    super(message)
    Object.assign(this, answer)
  }
}

/** 400: the request is malformed or not supported; `code` says which. */
export class BadRequestError extends ApiError {
  override readonly name = 'BadRequestError'
}

/** 401: no key, or an unknown, mistyped or revoked one. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError'
}

/** 403: the key may not do this; for a verification, `code` says why it may not collect. */
export class PermissionError extends ApiError {
  override readonly name = 'PermissionError'
}

/** 404: no such record in the key's account and environment. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError'
}

/** 409 or 412: a conflict with the current state; `code` says which. */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError'
}

/** 413: the body is too large. */
export class PayloadTooLargeError extends ApiError {
  override readonly name = 'PayloadTooLargeError'
}

/** 422: the request is invalid. */
export class ValidationError extends ApiError {
  override readonly name = 'ValidationError'
  /** One item per error, in field order. */
  readonly items: readonly ValidationItem[]

  constructor(message: string, answer: ErrorAnswer, items: readonly ValidationItem[]) {
    super(message, answer)
    this.items = items
  }
}

/** A response with status 500 or above. */
export class ServerError extends ApiError {
  override readonly name: string = 'ServerError'
}

/** 503: the service is unavailable. */
export class UnavailableError extends ServerError {
  override readonly name = 'UnavailableError'
}
