import { ConnectionError, TimeoutError } from './errors.ts'

/** The error for a request without a response; `asked` is its method and address. */
export function notAnswered(asked: string, error: unknown): ConnectionError {
  return new ConnectionError(`${asked} was not answered: ${reasonOf(error)}`, { cause: error })
}

export function notAnsweredWithin(timeoutMs: number, asked: string): TimeoutError {
  return new TimeoutError(`${asked} was not answered within ${timeoutMs} ms`)
}

/** The reason of a failed fetch; Node's `fetch failed` has it in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error && error.cause.message ? error.cause.message : error.message
}
