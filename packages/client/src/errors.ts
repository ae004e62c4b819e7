import type { ErrorCode, ValidationItem } from './wire-types.ts'

/** Everything that this client throws by itself; an abort of your own signal rejects with its reason. */
export class PurserError extends Error {
  override readonly name: string = 'PurserError'
}

/** No answer: the service could not be reached, or the connection broke. What was asked may have happened. */
export class ConnectionError extends PurserError {
  override readonly name: string = 'ConnectionError'
}

/** No answer in time. What was asked may have happened. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError'
}

/** What an error answer says. */
export interface ErrorAnswer {
  readonly status: number
  /** The word in `detail`; `validation_error` for a 422; `http_<status>` when the answer is not the service's. */
  readonly code: ErrorCode | 'validation_error' | (string & {})
  /** The request in the service's log, when the answer names it. */
  readonly requestId: string | null
  /** The body as JSON, or its text when it is none. */
  readonly body: unknown
}

/** An answer that is an error (Errors). A refused payment is none: it is a result. */
export class ApiError extends PurserError implements ErrorAnswer {
  override readonly name: string = 'ApiError'
  readonly status: number
  readonly code: ErrorAnswer['code']
  readonly requestId: string | null
  readonly body: unknown

  constructor(message: string, answer: ErrorAnswer) {
    super(message)
    this.status = answer.status
    this.code = answer.code
    this.requestId = answer.requestId
    this.body = answer.body
  }
}

/** 400: the request cannot be read, or asks for what there is not; `code` says which. */
export class BadRequestError extends ApiError {
  override readonly name = 'BadRequestError'
}

/** 401: no key, or one that is unknown, mistyped or revoked. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError'
}

/** 403: the key may not do this; of a verification, `code` says why it may not collect. */
export class PermissionError extends ApiError {
  override readonly name = 'PermissionError'
}

/** 404: no such record in the key's account and environment. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError'
}

/** 409: what is there already stands against it; `code` says what. */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError'
}

/** 413: the body is larger than the service takes. */
export class PayloadTooLargeError extends ApiError {
  override readonly name = 'PayloadTooLargeError'
}

/** 422: the request does not fit its shape. */
export class ValidationError extends ApiError {
  override readonly name = 'ValidationError'
  /** One item for each fault, in the order of the fields. */
  readonly items: readonly ValidationItem[]

  constructor(message: string, answer: ErrorAnswer, items: readonly ValidationItem[]) {
    super(message, answer)
    this.items = items
  }
}

/** An answer of 500 or above. */
export class ServerError extends ApiError {
  override readonly name: string = 'ServerError'
}

/** 503: the service cannot answer now. */
export class UnavailableError extends ServerError {
  override readonly name = 'UnavailableError'
  /** How long the service asks to be left alone, in milliseconds, when it says so. */
  readonly retryAfterMs: number | null

  constructor(message: string, answer: ErrorAnswer, retryAfterMs: number | null) {
    super(message, answer)
    this.retryAfterMs = retryAfterMs
  }
}
