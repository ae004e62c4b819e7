import { closeSync, openSync, readSync } from 'node:fs'
import { resolve } from 'node:path'

import { readVariables } from '../settings/sources.ts'
import { placeOfLedger } from '../start/open-store.ts'
import { adoptRecovered, refuseInUse, restoreDump } from '../backup/restore-dump.ts'
import {
  findRevived,
  listWorkingKeys,
  tryReading,
  type ReadableLedger,
  type Revived,
  type RevivedKind,
  type RevivedRecord,
} from '../backup/revived.ts'
import { codeOf } from '../store/error-code.ts'
import type { LedgerSums } from '../backup/sum-up.ts'
import { readAddress, readDatabaseSetting } from './database-option.ts'
import { describeSums, sumsAsJson } from './ledger-check.ts'
import { refuseOtherOwner } from './ledger-owner.ts'
import { restoreFile } from './restore-file.ts'
import { CommandError, exitCodes, UsageError, type Io } from './io.ts'

interface RestoreOptions {
  readonly database?: string
  readonly replaces?: string
  readonly recovered?: true
  readonly json?: true
}

/** The report about a restored ledger. */
interface Restored {
  readonly ledger: string
  readonly sums: LedgerSums
  readonly endedProofs: number
  readonly keptPath?: string | undefined
  /** What was stopped since the backup and works again; undefined if unknown. */
  readonly revived: Revived | undefined
  /** Every working key, if it is unknown which were revoked. */
  readonly workingKeys: readonly RevivedRecord[]
  /** Whether proofs are signed with a secret from the settings, which this command cannot change. */
  readonly hasSecretSetting: boolean
}

/** Replaces the ledger with a backup, and lists what works again. */
export async function restore(
  file: string | undefined,
  { database: flag, replaces, recovered, json }: RestoreOptions,
  io: Io,
): Promise<void> {
  const database = readDatabaseSetting(flag, io)
  if (recovered && (database.kind === 'sqlite' || file !== undefined)) {
    throw new UsageError('--recovered is for a PostgreSQL database, without a backup file')
  }
  if (!recovered && file === undefined) throw new UsageError('missing: the backup file')
  const backup = file === undefined ? undefined : resolve(io.folder, file)
  if (backup !== undefined) refuseOtherKind(backup, database.kind)
  const outcome =
    database.kind === 'sqlite'
      ? await restoreSqlite(database.path, backup ?? '', replaces, io)
      : await restorePostgres(database.url, backup, replaces, io)
  const restored: Restored = {
    ...outcome,
    ledger: placeOfLedger(database),
    workingKeys: outcome.revived ? [] : await listWorkingKeys(database),
    hasSecretSetting: hasSecretSetting(io),
  }
  io.print(json ? JSON.stringify(asJson(restored), null, 2) : inWords(restored))
  if (restored.sums.faults.length > 0) io.exitWith(exitCodes.failed)
}

/** Refuses a backup of the other kind of ledger, which could only be called damaged. */
function refuseOtherKind(backup: string, kind: 'sqlite' | 'postgres'): void {
  const start = readStart(backup)
  if (kind === 'sqlite' && start.startsWith('PGDMP')) {
    throw new CommandError(
      `${backup} is a backup of a PostgreSQL ledger; name an empty PostgreSQL database with --database postgresql://…`,
    )
  }
  if (kind === 'postgres' && start.startsWith('SQLite format 3')) {
    throw new CommandError(
      `${backup} is a backup of a SQLite ledger; restore it with --database sqlite:/path/purser.db, and copy it with migrate copy`,
    )
  }
}

/** The first bytes of a file; empty if it cannot be read, which the restore explains. */
function readStart(path: string): string {
  try {
    const file = openSync(path, 'r')
    const start = Buffer.alloc(16)
    readSync(file, start)
    closeSync(file)
    return start.toString('latin1')
  } catch {
    return ''
  }
}

async function restoreSqlite(path: string, backup: string, replaces: string | undefined, io: Io) {
  if (replaces !== undefined) {
    throw new UsageError(
      '--replaces is for PostgreSQL: a SQLite ledger is compared with the one that it replaces',
    )
  }
  refuseOtherOwner(path)
  return restoreFile({ backup, path, nowMs: Date.now(), signal: io.interruption() })
}

/** Restores a backup; without one, does the rest in a database that its server has recovered. */
async function restorePostgres(
  url: string,
  backup: string | undefined,
  replaces: string | undefined,
  io: Io,
) {
  const before: ReadableLedger | undefined =
    replaces === undefined ? undefined : readAddress({ flag: 'replaces', kind: 'postgres' }, replaces, io)
  if (before && before.kind !== 'postgres') {
    throw new UsageError('--replaces must be the address of a PostgreSQL database')
  }
  if (before) {
    await refuseUnreadable(before)
    // What it accepts after the comparison would be missing from the report, and both would spend the same budgets.
    await refuseInUse(before.url)
  }
  const outcome =
    backup === undefined
      ? await adoptRecovered(url)
      : await restoreDump(url, {
          archive: backup,
          environment: io.environment,
          signal: io.interruption(),
        })
  if (outcome.sums.faults.length > 0) {
    throw new CommandError(
      `the restored ledger is inconsistent (${outcome.sums.faults.length} errors), and no service starts on it; restore another backup to another empty database`,
    )
  }
  const revived = before && (await findRevived(before, { kind: 'postgres', url }).catch(() => undefined))
  return { ...outcome, revived }
}

