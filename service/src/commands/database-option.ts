import { Option } from '@commander-js/extra-typings'

import { readDatabase, readDatabaseFlag, type Database } from '../settings/config.ts'
import { UsageError, type Io } from './io.ts'

/** `--database`, of every command that is about a ledger. */
export function databaseOption() {
  return new Option(
    '--database <address>',
    'sqlite: and a path, or postgresql://user@host/name, without a password: flags are visible in the process list; default: PURSER_DATABASE, or sqlite:./data/purser.db',
  )
}

/** The ledger from a flag, or from the settings. Throws a `UsageError`. */
export function readDatabaseSetting(
  flag: string | undefined,
  { environment, folder }: Pick<Io, 'environment' | 'folder'>,
): Database {
  return addressOf(readDatabase(flag, environment, folder))
}

/** A flag for a ledger of one kind. */
interface AddressFlag {
  readonly flag: string
  readonly kind: Database['kind']
}

/** The value of a flag for each kind of ledger. */
const forms = {
  sqlite: "sqlite: and a file's path, such as sqlite:./data/purser.db",
  postgres: 'the address of a PostgreSQL database, such as postgresql://user@host/name',
} as const

/** The ledger from a flag, of any kind. Throws a `UsageError` for an invalid address. */
export function readAddress(
  { flag, kind }: AddressFlag,
  text: string,
  { folder }: Pick<Io, 'folder'>,
): Database {
  if (/^(sqlite:.|postgres(ql)?:)/s.test(text)) return addressOf(readDatabaseFlag(`--${flag}`, text, folder))
  // A value that may contain a password is not echoed.
  const found = text.includes('@') ? '' : `, not ${JSON.stringify(text)}`
  throw new UsageError(`--${flag} must be ${forms[kind]}${found}`)
}

function addressOf(reading: ReturnType<typeof readDatabase>): Database {
  if ('database' in reading) return reading.database
  throw new UsageError(reading.faults.join('\n'))
}
