import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs, parseEnv } from 'node:util'

import { keyPrefixes } from '@purser/wire/api-keys'
import { environments, type Environment } from '@purser/wire/fields'

import { nameFaults, strayLines } from './setting-names.ts'
import {
  logLevels,
  settings,
  settingsHelp,
  type LogLevel,
  type SettingFlag,
  type SettingKey,
} from './settings.ts'
import { addressFaults } from './store/postgres/address.ts'

/** How the service is set up. */
export interface Config {
  readonly host: string
  /** 0 lets the operating system pick one. */
  readonly port: number
  readonly database: Database
  /** The first signs proofs, all verify them; none means: the one kept beside the store. */
  readonly proofSecrets: readonly string[]
  /** Keys that the operator chose, used instead of minted ones when the store is empty. */
  readonly bootstrapKeys: Readonly<Record<Environment, string | undefined>>
  readonly logLevel: LogLevel
  /** How many processes answer on this machine. */
  readonly workers: number
  /** Whether batches are formed for each account, as a database needs that spreads accounts over machines. */
  readonly accountLanes: boolean
  /** The address under which people reach the service, when it is another than the one it listens on. */
  readonly publicUrl: string | undefined
  /** The identity provider at which people sign in to the console, if there is one. */
  readonly oidc: OidcSettings | undefined
}

/** How the console is known to an identity provider (OpenID Connect). */
export interface OidcSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
}

/** Where the ledger lies. The address of a server holds a password: it is never to be printed. */
export type Database =
  { readonly kind: 'sqlite'; readonly path: string } | { readonly kind: 'postgres'; readonly url: string }

/** The settings, or every fault in them, each with what would be right. */
export type ConfigReading =
  { readonly config: Config } | { readonly faults: readonly string[] } | { readonly help: string }

/** The configuration from flags, the environment and an `.env` file in the folder; the earlier wins. */
export function readConfig(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): ConfigReading {
  const faults: string[] = []
  const flags = readFlags(argv, faults)
  if (flags['help']) return { help: helpText() }
  const sources = { flags, variables: readVariables(environment, folder, faults), folder }
  const given = (key: SettingKey) => readText(key, sources, faults)
  const text = (key: SettingKey) => given(key) ?? ''
  const others = {
    host: nonEmpty(text('host'), settings.host, faults),
    port: wholeNumber(text('port'), settings.port, { least: 0, most: 65_535 }, faults),
    database: database(given('database'), folder, faults),
    proofSecrets: proofSecrets(text('proofSecret'), faults),
    bootstrapKeys: {
      sandbox: bootstrapKey(text('sandboxKey'), 'sandbox', settings.sandboxKey, faults),
      production: bootstrapKey(text('productionKey'), 'production', settings.productionKey, faults),
    },
    logLevel: logLevel(text('logLevel'), faults),
  }
  const config: Config = {
    ...others,
    workers: workers(text('workers'), others.database, faults),
    accountLanes: accountLanes(text('accountLanes'), others.database, faults),
    ...signingIn(given, faults),
  }
  return faults.length > 0 ? { faults } : { config }
}

/** The ledger that a flag names, or the settings do without it; or what is wrong with it. */
export function readDatabase(
  flag: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): { readonly database: Database } | { readonly faults: readonly string[] } {
  const faults: string[] = []
  const flags = { [settings.database.flag]: flag }
  // What a flag names hangs on no variable, nor on what is wrong with one.
  const variables = flag === undefined ? readVariables(environment, folder, faults) : {}
  const text = readText('database', { flags, variables, folder }, faults)
  const found = database(text, folder, faults)
  return faults.length > 0 ? { faults } : { database: found }
}

/** Where settings are looked for. */
interface Sources {
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly folder: string
}

/** The text of a setting; undefined when it should stand in a file that does not hold it, which is told. */
function readText(
  key: SettingKey,
  { flags, variables, folder }: Sources,
  faults: string[],
): string | undefined {
  const { name, flag, standard, ...rest } = settings[key]
  const given = flags[flag]
  if (typeof given === 'string') return given
  const file = 'isSecret' in rest ? variables[`${name}_FILE`] : undefined
  if (file !== undefined && variables[name] !== undefined) {
    faults.push(`${name} and ${name}_FILE are both set; set one of them`)
  }
  if (file !== undefined) return readSecretFile(`${name}_FILE`, resolve(folder, file), faults)
  return variables[name] ?? standard
}

