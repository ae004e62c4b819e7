import {
  ApiError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  NotFoundError,
  PayloadTooLargeError,
  PermissionError,
  ServerError,
  UnavailableError,
  ValidationError,
  type ErrorAnswer,
} from './errors.ts'
import type { Reply } from './attempt.ts'
import { retryAfterMs } from './retries.ts'
import type { ValidationItem } from './wire-types.ts'

/** The error for a response; `asked` is the method and path, for the message. */
export function errorOf(reply: Reply, asked: string): ApiError {
  const { status, body, headers } = reply
  const detail = (body as { readonly detail?: unknown } | null | undefined)?.detail
  const items = status === 422 && Array.isArray(detail) && detail.every(isItem) ? detail : undefined
  // `Not Found` and `Method Not Allowed` mean that `baseUrl` is wrong, as if it ends with `/v1`.
  const ownCode =
    typeof detail === 'string' && (status < 404 || !detail.includes(' '))
      ? detail
      : items && 'validation_error'
  const code = ownCode || `http_${status}`
  const requestId = headers.get('x-request-id')
  const answer: ErrorAnswer = { status, code, requestId, retryAfterMs: retryAfterMs(headers), body }
  const message = `${asked} answered ${status}: ${items?.map(faultOf).join('; ') ?? explain(status, code)}`
  if (items) return new ValidationError(message, answer, items)
  if (status === 503) return new UnavailableError(message, answer)
  if (status >= 500) return new ServerError(message, answer)
  // The 404 or 403 of a proxy says nothing about a record or a key.
  const Class = (ownCode && classes[status]) || ApiError
  return new Class(message, answer)
}

const classes: Readonly<Record<number, typeof ApiError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  412: ConflictError,
  413: PayloadTooLargeError,
}

/** Whether an item is the service's: other servers have lists of their own. */
function isItem(item: Partial<ValidationItem> | null): item is ValidationItem {
  return Array.isArray(item?.loc)
}

function faultOf({ loc, msg }: ValidationItem): string {
  return `${loc.join('.')}: ${msg}`
}

/** What to do about refusals that a mistake in the settings causes. */
const meanings: Readonly<Record<string, string>> = {
  invalid_api_key: 'unknown to this service, or revoked',
  insufficient_scope: 'the key has the wrong role or agent',
  seller_not_yours: 'register the domain as a seller of the account of this key',
}

function explain(status: number, code: string): string {
  const meaning = meanings[code]
  if (meaning) return `${code} (${meaning})`
  if (code !== `http_${status}`) return code
  if (status === 0 || (status >= 300 && status < 400)) return 'a redirect; set baseUrl to the final address'
  return 'not a response of the service; check baseUrl'
}
