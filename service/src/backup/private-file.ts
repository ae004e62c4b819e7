import { closeSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

import { codeOf } from '../store/error-code.ts'
import { StoreOpenError } from '../store/open-error.ts'

/** Creates an empty file that only this user may read. Throws a `StoreOpenError` if it fails. */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    throw new StoreOpenError('file_not_made', { place: path, cause: codeOf(error) })
  }
}

/** Makes a file and its name durable. */
export function syncFile(path: string): void {
  for (const place of [path, dirname(path)]) {
    const file = openSync(place, 'r')
    fsyncSync(file)
    closeSync(file)
  }
}
