import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs, parseEnv } from 'node:util'

import { codeOf } from '../store/error-code.ts'
import { cutLines, nameFaults, strayLines } from './names.ts'
import { settings, type SettingKey } from './settings.ts'

/** The sources of settings. */
export interface Sources {
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly folder: string
}

/** The text of a setting; undefined if its secret file is unreadable, which is reported. */
export function readText(
  key: SettingKey,
  { flags, variables, folder }: Sources,
  faults: string[],
): string | undefined {
  const { name, flag, standard, ...rest } = settings[key]
  const given = flags[flag]
  if (typeof given === 'string') return given
  const file = 'isSecret' in rest ? variables[`${name}_FILE`] : undefined
  if (file !== undefined && (variables[name] ?? '') !== '') {
    faults.push(`${name} and ${name}_FILE are both set; set one of them`)
  }
  if (file !== undefined) return readSecretFile(`${name}_FILE`, resolve(folder, file), faults)
  return variables[name] ?? standard
}

/** The variables of the environment, and those of an `.env` file in the folder that the environment lacks. */
export function readVariables(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
  faults: string[],
) {
  const variables = { ...readEnvFile(join(folder, '.env'), faults), ...environment }
  faults.push(...nameFaults(Object.keys(variables)))
  return variables
}

/** The settings from flags, by flag name. */
export function readFlags(
  argv: readonly string[],
  faults: string[],
): Record<string, string | boolean | undefined> {
  const options: Record<string, { type: 'string' | 'boolean' }> = { help: { type: 'boolean' } }
  for (const { flag } of Object.values(settings)) options[flag] = { type: 'string' }
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: false }).values
  } catch (error) {
    if (codeOf(error) === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') {
      // Its message has the argument, which may be part of a secret.
      faults.push(
        'An argument belongs to no flag; put a value with spaces in quotes (--help lists the flags)',
      )
      return {}
    }
    faults.push(`${error instanceof Error ? error.message : String(error)} (--help lists the flags)`)
    return {}
  }
}

function readEnvFile(path: string, faults: string[]): Record<string, string | undefined> {
  try {
    // Some editors begin a file with a byte order mark.
    const text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '')
    // The line may contain a secret, so it is not echoed.
    for (const line of strayLines(text)) {
      faults.push(`${path}: line ${line} sets nothing; write NAME=value, or start a comment with #`)
    }
    for (const line of cutLines(text)) {
      faults.push(
        `${path}: the value in line ${line} has a #, which begins a comment; put the value in quotes`,
      )
    }
    return parseEnv(text)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') faults.push(`${path} cannot be read: ${String(error)}`)
    return {}
  }
}

function readSecretFile(name: string, path: string, faults: string[]): string | undefined {
  try {
    const secret = readFileSync(path, 'utf8').trim()
    // An empty file must not count as an absent setting, or another secret would be used.
    if (secret !== '') return secret
    faults.push(`${name} names ${path}, which is empty; put the secret there`)
  } catch (error) {
    faults.push(
      `${name} names ${path}, which ${codeOf(error) === 'ENOENT' ? 'does not exist' : 'cannot be read'}; put the secret there, readable by this user`,
    )
  }
  return undefined
}
