import { randomBytes } from 'node:crypto'
import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { resolve } from 'node:path'

import type { Database } from '../settings/config.ts'
import { placeOfLedger } from '../start/open-store.ts'
import { dumpPostgres } from '../backup/dump.ts'
import { syncFile } from '../backup/private-file.ts'
import { copySqliteFile } from '../backup/copy-file.ts'
import { refuseDamage } from '../store/ledger/sqlite/check-file.ts'
import { neededVersion, readSqliteVersion } from '../store/ledger/sqlite/schema-version.ts'
import { StoreOpenError } from '../store/open-error.ts'
import { sumUpSqlite, type LedgerSums } from '../backup/sum-up.ts'
import { readDatabaseSetting } from './database-option.ts'
import { describeSums, sumsAsJson } from './ledger-check.ts'
import { refuseOtherOwner } from './ledger-owner.ts'
import { inUnits } from './sizes.ts'
import { CommandError, exitCodes, type Io } from './io.ts'

interface BackupOptions {
  readonly database?: string
  readonly replace?: true
  readonly json?: true
}

/** The inputs of a backup. */
interface Draft {
  /** The temporary file of the backup. */
  readonly path: string
  readonly environment: Io['environment']
  readonly signal: AbortSignal
  readonly onProgress: (bytes: number) => void
}

/** Writes a backup of the ledger to a file, checks it, and reports its contents. */
export async function backUp(
  file: string,
  { database: flag, replace, json }: BackupOptions,
  io: Io,
): Promise<void> {
  const database = readDatabaseSetting(flag, io)
  const path = resolve(io.folder, file)
  refuseTakenPath(path, replace === true)
  // A unique name, so that concurrent backups never write the same file.
  const draftPath = `${path}.${randomBytes(4).toString('hex')}.part`
  const progress = showBytes(io)
  const { environment } = io
  const draft = {
    path: draftPath,
    environment,
    signal: io.interruption(),
    onProgress: progress.show,
  }
  try {
    const sums = await write(database, draft)
    progress.end()
    if (sums && sums.faults.length > 0 && existsSync(path)) {
      throw new CommandError(
        `${placeOfLedger(database)} is inconsistent (${sums.faults.length} errors), and ${path} was left untouched; purser ledger check lists the errors`,
      )
    }
    syncFile(draftPath)
    // Another backup may have been written there meanwhile.
    refuseTakenPath(path, replace === true)
    renameSync(draftPath, path)
    syncFile(path)
    const report = { path, ledger: placeOfLedger(database), bytes: statSync(path).size, sums }
    io.print(json ? JSON.stringify(asJson(report), null, 2) : inWords(report))
    if (sums && sums.faults.length > 0) io.exitWith(exitCodes.failed)
  } finally {
    progress.end()
    rmSync(draftPath, { force: true })
  }
}

/** Writes the temporary file; resolves to its sums, or undefined for a schema that this release cannot check. */
function write(database: Database, draft: Draft): Promise<LedgerSums | undefined> {
  return database.kind === 'sqlite' ? copySqlite(database.path, draft) : dumpPostgres(database.url, draft)
}

async function copySqlite(
  from: string,
  { path, signal, onProgress }: Draft,
): Promise<LedgerSums | undefined> {
  refuseOtherOwner(from)
  const version = readSqliteVersion(from)
  if (version === undefined || version === 0) {
    throw new StoreOpenError('no_ledger', { place: from })
  }
  // A copy has new indexes, so it says nothing about damage in those of the ledger.
  await refuseDamage(from, { copyOf: from, signal })
  await copySqliteFile({ from, to: path, as: 'backup', signal, onProgress })
  return version === neededVersion ? sumUpSqlite(path, from) : undefined
}

/** Nothing is overwritten by mistake, least of all a ledger in use. */
function refuseTakenPath(path: string, mayReplace: boolean): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) return
  if (!found.isFile()) throw new CommandError(`${path} is not a file; choose a file for the backup`)
  const isLedger = ['.lock', '-wal', '.proof-secret'].some((suffix) => existsSync(`${path}${suffix}`))
  if (isLedger) {
    throw new CommandError(
      `${path} is a ledger that a service uses or has used; choose another file for the backup`,
    )
  }
  if (!mayReplace) {
    throw new CommandError(`${path} already exists; choose another file, or replace it with --replace`)
  }
}

/** How many bytes are written between two progress lines if output is not a terminal. */
const bytesPerLine = 256 * 1024 ** 2

/** Shows the written size: in one updated line on a terminal, otherwise in a few lines. */
function showBytes({ isWatched, overwrite, printError }: Io) {
  let nextLineAt = bytesPerLine
  return {
    show(bytes: number): void {
      const line = `  ${inUnits(bytes)} written`
      if (isWatched) return overwrite(line)
      if (bytes < nextLineAt) return
      printError(line)
      nextLineAt = bytes + bytesPerLine
    },
    end(): void {
      if (isWatched) overwrite('')
    },
  }
}

interface Report {
  readonly path: string
  readonly ledger: string
  readonly bytes: number
  readonly sums: LedgerSums | undefined
}

function inWords({ path, ledger, bytes, sums }: Report): string {
  return [
    `Backup    ${path}, ${inUnits(bytes)}`,
    `Ledger    ${ledger}`,
    sums
      ? describeSums(sums)
      : 'It has the schema of another release, which its purser ledger check can check.',
    'It does not contain the secret that signs proofs; purser restore creates a new one.',
  ].join('\n')
}

function asJson({ path, ledger, bytes, sums }: Report) {
  return { backup: path, ledger, bytes, is_checked: sums !== undefined, ...(sums && sumsAsJson(sums)) }
}
