import { randomBytes } from 'node:crypto'
import { chmodSync, closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'

import { codeOf, StoreOpenError } from './store/sqlite/open.ts'

/**
 * The secrets that sign and verify proofs: the configured ones, or the one kept in a file beside the
 * store (mode 0600), which is made at first start. Throws a `StoreOpenError` when the file is unusable.
 */
export function loadProofSecrets(
  configured: readonly string[],
  databasePath: string,
): readonly [string, ...string[]] {
  const [first, ...others] = configured
  if (first !== undefined) return [first, ...others]
  const path = proofSecretPath(databasePath)
  const kept = readSecret(path) ?? makeSecret(path)
  if (kept.length < 64) {
    throw new StoreOpenError(
      `${path} holds no proof secret of this service; restore it from a backup, or set PURSER_PROOF_SECRET (proofs signed with another secret are refused)`,
    )
  }
  return [kept]
}

/** Where the secret of a store is kept when no setting gives one. */
export function proofSecretPath(databasePath: string): string {
  return `${databasePath}.proof-secret`
}

function readSecret(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new StoreOpenError(
      `${path} cannot be read (${codeOf(error)}); let this user read it, or set PURSER_PROOF_SECRET`,
    )
  }
}

/** The secret must outlive a crash that the first hold outlives, so it is on the disk before it is used. */
function makeSecret(path: string): string {
  const secret = randomBytes(32).toString('hex')
  try {
    const file = openSync(path, 'wx', 0o600)
    writeSync(file, `${secret}\n`)
    fsyncSync(file)
    closeSync(file)
    chmodSync(path, 0o600)
  } catch (error) {
    throw new StoreOpenError(
      `${path} cannot be written (${codeOf(error)}); let this user write there, or set PURSER_PROOF_SECRET`,
    )
  }
  return secret
}
