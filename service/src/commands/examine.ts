import { accessSync, constants, realpathSync, statSync, type Stats } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { readConfig, warningsOf, type Config } from '../settings/config.ts'
import { checkLedgerPlace } from '../start/ledger-place.ts'
import { nodeFault } from '../node-version.ts'
import { placeOfLedger } from '../start/open-store.ts'
import { proofSecretPath, readKeptProofSecret } from '../start/proof-secret.ts'
import { codeOf } from '../store/error-code.ts'
import { findFile } from '../store/ledger/sqlite/find-file.ts'
import { placeOf } from '../store/ledger/sqlite/open.ts'
import { StoreOpenError } from '../store/open-error.ts'
import { lacksKey } from './chosen-keys.ts'
import { findDrafts } from './restore-file.ts'
import { readSchemaStatus } from './schema-status.ts'
import { inUnits } from './sizes.ts'
import type { Io } from './io.ts'

/** A finding: `warn` is acceptable, `fail` is not; both name the remedy. */
export interface Finding {
  readonly mark: 'ok' | 'warn' | 'fail'
  readonly subject: string
  readonly finding: string
}

/** The findings about the service of a folder: Node, settings, ledger, files, secrets, disk. */
export async function examine({
  calledAs,
  environment,
  folder,
}: Pick<Io, 'calledAs' | 'environment' | 'folder'>): Promise<Finding[]> {
  const findings: Finding[] = [examineNode(process.versions.node)]
  const reading = readConfig([], environment, folder)
  const settingsFile = examineFile('settings', join(folder, '.env'))
  if (settingsFile) findings.push(settingsFile)
  if (!('config' in reading)) {
    const faults = reading.faults.map((finding) => ({ mark: 'fail', subject: 'settings', finding }) as const)
    return [...findings, ...faults]
  }
  const { config } = reading
  for (const finding of warningsOf(config)) findings.push({ mark: 'warn', subject: 'settings', finding })
  const ledger = await examineLedger(config, calledAs)
  findings.push(ledger)
  if (ledger.mark !== 'fail') findings.push(...(await examinePlace(config, calledAs)))
  if (config.database.kind === 'sqlite') {
    findings.push(...examineFiles(config.database.path), await examineDisk(config.database.path))
  }
  return [...findings, examineSecret(config), ...(await examineChosenKeys(config, ledger, calledAs))]
}

function examineNode(version: string): Finding {
  const fault = nodeFault(version)
  return { mark: fault === undefined ? 'ok' : 'fail', subject: 'node', finding: fault ?? `Node ${version}` }
}

async function examineLedger({ database }: Config, calledAs: string): Promise<Finding> {
  const subject = 'ledger'
  try {
    if (database.kind === 'sqlite') placeOf(database.path)
    else await refuseLackOfRights(database.url)
    const { place, found, needed, unfinished } = await readSchemaStatus(database)
    if (unfinished) throw new StoreOpenError(`${unfinished}_unfinished`, { place })
    if (found > needed) throw new StoreOpenError('newer_schema', { place, found, needed })
    if (found === 0) {
      if (database.kind === 'sqlite') refuseUnwritable(dirname(database.path))
      return { mark: 'warn', subject, finding: `${place} holds no ledger yet; ${calledAs} serve makes it` }
    }
    const finding =
      found === needed
        ? `${place}, schema ${found}`
        : `${place} has schema ${found} of ${needed}; the next start, or ${calledAs} migrate up, upgrades it`
    return { mark: found === needed ? 'ok' : 'warn', subject, finding }
  } catch (error) {
    const known = error instanceof StoreOpenError ? error.tell({ purser: calledAs }) : undefined
    return { mark: 'fail', subject, finding: known ?? `${placeOfLedger(database)} answers ${codeOf(error)}` }
  }
}

/** Without any right, even the schema version cannot be read; the check of all rights names the `grant`. */
async function refuseLackOfRights(url: string): Promise<void> {
  const { withClient } = await import('../store/ledger/postgres/connection.ts')
  const { refuseMissingRights } = await import('../store/ledger/postgres/rights.ts')
  await withClient(url, refuseMissingRights)
}

/** A first start creates the folder and the ledger: as this user, it could not. */
function refuseUnwritable(folder: string): void {
  const nearest = nearestFolder(folder)
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK)
  } catch (error) {
    const code = nearest === folder ? 'lock_not_writable' : 'folder_not_made'
    throw new StoreOpenError(code, { place: folder, cause: codeOf(error) })
  }
}

/** Whether the ledger's database is intact, and provides the connections that the service needs. */
async function examinePlace(config: Config, calledAs: string): Promise<Finding[]> {
  const subject = config.database.kind === 'sqlite' ? 'ledger' : 'server'
  try {
    const warnings = await checkLedgerPlace(config, 'doctor')
    return warnings.map((finding) => ({ mark: 'warn', subject, finding }))
  } catch (error) {
    if (!(error instanceof StoreOpenError)) throw error
    return [{ mark: 'fail', subject, finding: error.tell({ purser: calledAs }) }]
  }
}

