import { closeSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

import { codeOf } from '../error-code.ts'
import { StoreOpenError } from '../open-error.ts'

/** Makes an empty file that only this user may read. Throws a `StoreOpenError` when it cannot. */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    throw new StoreOpenError('file_not_made', { place: path, cause: codeOf(error) })
  }
}

/** Makes durable what was written to a file, and that the file is where it is. */
export function syncFile(path: string): void {
  for (const place of [path, dirname(path)]) {
    const file = openSync(place, 'r')
    fsyncSync(file)
    closeSync(file)
  }
}
