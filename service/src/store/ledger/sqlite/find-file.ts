import { statSync, type Stats } from 'node:fs'

import { codeOf } from '../../error-code.ts'
import { StoreOpenError } from '../../open-error.ts'

/** The file at a path, if any. Throws a `StoreOpenError` if this user may not look. */
export function findFile(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw explainForbidden(error, path)
  }
}

/** A refusal of the operating system as a `StoreOpenError`; other errors unchanged. */
export function explainForbidden(error: unknown, path: string): unknown {
  const cause = codeOf(error)
  if (cause !== 'EACCES' && cause !== 'EPERM') return error
  return new StoreOpenError('file_forbidden', { place: path, cause })
}
