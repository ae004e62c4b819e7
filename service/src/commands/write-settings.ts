import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { settingFlags, type SettingFlag } from '../settings/settings.ts'
import { codeOf } from '../store/error-code.ts'
import { CommandError, type Io } from './io.ts'

/** Writes the `.env` file of a new service, and prints the next steps. Never overwrites a file. */
export function writeSettings(
  { json }: { readonly json?: true },
  { calledAs, folder, print }: Pick<Io, 'calledAs' | 'folder' | 'print'>,
): void {
  const path = join(folder, '.env')
  create(path, settingsFile())
  print(json ? JSON.stringify({ settings: path }, null, 2) : whatNext(path, calledAs))
}

/** All settings with explanations, commented out at their defaults. */
function settingsFile(): string {
  return [
    '# The settings of Purser. Each line shows a default; remove the # to change it.',
    '# The environment takes precedence over this file, and flags of purser serve over both.',
    '# This file may hold secrets: keep it readable by its user only, and out of version control.',
    ...settingFlags().flatMap(settingLines),
    '',
  ].join('\n')
}

function settingLines({ name, standard, meaning, isSecret }: SettingFlag): string[] {
  return [
    '',
    `# ${meaning[0]?.toUpperCase()}${meaning.slice(1)}.`,
    ...(isSecret ? [`# ${name}_FILE is the path of a file to read it from instead.`] : []),
    `#${name}=${standard}`,
  ]
}

function create(path: string, text: string): void {
  try {
    // Exclusive, so that an existing file is never overwritten, not even by concurrent runs.
    writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    const code = codeOf(error)
    throw new CommandError(
      code === 'EEXIST'
        ? `${path} already exists and was left untouched; move it away to create a new one`
        : `${path} cannot be written (${code}); choose a folder that this user can write to`,
    )
  }
}

function whatNext(path: string, purser: string): string {
  return [
    `Wrote ${path}. It works without changes.`,
    '',
    'Next:',
    `  1. ${purser} serve                 starts the service, and shows your two operator keys, once`,
    `  2. ${purser} profile add local     in a second terminal, in this folder: asks for the sandbox key and stores it`,
    `  3. ${purser} doctor                checks the setup`,
    `  4. ${purser} agents create --name research-bot`,
  ].join('\n')
}
