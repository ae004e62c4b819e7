import { Option } from '@commander-js/extra-typings'

import { readDatabase, readDatabaseFlag, type Database } from '../settings/config.ts'
import { UsageError, type Surroundings } from './surroundings.ts'

/** `--database`, of every command that is about a ledger. */
export function databaseOption() {
  return new Option(
    '--database <address>',
    'sqlite: and a path, or postgresql://user@host/name, without a password: a flag is seen in the list of processes; PURSER_DATABASE when left out, or sqlite:./data/purser.db',
  )
}

/** The ledger that a flag's value names, or the settings do without it. Throws a `UsageError`. */
export function readDatabaseSetting(
  flag: string | undefined,
  { environment, folder }: Pick<Surroundings, 'environment' | 'folder'>,
): Database {
  return addressOf(readDatabase(flag, environment, folder))
}

/** A flag that names a ledger of one kind. */
interface AddressFlag {
  readonly flag: string
  readonly kind: Database['kind']
}

/** How a flag names a ledger of each kind. */
const forms = {
  sqlite: "sqlite: and a file's path, such as sqlite:./data/purser.db",
  postgres: 'the address of a PostgreSQL database, such as postgresql://user@host/name',
} as const

/** The ledger that a flag names, whatever its kind. Throws a `UsageError` when it is no address of one. */
export function readAddress(
  { flag, kind }: AddressFlag,
  text: string,
  { folder }: Pick<Surroundings, 'folder'>,
): Database {
  if (/^(sqlite:.|postgres(ql)?:)/s.test(text)) return addressOf(readDatabaseFlag(`--${flag}`, text, folder))
  // What may hold a password is not repeated.
  const found = text.includes('@') ? '' : `, not ${JSON.stringify(text)}`
  throw new UsageError(`--${flag} must be ${forms[kind]}${found}`)
}

function addressOf(reading: ReturnType<typeof readDatabase>): Database {
  if ('database' in reading) return reading.database
  throw new UsageError(reading.faults.join('\n'))
}
