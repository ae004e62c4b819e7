import { Option } from '@commander-js/extra-typings'

import { readDatabase, type Database } from '../config.ts'
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

/** The ledger that a flag names. Throws a `UsageError` when it is no address of one. */
export function readAddress(flag: string, text: string, { folder }: Pick<Surroundings, 'folder'>): Database {
  return addressOf(readDatabase(text, {}, folder), flag)
}

function addressOf(reading: ReturnType<typeof readDatabase>, flag?: string): Database {
  if ('database' in reading) return reading.database
  const fault = reading.faults.join('\n')
  throw new UsageError(flag === undefined ? fault : fault.replace('PURSER_DATABASE', `--${flag}`))
}
