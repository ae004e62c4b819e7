import { statSync, type Stats } from 'node:fs'

import { codeOf } from '../../error-code.ts'
import { StoreOpenError } from '../../open-error.ts'

/** The file at a path, if any. Throws a `StoreOpenError` if this user may not look, or the path leads nowhere. */
export function findFile(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw explainUnreachable(error, path)
  }
}

/** An error of a path that this user cannot follow as a `StoreOpenError`; other errors unchanged. */
export function explainUnreachable(error: unknown, path: string): unknown {
  const cause = codeOf(error)
  switch (cause) {
    case 'EACCES':
    case 'EPERM':
      return new StoreOpenError('file_forbidden', { place: path, cause })
    case 'ELOOP':
    case 'ENAMETOOLONG':
      return new StoreOpenError('path_unusable', { place: path, cause })
    default:
      return error
  }
}