function readVariables(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
  faults: string[],
) {
  const variables = { ...readEnvFile(join(folder, '.env'), faults), ...environment }
  faults.push(...nameFaults(Object.keys(variables)))
  return variables
}

function readFlags(argv: readonly string[], faults: string[]): Record<string, string | boolean | undefined> {
  const options: Record<string, { type: 'string' | 'boolean' }> = { help: { type: 'boolean' } }
  for (const { flag } of Object.values(settings)) options[flag] = { type: 'string' }
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: false }).values
  } catch (error) {
    faults.push(`${error instanceof Error ? error.message : String(error)} (--help lists the flags)`)
    return {}
  }
}

function readEnvFile(path: string, faults: string[]): Record<string, string | undefined> {
  try {
    const text = readFileSync(path, 'utf8')
    // What stands there may be a secret, so it is not repeated.
    for (const line of strayLines(text)) {
      faults.push(`${path}: line ${line} sets nothing; write NAME=value, or # before a comment`)
    }
    return parseEnv(text)
  } catch (error) {
    if (!isMissing(error)) faults.push(`${path} cannot be read: ${String(error)}`)
    return {}
  }
}

function readSecretFile(name: string, path: string, faults: string[]): string | undefined {
  try {
    const secret = readFileSync(path, 'utf8').trim()
    // An empty file must not pass for a setting that was left out, or another secret would take its place.
    if (secret !== '') return secret
    faults.push(`${name} names ${path}, which is empty; put the secret there`)
  } catch (error) {
    faults.push(
      `${name} names ${path}, which ${isMissing(error) ? 'does not exist' : 'cannot be read'}; put the secret there, readable by this user`,
    )
  }
  return undefined
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

function nonEmpty(text: string, { name, standard }: SettingFlag, faults: string[]): string {
  if (text.trim() === '') faults.push(`${name} is empty; leave it out for ${standard}`)
  return text
}

function wholeNumber(
  text: string,
  { name }: SettingFlag,
  { least, most }: { least: number; most: number },
  faults: string[],
): number {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most)) {
    faults.push(`${name} must be a whole number from ${least} to ${most}, not ${JSON.stringify(text)}`)
  }
  return value
}

function database(text: string | undefined, folder: string, faults: string[]): Database {
  // What cannot be read is told already, and is of the kind that no other setting disagrees with.
  if (text === undefined) return { kind: 'postgres', url: '' }
  if (/^postgres(ql)?:/.test(text)) {
    faults.push(...addressFaults(text))
    return { kind: 'postgres', url: text }
  }
  const path = /^sqlite:(.+)$/s.exec(text)?.[1]
  if (path === undefined) {
    // What may hold a password is not repeated.
    const found = text.includes('@') ? '' : `, not ${JSON.stringify(text)}`
    faults.push(
      `PURSER_DATABASE must be sqlite: and a file's path, such as sqlite:./data/purser.db, or a postgresql:// address${found}`,
    )
  }
  return { kind: 'sqlite', path: resolve(folder, path ?? 'data/purser.db') }
}

/** The fewest bytes that a secret may have. */
const secretBytes = 32

function proofSecrets(text: string, faults: string[]): string[] {
  if (text === '') return []
  const secrets = text.split(',').map((secret) => secret.trim())
  for (const [index, secret] of secrets.entries()) {
    const bytes = Buffer.byteLength(secret)
    if (bytes < secretBytes) {
      faults.push(
        `PURSER_PROOF_SECRET: secret ${index + 1} has ${bytes} bytes and needs ${secretBytes} or more; make one with: openssl rand -hex 32`,
      )
    }
  }
  return secrets
}

/** The fewest characters of a chosen key after its prefix. */
const chosenKeyLength = 8

