import { codeOf } from '../../error-code.ts'
import { StoreUnavailableError } from '../../store.ts'

/** The codes with which SQLite says that the disk or the file fails it, not the statement. */
const storeFailures = [
  'FULL',
  'IOERR',
  'BUSY',
  'LOCKED',
  'CANTOPEN',
  'READONLY',
  'CORRUPT',
  'NOTADB',
  'NOMEM',
  'PROTOCOL',
]

/** A failure of the disk or the file as a `StoreUnavailableError`; anything else as it is. */
export function explainFailure(error: unknown): unknown {
  const code = codeOf(error)
  if (!storeFailures.some((failure) => code.startsWith(`SQLITE_${failure}`))) return error
  return new StoreUnavailableError(`SQLite answers ${code}`, { retryAfterSeconds: 5, cause: error })
}
