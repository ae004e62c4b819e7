import { randomBytes } from 'node:crypto'

import type { IssuedApiKey } from '@purser/wire/api-keys'
import { environments, type Environment } from '@purser/wire/fields'

import { readConfig, type Config } from '../settings/config.ts'
import { mintApiKey } from '../domain/api-key.ts'
import { auditEvent, systemActor } from '../domain/audit.ts'
import { firstUserId, type Account } from '../domain/records.ts'
import { createIds, createIdsOfTimes } from '../ids.ts'
import { openPostgresLedgerStore } from '../store/ledger/postgres/postgres-ledger-store.ts'
import { openSqliteLedgerStore } from '../store/ledger/sqlite/sqlite-ledger-store.ts'
import type { Store } from '../store/store.ts'
import { keyCreated, newApiKey, toIssuedWire } from '../routes/api-keys.ts'
import { refuseOtherOwner } from './ledger-owner.ts'
import { readSchemaStatus } from './schema-status.ts'
import { CommandError, UsageError, type Io } from './io.ts'

export interface OperatorKeyOptions {
  readonly environment: Environment
  /** The account of the key; default: that of the first start. */
  readonly account?: string | undefined
  readonly label?: string | undefined
  readonly database?: string | undefined
}

export interface IssuedOperatorKey {
  readonly key: IssuedApiKey
  /** Whether the account was disabled, and was enabled for the key. */
  readonly wasEnabled: boolean
}

/**
 * Issues an operator key in the ledger itself, for operators who have lost all of theirs, on the database's machine.
 * There is no HTTP endpoint for it. Throws a `CommandError` if it fails.
 */
export async function issueOperatorKey(
  { environment, account: accountId, label = 'issued on the machine', database: flag }: OperatorKeyOptions,
  io: Pick<Io, 'calledAs' | 'environment' | 'folder'>,
): Promise<IssuedOperatorKey> {
  const config = readSettings(flag, io)
  await refuseUnready(config, io)
  const store = await open(config)
  try {
    const account = await find(store, accountId)
    const nowMs = Date.now()
    const ids = createIds(() => nowMs)
    const wasEnabled = account.disabledAtMs !== null
    if (wasEnabled) {
      const events = environments.map((one) =>
        auditEvent(
          systemActor,
          { accountId: account.id, environment: one },
          {
            id: ids.next('auditEvent'),
            type: 'account.enabled',
            subjectId: account.id,
            data: {},
            atMs: nowMs,
          },
        ),
      )
      await store.moveAccount(account.id, 'active', { atMs: nowMs, events })
    }
    const text = mintApiKey(environment, randomBytes)
    const key = newApiKey(text, {
      accountId: account.id,
      environment,
      id: ids.next('apiKey'),
      role: 'operator',
      agentId: null,
      label,
      createdAtMs: nowMs,
    })
    await store.issueApiKey(key, keyCreated(systemActor, key, ids.next('auditEvent')))
    return { key: toIssuedWire(key, text), wasEnabled }
  } finally {
    await store.close()
  }
}

/** The settings of the service, which name the ledger and its distribution. */
function readSettings(
  flag: string | undefined,
  { environment, folder }: Pick<Io, 'environment' | 'folder'>,
): Config {
  const reading = readConfig(flag === undefined ? [] : ['--database', flag], environment, folder)
  if ('config' in reading) return reading.config
  throw new UsageError(reading.faults.join('\n'))
}

/** Never creates or migrates a ledger: a key in a new ledger would be useless. */
async function refuseUnready({ database }: Config, { calledAs }: Pick<Io, 'calledAs'>): Promise<void> {
  if (database.kind === 'sqlite') refuseOtherOwner(database.path)
  const { place, isMissing, found, needed } = await readSchemaStatus(database)
  if (isMissing || found === 0) {
    throw new CommandError(`there is no ledger at ${place}; set that of the service with --database`)
  }
  if (found !== needed) {
    throw new CommandError(
      `${place} has schema ${found}, and this release needs ${needed}; see ${calledAs} migrate status`,
    )
  }
}

function open({ database }: Config): Store | Promise<Store> {
  const nextId = createIdsOfTimes()
  return database.kind === 'sqlite'
    ? openSqliteLedgerStore({ path: database.path, nextId })
    : openPostgresLedgerStore({ url: database.url, nextId })
}

async function find(store: Store, accountId: string | undefined): Promise<Account> {
  const account = await store.findAccount(
    accountId === undefined ? { idpUserId: firstUserId } : { id: accountId },
  )
  if (account) return account
  throw new CommandError(
    accountId === undefined
      ? "the ledger has no account from a first start; set the key's account with --account"
      : `there is no account ${accountId}`,
  )
}
