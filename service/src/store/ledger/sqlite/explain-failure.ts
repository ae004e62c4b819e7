import { codeOf } from '../../error-code.ts'
import { StoreUnavailableError } from '../../store.ts'

/** SQLite's error codes for a failing disk or file, rather than a failing statement. */
const storeFailures = /^SQLITE_(FULL|IOERR|BUSY|LOCKED|CANTOPEN|READONLY|CORRUPT|NOTADB|NOMEM|PROTOCOL)/

/** A disk or file error as a `StoreUnavailableError`; any other error unchanged. */
export function explainFailure(error: unknown): unknown {
  const code = codeOf(error)
  if (!storeFailures.test(code)) return error
  return new StoreUnavailableError(`SQLite answers ${code}`, { retryAfterSeconds: 5, cause: error })
}
