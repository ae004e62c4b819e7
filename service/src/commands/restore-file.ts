import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, realpathSync, renameSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

import { renewProofSecret } from '../start/proof-secret.ts'
import { syncFile } from '../backup/private-file.ts'
import { findRevived, type Revived } from '../backup/revived.ts'
import { copySqliteFile, removeSqliteFile } from '../backup/copy-file.ts'
import { absorbLog, forgetOpen } from '../backup/forget-open.ts'
import { isBackup } from '../store/ledger/sqlite/file-header.ts'
import { keepAside, undoKilledRestores } from '../store/ledger/sqlite/kept-ledger.ts'
import { createFolder, lockFile, refuseDanglingLink } from '../store/ledger/sqlite/open.ts'
import { neededVersion, readSqliteVersion } from '../store/ledger/sqlite/schema-version.ts'
import { StoreOpenError } from '../store/open-error.ts'
import { sumUpSqlite, type LedgerSums } from '../backup/sum-up.ts'
import { CommandError } from './io.ts'

export interface RestoreFileOptions {
  readonly backup: string
  /** The location of the ledger. */
  readonly path: string
  /** The time in milliseconds since 1970, for the name of the replaced ledger. */
  readonly nowMs: number
  readonly signal: AbortSignal
}

/** The result of a restore. */
export interface RestoredFile {
  readonly sums: LedgerSums
  /** How many open proofs were ended. */
  readonly endedProofs: number
  /** Where the replaced ledger is kept, if there was one. */
  readonly keptPath: string | undefined
  /** What works again; undefined if the replaced ledger cannot be read, or is itself the backup. */
  readonly revived: Revived | undefined
}

/**
 * Replaces a SQLite ledger with a backup. The restored ledger is prepared and checked next to the old one, and
 * renamed once the old secret is deleted: after a crash at any point no service starts on the restored ledger
 * with the old secret. Throws a `StoreOpenError` if a service uses the ledger, and a `CommandError` if the file is not a
 * backup.
 */
export async function restoreFile({
  backup,
  path,
  nowMs,
  signal,
}: RestoreFileOptions): Promise<RestoredFile> {
  refuseUnfitBackup(backup)
  createFolder(dirname(path))
  refuseDanglingLink(path)
  const place = existsSync(path) ? realpathSync(path) : path
  const lock = lockFile(place, path)
  const draft = `${place}.${randomBytes(4).toString('hex')}.restoring`
  try {
    // The lock rules out that another restore still needs them.
    for (const left of findDrafts(place)) removeSqliteFile(left)
    await copySqliteFile({ from: backup, to: draft, as: 'ledger', signal })
    const endedProofs = await forgetOpen(draft)
    const sums = await sumUpSqlite(draft, backup)
    if (sums.faults.length > 0) {
      throw new StoreOpenError('backup_unsound', { place: backup, faults: sums.faults.length })
    }
    undoKilledRestores(place)
    // A log next to an empty file, or to a backup that was copied there, is that of a lost ledger.
    const isLedger = sizeOf(place) > 0 && !isBackup(place)
    // Compared with itself, a ledger would say that nothing was revoked.
    const canCompare = isLedger && absorb(place) && realpathSync(backup) !== place
    const revived = canCompare ? await compare(place, draft) : undefined
    renewProofSecret(path)
    const keptPath = keepAside(place, nowMs)
    renameSync(draft, place)
    syncFile(place)
    return { sums, endedProofs, keptPath, revived }
  } finally {
    removeSqliteFile(draft)
    lock.close()
  }
}

/** The unfinished ledgers of restores: of an interrupted one, unless one is running. */
export function findDrafts(place: string): string[] {
  const [folder, name] = [dirname(place), basename(place)]
  return readdirSync(folder)
    .filter((file) => file.startsWith(name) && /^\.[0-9a-f]{8}\.restoring$/.test(file.slice(name.length)))
    .map((file) => join(folder, file))
}

function refuseUnfitBackup(backup: string): void {
  const version = readBackupVersion(backup)
  if (version === undefined) throw new StoreOpenError('no_backup', { place: backup })
  if (version === 0) throw new StoreOpenError('backup_empty', { place: backup })
  if (version > neededVersion) {
    throw new StoreOpenError('backup_too_new', { place: backup, found: version, needed: neededVersion })
  }
}

/** The advice about a ledger does not apply to a backup. */
function readBackupVersion(backup: string): number | undefined {
  try {
    return readSqliteVersion(backup, { mayBeBackup: true })
  } catch (error) {
    if (!(error instanceof StoreOpenError) || error.code === 'backup_beside_log') throw error
    const { cause } = error.values
    const fault = cause === undefined ? 'is not a backup of Purser' : `cannot be read (${cause})`
    throw new CommandError(`${backup} ${fault}; name another backup`)
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** Copies the log into the file: if the restore is killed before the file is replaced, its log may already be renamed. */
function absorb(place: string): boolean {
  try {
    absorbLog(place)
    return true
  } catch {
    return false
  }
}

/** What works again; undefined if the replaced ledger cannot be read. */
async function compare(place: string, restored: string): Promise<Revived | undefined> {
  try {
    return await findRevived({ kind: 'sqlite', path: place }, { kind: 'sqlite', path: restored })
  } catch {
    return undefined
  }
}
