import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

import { syncFile } from '../backup/private-file.ts'
import { codeOf } from '../store/error-code.ts'
import { StoreOpenError } from '../store/open-error.ts'

/**
 * The secret in the file next to a ledger (mode 0600), generated at first start. Throws a `StoreOpenError` if the file is
 * unusable.
 */
export function loadProofSecret(databasePath: string): string {
  return readKeptProofSecret(databasePath) ?? renewProofSecret(databasePath)
}

/** The secret stored next to a ledger, if any. Throws a `StoreOpenError` if it is unusable. */
export function readKeptProofSecret(databasePath: string): string | undefined {
  const path = proofSecretPath(databasePath)
  const kept = readSecret(path)
  if (kept !== undefined && kept.length < 64) {
    throw new StoreOpenError('secret_invalid', { place: path })
  }
  return kept
}

/** The default location of the secret. */
export function proofSecretPath(databasePath: string): string {
  return `${databasePath}.proof-secret`
}

function readSecret(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new StoreOpenError('secret_unreadable', { place: path, cause: codeOf(error) })
  }
}

/**
 * Generates a secret next to a ledger, replacing an existing one. It must be on disk before it is used: it
 * must survive any crash that a hold survives. Written to a temporary file and renamed, so that a crash
 * leaves a complete file or none. Throws a `StoreOpenError` if it cannot be written.
 */
export function renewProofSecret(databasePath: string): string {
  const path = proofSecretPath(databasePath)
  const secret = randomBytes(32).toString('hex')
  const draftPath = `${path}.new`
  try {
    rmSync(draftPath, { force: true })
    writeFileSync(draftPath, `${secret}\n`, { flag: 'wx', mode: 0o600, flush: true })
    renameSync(draftPath, path)
    syncFile(path)
  } catch (error) {
    throw new StoreOpenError('secret_not_written', { place: path, cause: codeOf(error) })
  }
  return secret
}