function examineFiles(path: string): Finding[] {
  const files = [path, `${path}-wal`, `${path}.lock`, proofSecretPath(path)]
  const drafts = findIfAllowed(path) ? findDrafts(realpathSync(path)) : []
  const findings = [
    ...files.flatMap((file) => examineFile('files', file) ?? []),
    ...drafts.map((draft): Finding => {
      const finding = `${draft} is left from an interrupted restore; delete it if no restore is running`
      return { mark: 'warn', subject: 'files', finding }
    }),
  ]
  const faults = findings.filter(({ mark }) => mark !== 'ok')
  if (findings.length === 0 || faults.length > 0) return faults
  return [{ mark: 'ok', subject: 'files', finding: `${dirname(path)} keeps the ledger for this user alone` }]
}

/** Whether others may read a private file; undefined if it does not exist. */
function examineFile(subject: string, path: string): Finding | undefined {
  const file = findIfAllowed(path)
  // A folder in place of the ledger has been reported.
  if (!file || file.isDirectory()) return undefined
  const user = process.getuid?.()
  if (user !== undefined && file.uid !== user && user !== 0) {
    const finding = `${path} belongs to user ${file.uid}, and this is user ${user}; run purser as the user of the service`
    return { mark: 'fail', subject, finding }
  }
  // Files in a private folder are private, whatever their own permissions.
  const isOpen = (file.mode & 0o077) !== 0 && (statSync(dirname(path)).mode & 0o077) !== 0
  if (process.platform === 'win32' || !isOpen) {
    return { mark: 'ok', subject, finding: `${path} is readable by this user only` }
  }
  return { mark: 'fail', subject, finding: `${path} can be read by others; run: chmod 600 '${path}'` }
}

/** Whatever this user may not read has been reported, with the settings or the ledger. */
function findIfAllowed(path: string): Stats | undefined {
  try {
    return findFile(path)
  } catch (error) {
    if (error instanceof StoreOpenError) return undefined
    throw error
  }
}

/** Below the first the ledger may fail at any time; below the second it is time to free space. */
const diskBytes = { fail: 100 * 1024 ** 2, warn: 1024 ** 3 }

async function examineDisk(path: string): Promise<Finding> {
  const folder = nearestFolder(dirname(path))
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  const mark = free < diskBytes.fail ? 'fail' : free < diskBytes.warn ? 'warn' : 'ok'
  const remedy = mark === 'ok' ? '' : '; make room: a full disk answers every payment with 503'
  return { mark, subject: 'disk', finding: `${inUnits(free)} free at ${folder}${remedy}` }
}

function nearestFolder(folder: string): string {
  return findIfAllowed(folder) ? folder : nearestFolder(dirname(folder))
}

function examineSecret({ proofSecrets, database }: Config): Finding {
  const subject = 'secret'
  if (proofSecrets.length > 0) {
    return { mark: 'ok', subject, finding: 'proofs are signed with PURSER_PROOF_SECRET' }
  }
  if (database.kind === 'postgres') {
    return { mark: 'ok', subject, finding: 'proofs are signed with the secret in the database' }
  }
  try {
    const kept = readKeptProofSecret(database.path)
    const finding = kept
      ? `proofs are signed with ${proofSecretPath(database.path)}`
      : 'the next start generates the secret that signs proofs'
    return { mark: 'ok', subject, finding }
  } catch (error) {
    if (!(error instanceof StoreOpenError)) throw error
    return { mark: 'fail', subject, finding: error.message }
  }
}

async function examineChosenKeys(
  { bootstrapKeys, database }: Config,
  ledger: Finding,
  calledAs: string,
): Promise<Finding[]> {
  const subject = 'keys'
  const findings: Finding[] = []
  for (const [environment, key] of Object.entries(bootstrapKeys)) {
    if (key === undefined) continue
    const isLacking = ledger.mark === 'ok' && isOwn(database) && (await lacksKey(database, key))
    findings.push(
      isLacking
        ? {
            mark: 'fail',
            subject,
            finding: `the chosen ${environment} key is not in the ledger, since only a first start creates chosen keys: set the key of the first start, or issue another with ${calledAs} keys issue --operator and remove the setting`,
          }
        : {
            mark: 'warn',
            subject,
            finding: `the chosen ${environment} key works as long as it is in the settings; create others with ${calledAs} keys create, and remove it`,
          },
    )
  }
  return findings
}

/** Reading another user's file would create files next to it. */
function isOwn(database: Config['database']): boolean {
  return database.kind === 'postgres' || findIfAllowed(database.path)?.uid === process.getuid?.()
}
