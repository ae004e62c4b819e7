import { resolve } from 'node:path'

import { readConfig } from '../settings/config.ts'
import { placeOfLedger } from '../start/open-store.ts'
import { restoreDump } from '../store/backup/restore-dump.ts'
import {
  findRevived,
  listWorkingKeys,
  type ReadableLedger,
  type Revived,
  type RevivedRecord,
} from '../store/backup/revived.ts'
import type { LedgerSums } from '../store/backup/sum-up.ts'
import { readAddress, readDatabaseSetting } from './database-option.ts'
import { describeSums, sumsAsJson } from './ledger-check.ts'
import { refuseOtherOwner } from './ledger-owner.ts'
import { restoreFile } from './restore-file.ts'
import { CommandError, exitCodes, UsageError, type Surroundings } from './surroundings.ts'

interface RestoreOptions {
  readonly database?: string
  readonly replaces?: string
  readonly json?: true
}

/** What there is to say about a restored ledger. */
interface Restored {
  readonly ledger: string
  readonly sums: LedgerSums
  readonly endedProofs: number
  readonly keptPath?: string | undefined
  /** What was stopped since the backup and works again; undefined where nobody knows. */
  readonly revived: Revived | undefined
  /** Every key that works, where nobody knows which were revoked. */
  readonly workingKeys: readonly RevivedRecord[]
  /** Whether proofs are signed with a secret from the settings, which this command cannot change. */
  readonly hasSecretSetting: boolean
}

/** Puts a backup in the place of the ledger, and lists what works again. */
export async function restore(
  file: string,
  { database: flag, replaces, json }: RestoreOptions,
  surroundings: Surroundings,
): Promise<void> {
  const database = readDatabaseSetting(flag, surroundings)
  const backup = resolve(surroundings.folder, file)
  const outcome =
    database.kind === 'sqlite'
      ? await restoreSqlite(database.path, backup, replaces, surroundings)
      : await restorePostgres(database.url, backup, replaces, surroundings)
  const restored: Restored = {
    ...outcome,
    ledger: placeOfLedger(database),
    workingKeys: outcome.revived ? [] : await listWorkingKeys(database),
    hasSecretSetting: hasSecretSetting(surroundings),
  }
  surroundings.print(json ? JSON.stringify(asJson(restored), null, 2) : inWords(restored))
  if (restored.sums.faults.length > 0) surroundings.exitWith(exitCodes.failed)
}

async function restoreSqlite(
  path: string,
  backup: string,
  replaces: string | undefined,
  surroundings: Surroundings,
) {
  if (replaces !== undefined) {
    throw new UsageError(
      '--replaces is for PostgreSQL: a SQLite ledger is compared with the one in its place',
    )
  }
  refuseOtherOwner(path)
  return restoreFile({ backup, path, nowMs: Date.now(), signal: surroundings.interruption() })
}

async function restorePostgres(
  url: string,
  backup: string,
  replaces: string | undefined,
  surroundings: Surroundings,
) {
  const before: ReadableLedger | undefined =
    replaces === undefined
      ? undefined
      : readAddress({ flag: 'replaces', kind: 'postgres' }, replaces, surroundings)
  if (before && before.kind !== 'postgres') {
    throw new UsageError('--replaces must be the address of a PostgreSQL database')
  }
  const outcome = await restoreDump(url, backup, surroundings.environment)
  if (outcome.sums.faults.length > 0) {
    throw new CommandError(
      `the restored ledger does not add up (${outcome.sums.faults.length} faults), and no service starts on it; restore another backup to another empty database`,
    )
  }
  return { ...outcome, revived: before && (await findRevived(before, { kind: 'postgres', url })) }
}

function hasSecretSetting({ environment, folder }: Surroundings): boolean {
  const reading = readConfig([], environment, folder)
  return 'config' in reading && reading.config.proofSecrets.length > 0
}

/** How many records of a kind are told in words; --json has them all. */
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
    `${endedProofs.toLocaleString('en-US')} open proofs were ended, proofs are signed with a new secret, and everybody is signed out of the console.`,
    ...(hasSetting
      ? ['PURSER_PROOF_SECRET is set, and wins over the new secret: change it before the service starts.']
      : []),
    ...(keptPath === undefined ? [] : [`The ledger that was here before is kept as ${keptPath}.`]),
    ...(revived ? describeRevived(revived) : describeWorkingKeys(workingKeys)),
  ].join('\n')
}

function describeRevived({ keys, agents, mandates }: Revived): string[] {
  if (keys.length + agents.length + mandates.length === 0) {
    return ['Nothing works again that was revoked or stopped since the backup.']
  }
  return [
    'Revoked or stopped since the backup, and working again; stop them once the service runs:',
    ...listed(keys, 'keys revoke'),
    ...listed(agents, 'agents revoke'),
    ...listed(mandates, 'mandates pause'),
  ]
}

function describeWorkingKeys(keys: readonly RevivedRecord[]): string[] {
  return [
    'These keys work; revoke again those that were revoked since the backup, and stop again what was stopped:',
    ...listed(keys, 'keys revoke'),
  ]
}

function listed(records: readonly RevivedRecord[], command: string): string[] {
  const left = records.length - toldRecords
  return [
    ...records
      .slice(0, toldRecords)
      .map(({ id, accountId, name }) => `  purser ${command} ${id}   (${accountId}: ${harmless(name)})`),
    ...(left > 0 ? [`  and ${left} more; --json lists them all`] : []),
  ]
}

/** A name that others chose, without what would command a terminal. */
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
      ? {
          keys: recordsAsJson(revived.keys),
          agents: recordsAsJson(revived.agents),
          mandates: recordsAsJson(revived.mandates),
        }
      : null,
    working_keys: revived ? null : recordsAsJson(workingKeys),
  }
}

function recordsAsJson(found: readonly RevivedRecord[]) {
  return found.map(({ id, accountId, name }) => ({ id, account_id: accountId, name }))
}