async function refuseUnreadable(before: ReadableLedger): Promise<void> {
  try {
    await tryReading(before)
  } catch (error) {
    const cause = error instanceof Error && error.message !== '' ? error.message : codeOf(error)
    throw new CommandError(
      `the ledger of --replaces cannot be read (${cause}); correct the address, or omit --replaces to list every working key`,
    )
  }
}

/** Decided from the variables alone, so that another invalid setting does not hide it. */
function hasSecretSetting({ environment, folder }: Io): boolean {
  const { PURSER_PROOF_SECRET: secret = '', PURSER_PROOF_SECRET_FILE: file = '' } = readVariables(
    environment,
    folder,
    [],
  )
  return secret !== '' || file !== ''
}

/** How many records of a kind are listed as text; --json lists all. */
const toldRecords = 50

function inWords({
  ledger,
  sums,
  endedProofs,
  keptPath,
  revived,
  workingKeys,
  hasSecretSetting: hasSetting,
}: Restored): string {
  return [
    `Restored  ${ledger}`,
    describeSums(sums),
    `${endedProofs.toLocaleString('en-US')} open proofs were ended, new proofs are signed with a new secret, and all console sessions have ended.`,
    ...(hasSetting
      ? ['PURSER_PROOF_SECRET is set and overrides the new secret: change it before the service starts.']
      : []),
    ...(keptPath === undefined ? [] : [`The replaced ledger is kept as ${keptPath}.`]),
    ...(revived ? describeRevived(revived) : describeWorkingKeys(workingKeys)),
  ].join('\n')
}

function describeRevived(revived: Revived): string[] {
  if ([...revived.values()].every(({ length }) => length === 0)) {
    return ['Nothing that was revoked, stopped, frozen, disabled or released since the backup works again.']
  }
  const needsOwner = [...revived].some(([kind, { length }]) => length > 0 && !ofOperators.includes(kind))
  return [
    'Stopped since the backup, and working again; stop them once the service runs, with an operator key:',
    ...[...revived].flatMap(([kind, records]) => listed(records, stopCommands[kind])),
    ...(needsOwner ? [howToActAsOwner] : []),
  ]
}

/** The command that stops a record again, which can be pasted. An operator can stop only those of `ofOperators`. */
const stopCommands: Readonly<Record<RevivedKind, (record: RevivedRecord) => string>> = {
  accounts: ({ id }) => `accounts disable ${id}`,
  keys: ({ id, accountId }) => `keys revoke ${id} --account ${accountId}`,
  agents: ({ id }) => `agents revoke ${id}`,
  paused_mandates: ({ id }) => `mandates pause ${id}`,
  revoked_mandates: ({ id }) => `mandates revoke ${id}`,
  budgets: ({ id }) => `budgets freeze ${id}`,
  domains: ({ id }) => `sellers release ${id}`,
}

const ofOperators: readonly RevivedKind[] = ['accounts', 'keys', 'domains']

const howToActAsOwner =
  'Agents, mandates and budgets need a key of an owner of their account; an operator can issue one with purser keys create --role owner --account acct_…, and --environment production for those of production.'

function describeWorkingKeys(keys: readonly RevivedRecord[]): string[] {
  return [
    'These keys work; revoke again those that were revoked since the backup, and stop again what was stopped:',
    ...listed(keys, stopCommands.keys),
  ]
}

function listed(records: readonly RevivedRecord[], command: (record: RevivedRecord) => string): string[] {
  const left = records.length - toldRecords
  return [
    ...records
      .slice(0, toldRecords)
      .map((record) => `  purser ${command(record)}   # ${harmless(record.name)} (${record.accountId})`),
    ...(left > 0 ? [`  and ${left} more; --json lists them all`] : []),
  ]
}

/** A third-party name without terminal control characters. */
function harmless(name: string): string {
  return name.replaceAll(/\p{C}/gu, '\uFFFD').slice(0, 60)
}

function asJson({
  ledger,
  sums,
  endedProofs,
  keptPath,
  revived,
  workingKeys,
  hasSecretSetting: hasSetting,
}: Restored) {
  return {
    ledger,
    ...sumsAsJson(sums),
    ended_proofs: endedProofs,
    kept: keptPath ?? null,
    has_proof_secret_setting: hasSetting,
    working_again: revived
      ? Object.fromEntries([...revived].map(([kind, records]) => [kind, recordsAsJson(records)]))
      : null,
    working_keys: revived ? null : recordsAsJson(workingKeys),
  }
}

function recordsAsJson(found: readonly RevivedRecord[]) {
  return found.map(({ id, accountId, name }) => ({ id, account_id: accountId, name }))
}