function bootstrapKey(
  text: string,
  environment: Environment,
  { name }: SettingFlag,
  faults: string[],
): string | undefined {
  if (text === '') return undefined
  const prefix = keyPrefixes[environment]
  const rest = text.startsWith(prefix) ? text.slice(prefix.length) : ''
  if (rest.length < chosenKeyLength || !/^[\x21-\x7e]+$/.test(rest)) {
    faults.push(
      `${name} must begin with ${prefix}, followed by ${chosenKeyLength} or more printable characters`,
    )
  }
  return text
}

function logLevel(text: string, faults: string[]): LogLevel {
  const level = logLevels.find((known) => known === text)
  if (!level)
    faults.push(`PURSER_LOG_LEVEL must be one of ${logLevels.join(', ')}, not ${JSON.stringify(text)}`)
  return level ?? 'info'
}

function workers(text: string, { kind }: Config['database'], faults: string[]): number {
  if (text === '') return kind === 'sqlite' ? 1 : availableParallelism()
  const count = wholeNumber(text, settings.workers, { least: 1, most: 1_024 }, faults)
  if (kind === 'sqlite' && count > 1) {
    faults.push('PURSER_WORKERS must be 1 with SQLite: one process writes the file')
  }
  return count
}

function accountLanes(text: string, { kind }: Config['database'], faults: string[]): boolean {
  if (text !== 'on' && text !== 'off') {
    faults.push(`PURSER_ACCOUNT_LANES must be on or off, not ${JSON.stringify(text)}`)
  }
  if (text === 'on' && kind === 'sqlite') {
    faults.push('PURSER_ACCOUNT_LANES is for PostgreSQL: leave it out with SQLite')
  }
  return text === 'on'
}

function signingIn(
  given: (key: SettingKey) => string | undefined,
  faults: string[],
): Pick<Config, 'publicUrl' | 'oidc'> {
  const publicUrl = webAddress(given('publicUrl') ?? '', settings.publicUrl, faults)
  const issuer = webAddress(given('oidcIssuer') ?? '', settings.oidcIssuer, faults)
  const clientId = given('oidcClientId') ?? ''
  const clientSecret = given('oidcClientSecret')
  if (publicUrl !== undefined && !/^https?:\/\/[^/]+\/?$/.test(publicUrl)) {
    faults.push(`PURSER_PUBLIC_URL must have no path: ${JSON.stringify(publicUrl)} has one`)
  }
  const count = [issuer ?? '', clientId, clientSecret].filter((one) => one !== '').length
  if (count === 0) return { publicUrl, oidc: undefined }
  if (count < 3) {
    faults.push(
      'PURSER_OIDC_ISSUER, PURSER_OIDC_CLIENT_ID and PURSER_OIDC_CLIENT_SECRET go together; set all three or none',
    )
  }
  if (issuer !== undefined && !/^(https:|http:\/\/(127\.0\.0\.1|localhost|\[::1\])[:/])/.test(`${issuer}/`)) {
    faults.push('PURSER_OIDC_ISSUER must be an https address, unless it is on this machine')
  }
  if (publicUrl === undefined) {
    faults.push(
      'PURSER_OIDC_ISSUER needs PURSER_PUBLIC_URL, where the identity provider sends people back to',
    )
  }
  return { publicUrl, oidc: { issuer: issuer ?? '', clientId, clientSecret: clientSecret ?? '' } }
}

/** An address of the web as it was given; undefined when it was left out. */
function webAddress(text: string, { name }: SettingFlag, faults: string[]): string | undefined {
  if (text === '') return undefined
  const isAddress = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
  if (!isAddress) {
    faults.push(`${name} must be an http or https address, not ${JSON.stringify(text)}`)
    return undefined
  }
  return text
}

function helpText(): string {
  return [
    'Purser: spending mandates for software agents.',
    '',
    'A flag wins over its variable:',
    ...settingsHelp(),
  ].join('\n')
}

/** The environments whose first key is the operator's own choice. */
export function chosenKeys({ bootstrapKeys }: Config): Set<string> {
  return new Set(environments.flatMap((environment) => bootstrapKeys[environment] ?? []))
}
