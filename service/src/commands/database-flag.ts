import { parseArgs } from 'node:util'

import { readDatabase, type Database } from '../config.ts'
import { UsageError, type Surroundings } from './command.ts'

/** What the help of a command says about `--database`. */
export const databaseHelp: readonly string[] = [
  '  --database <address>   sqlite: and a path, or postgresql://user:password@host/name; PURSER_DATABASE',
  '                         when left out, or sqlite:./data/purser.db',
]

/** The ledger that a command is about: its flag, or the setting. Throws a `UsageError`. */
export function readDatabaseFlag(args: readonly string[], surroundings: Surroundings): Database {
  return readDatabaseSetting(readFlags(args, ['database']).database, surroundings)
}

/** The ledger that a flag's value names, or the settings do without it. Throws a `UsageError`. */
export function readDatabaseSetting(
  flag: string | undefined,
  { environment, folder }: Surroundings,
): Database {
  return addressOf(readDatabase(flag, environment, folder))
}

/** The ledger that a flag names. Throws a `UsageError` when it is no address of one. */
export function readAddress(flag: string, text: string | undefined, { folder }: Surroundings): Database {
  if (text === undefined) throw new UsageError(`--${flag} is missing`)
  return addressOf(readDatabase(text, {}, folder), flag)
}

/**
 * The flags of a command: those with a value, and the switches, which have none. Throws a `UsageError` at
 * any other word.
 */
export function readFlags<Flag extends string, Switch extends string = never>(
  args: readonly string[],
  flags: readonly Flag[],
  switches: readonly Switch[] = [],
): Partial<Record<Flag, string> & Record<Switch, boolean>> {
  const options = Object.fromEntries([
    ...flags.map((flag) => [flag, { type: 'string' }] as const),
    ...switches.map((flag) => [flag, { type: 'boolean' }] as const),
  ])
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values as Partial<
      Record<Flag, string> & Record<Switch, boolean>
    >
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function addressOf(reading: ReturnType<typeof readDatabase>, flag?: string): Database {
  if ('database' in reading) return reading.database
  const [fault = ''] = reading.faults
  throw new UsageError(flag === undefined ? fault : fault.replace('PURSER_DATABASE', `--${flag}`))
}
