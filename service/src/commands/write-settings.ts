import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import { settingFlags, type SettingFlag } from '../settings/settings.ts'
import { codeOf } from '../store/error-code.ts'
import { CommandError, type Surroundings } from './surroundings.ts'

/** Writes the `.env` file of a service that is to come, and says what comes next. Never overwrites one. */
export function writeSettings(
  { json }: { readonly json?: true },
  { calledAs, folder, print }: Pick<Surroundings, 'calledAs' | 'folder' | 'print'>,
): void {
  const path = join(folder, '.env')
  create(path, settingsFile())
  print(json ? JSON.stringify({ settings: path }, null, 2) : whatNext(path, calledAs))
}

/** The settings, each explained, none set: what stands there is what the service takes anyway. */
function settingsFile(): string {
  return [
    '# The settings of Purser. Each is at its standard value; take the # away to choose another. What is set in',
    '# the environment wins over this file, and a flag of purser serve wins over both.',
    '# This file may hold secrets: keep it readable for its user alone, and out of version control.',
    ...settingFlags().flatMap(settingLines),
    '',
  ].join('\n')
}

function settingLines({ name, standard, meaning, isSecret }: SettingFlag): string[] {
  return [
    '',
    `# ${meaning[0]?.toUpperCase()}${meaning.slice(1)}.`,
    ...(isSecret ? [`# ${name}_FILE names a file to read it from instead.`] : []),
    `#${name}=${standard}`,
  ]
}

function create(path: string, text: string): void {
  try {
    // Exclusive, so that what is there is never overwritten, not even by two at once.
    const file = openSync(path, 'wx', 0o600)
    writeSync(file, text)
    fsyncSync(file)
    closeSync(file)
  } catch (error) {
    const code = codeOf(error)
    throw new CommandError(
      code === 'EEXIST'
        ? `${path} is there already and was left as it is; move it away to have a new one written`
        : `${path} cannot be written (${code}); choose a folder that this user may write to`,
    )
  }
}

function whatNext(path: string, purser: string): string {
  return [
    `Wrote ${path}. Nothing in it has to be changed.`,
    '',
    'Next:',
    `  1. ${purser} serve                 starts the service, and shows your two operator keys, once`,
    `  2. ${purser} profile add local     in a second terminal, in this folder: asks for the sandbox key and keeps it`,
    `  3. ${purser} doctor                looks whether all is well`,
    `  4. ${purser} agents create --name research-bot`,
  ].join('\n')
}
