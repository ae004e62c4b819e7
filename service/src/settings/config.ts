// Longer than 400 lines: it reads every setting, and explains what is wrong with each.
import { isIP, isIPv6 } from 'node:net'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'

import { keyPrefixes } from '@purser/wire/api-keys'
import { environments, type Environment } from '@purser/wire/fields'

import { isGuessableKey, isGuessableSecret } from './guessable.ts'
import { isLoopbackHost } from './loopback.ts'
import type { RateLimitSettings } from '../http/rate-limits.ts'
import type { Quota } from '../http/token-buckets.ts'
import { readFlags, readText, readVariables } from './sources.ts'
import {
  logLevels,
  settings,
  settingsHelp,
  type LogLevel,
  type SettingFlag,
  type SettingKey,
} from './settings.ts'
import { addressFaults } from './database-address.ts'

/** The configuration of the service. */
export interface Config {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  readonly database: Database
  /** The first signs proofs, all verify them; empty means the one stored next to the store. */
  readonly proofSecrets: readonly string[]
  /** Keys chosen by the operator, used instead of generated ones if the store is empty. */
  readonly bootstrapKeys: Readonly<Record<Environment, string | undefined>>
  /** Whether guessable keys and secrets are accepted, for tests. */
  readonly allowWeakKeys: boolean
  readonly logLevel: LogLevel
  readonly rateLimits: RateLimitSettings | 'off'
  /** The reverse proxies whose `X-Forwarded-For` names the client, as IP addresses or ranges such as 10.0.0.0/8. */
  readonly trustedProxies: readonly string[]
  /** Max open connections of each process. */
  readonly maxConnections: number
  /** Number of worker processes on this machine. */
  readonly workers: number
  /** The configuration of `GET /metrics`; off if undefined. */
  readonly metrics: MetricsSettings | undefined
  /** Whether each request is logged. */
  readonly accessLog: boolean
  /** How long to keep answering requests after SIGTERM. */
  readonly drainSeconds: number
  /** Whether a seller can collect only after verifying its domain. */
  readonly requiresVerifiedSellers: boolean
  /** The public URL, if it differs from the listening address. */
  readonly publicUrl: string | undefined
  /** The identity provider for console sign-in, if configured. */
  readonly oidc: OidcSettings | undefined
}

/** The port and token of metrics. At least one of the two is set. */
export interface MetricsSettings {
  /** A separate port on the same address; undefined means the main port. 0 picks a free port. */
  readonly port: number | undefined
  readonly token: string | undefined
}

/** The OpenID Connect client of the console. */
export interface OidcSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
}

/** The location of the ledger. The address of a server contains a password: never print it. */
export type Database =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

/** The settings, or all errors in them, each with what is valid. */
export type ConfigReading = { readonly config: Config } | { readonly faults: readonly string[] }

/**
 * The configuration from flags, the environment and an `.env` file in the folder, in this order of
 * precedence.
 */
export function readConfig(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): ConfigReading {
  const faults: string[] = []
  const flags = readFlags(argv, faults)
  const sources = { flags, variables: readVariables(environment, folder, faults), folder }
  const given = (key: SettingKey) => readText(key, sources, faults)
  const text = (key: SettingKey) => given(key) ?? ''
  const host = withoutBrackets(nonEmpty(text('host'), settings.host, faults))
  const allowWeakKeys = weakKeys(text('allowWeakKeys'), host, faults)
  const others = {
    host,
    allowWeakKeys,
    port: wholeNumber(text('port'), settings.port, { least: 0, most: 65_535 }, faults),
    database: database(given('database'), folder, faults),
    proofSecrets: proofSecrets(text('proofSecret'), { allowWeakKeys }, faults),
    bootstrapKeys: {
      sandbox: bootstrapKey(text('sandboxKey'), 'sandbox', { ...settings.sandboxKey, allowWeakKeys }, faults),
      production: bootstrapKey(
        text('productionKey'),
        'production',
        { ...settings.productionKey, allowWeakKeys },
        faults,
      ),
    },
    logLevel: logLevel(text('logLevel'), faults),
    rateLimits: rateLimits(text, faults),
    trustedProxies: trustedProxies(text('trustedProxies'), faults),
    maxConnections: wholeNumber(
      text('maxConnections'),
      settings.maxConnections,
      { least: 10, most: 999_999 },
      faults,
    ),
  }
  const config: Config = {
    ...others,
    workers: workers(text('workers'), others.database, faults),
    metrics: metrics(text, others, faults),
    accessLog: onOrOff(text('accessLog'), settings.accessLog, faults),
    drainSeconds: wholeNumber(text('drainSeconds'), settings.drainSeconds, { least: 0, most: 3_600 }, faults),
    requiresVerifiedSellers: sellerVerification(text('sellerVerification'), faults),
    ...signingIn(given, faults),
  }
  return faults.length > 0 ? { faults } : { config }
}

/** The ledger from a flag, or from the settings; or the errors. */
export function readDatabase(
  flag: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): { readonly database: Database } | { readonly faults: readonly string[] } {
  const faults: string[] = []
  const flags = { [settings.database.flag]: flag }
  // A flag does not depend on variables or their errors.
  const variables = flag === undefined ? readVariables(environment, folder, faults) : {}
  const text = readText('database', { flags, variables, folder }, faults)
  const found = database(text, folder, faults)
  return faults.length > 0 ? { faults } : { database: found }
}

/** The ledger in the value of a flag, or the errors, which name the flag. */
export function readDatabaseFlag(
  flag: string,
  text: string,
  folder: string,
): ReturnType<typeof readDatabase> {
  const faults: string[] = []
  const found = database(text, folder, faults, flag)
  return faults.length > 0 ? { faults } : { database: found }
}

function nonEmpty(text: string, { name, standard }: SettingFlag, faults: string[]): string {
  if (text.trim() === '') faults.push(`${name} is empty; leave it out for ${standard}`)
  return text
}

/** The address in the brackets that an IPv6 address has in a URL. */
function withoutBrackets(host: string): string {
  const [, address = ''] = /^\[(.*)\]$/.exec(host) ?? []
  return isIPv6(address) ? address : host
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

function onOrOff(text: string, { name }: SettingFlag, faults: string[]): boolean {
  if (text !== 'on' && text !== 'off') faults.push(`${name} must be on or off, not ${JSON.stringify(text)}`)
  return text === 'on'
}

/** Min length of a metrics token. */
const metricsTokenLength = 16

function metrics(
  text: (key: SettingKey) => string,
  { port: mainPort, allowWeakKeys }: Pick<Config, 'port' | 'allowWeakKeys'>,
  faults: string[],
): MetricsSettings | undefined {
  const [portText, token] = [text('metricsPort'), text('metricsToken')]
  if (portText === '' && token === '') return undefined
  const port =
    portText === ''
      ? undefined
      : wholeNumber(portText, settings.metricsPort, { least: 0, most: 65_535 }, faults)
  if (port !== undefined && port !== 0 && port === mainPort) {
    faults.push(
      `PURSER_METRICS_PORT and PURSER_PORT are both ${port}; choose another port, or set only PURSER_METRICS_TOKEN to serve metrics on the main port`,
    )
  }
  if (token !== '' && !/^[\x21-\x7e]+$/.test(token)) {
    faults.push(
      'PURSER_METRICS_TOKEN must be printable characters without spaces; make one with: openssl rand -hex 24',
    )
  } else if (
    token !== '' &&
    (token.length < metricsTokenLength || (!allowWeakKeys && isGuessableKey(token)))
  ) {
    faults.push(
      `PURSER_METRICS_TOKEN can be guessed: it needs ${metricsTokenLength} or more random characters; make one with: openssl rand -hex 24`,
    )
  }
  return { port, token: token === '' ? undefined : token }
}

function rateLimits(text: (key: SettingKey) => string, faults: string[]): RateLimitSettings | 'off' {
  const isOn = onOrOff(text('rateLimits'), settings.rateLimits, faults)
  const limits = {
    key: quota(text('rateLimitKey'), settings.rateLimitKey, faults),
    account: quota(text('rateLimitAccount'), settings.rateLimitAccount, faults),
    address: quota(text('rateLimitAddress'), settings.rateLimitAddress, faults),
  }
  return isOn ? limits : 'off'
}

function quota(text: string, { name, standard }: SettingFlag, faults: string[]): Quota {
  const [, requests = '', seconds = ''] = /^([1-9]\d{0,8})\/([1-9]\d{0,4})$/.exec(text) ?? []
  if (requests === '') {
    faults.push(`${name} must be requests/seconds, such as ${standard}, not ${JSON.stringify(text)}`)
  }
  return { requests: Number(requests), seconds: Number(seconds) }
}

function trustedProxies(text: string, faults: string[]): string[] {
  const { name } = settings.trustedProxies
  const proxies = text.split(',').flatMap((proxy) => proxy.trim() || [])
  for (const proxy of proxies) {
    if (!isAddressRange(proxy)) {
      faults.push(
        `${name} must be IP addresses or ranges, such as 127.0.0.1,10.0.0.0/8; ${JSON.stringify(proxy)} is neither`,
      )
    } else if (/\/0+$/.test(proxy)) {
      faults.push(
        `${name} contains ${proxy}, with which every client could choose its own address; name only the proxies`,
      )
    }
  }
  return proxies
}

/** Whether a text is an IP address, or one with the length of a prefix. */
function isAddressRange(text: string): boolean {
  const [, address = '', length = '0'] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  return version !== 0 && Number(length) <= (version === 4 ? 32 : 128)
}

function database(
  text: string | undefined,
  folder: string,
  faults: string[],
  name: string = settings.database.name,
): Database {
  // An unreadable value has already been reported, and conflicts with no other setting.
  if (text === undefined) return { kind: 'postgres', url: '' }
  if (/^postgres(ql)?:/.test(text)) {
    faults.push(...addressFaults(text, name))
    return { kind: 'postgres', url: text }
  }
  const path = /^sqlite:(.+)$/s.exec(text)?.[1]
  if (path === undefined) {
    // Do not echo what may contain a password, or a key from the wrong file.
    const found = /@|[\w+/=-]{24}/.test(text) ? '' : `, not ${JSON.stringify(text)}`
    faults.push(
      `${name} must be sqlite: and a file's path, such as sqlite:./data/purser.db, or a postgresql:// address${found}`,
    )
  }
  if (path !== path?.trim()) {
    faults.push(
      `${name} must be sqlite: and a path without leading or trailing whitespace, not ${JSON.stringify(text)}`,
    )
  }
  return { kind: 'sqlite', path: resolve(folder, path ?? 'data/purser.db') }
}

/** Min bytes of a secret. */
const secretBytes = 32

function proofSecrets(
  text: string,
  { allowWeakKeys }: Pick<Config, 'allowWeakKeys'>,
  faults: string[],
): string[] {
  if (text === '') return []
  const secrets = text.split(',').map((secret) => secret.trim())
  for (const [index, secret] of secrets.entries()) {
    const bytes = Buffer.byteLength(secret)
    if (bytes < secretBytes) {
      faults.push(
        `PURSER_PROOF_SECRET: secret ${index + 1} has ${bytes} bytes and needs ${secretBytes} or more; make one with: openssl rand -hex 32`,
      )
    } else if (!allowWeakKeys && isGuessableSecret(secret)) {
      faults.push(
        `PURSER_PROOF_SECRET: secret ${index + 1} repeats itself and can be guessed; make one with: openssl rand -hex 32`,
      )
    } else if (/[\r\n]/.test(secret)) {
      // As one secret, it would verify no proof of either.
      faults.push(
        `PURSER_PROOF_SECRET: secret ${index + 1} contains a line break; put a comma between two secrets`,
      )
    } else if (secrets.indexOf(secret) < index) {
      faults.push(
        `PURSER_PROOF_SECRET: secret ${index + 1} repeats secret ${secrets.indexOf(secret) + 1}; to replace a secret, put a new one before it, made with: openssl rand -hex 32`,
      )
    }
  }
  return secrets
}

/** Min length of a chosen key after its prefix. */
const chosenKeyLength = 8

function bootstrapKey(
  text: string,
  environment: Environment,
  { name, allowWeakKeys }: SettingFlag & Pick<Config, 'allowWeakKeys'>,
  faults: string[],
): string | undefined {
  if (text === '') return undefined
  const prefix = keyPrefixes[environment]
  const rest = text.startsWith(prefix) ? text.slice(prefix.length) : ''
  if (rest.length < chosenKeyLength || !/^[\x21-\x7e]+$/.test(rest)) {
    faults.push(
      `${name} must begin with ${prefix}, followed by ${chosenKeyLength} or more printable characters; make one with: ${makeKey(prefix)}`,
    )
  } else if (!allowWeakKeys && isGuessableKey(rest)) {
    faults.push(
      `${name} can be guessed; make a good one with: ${makeKey(prefix)} (PURSER_ALLOW_WEAK_KEYS=on accepts it for tests)`,
    )
  }
  return text
}

function makeKey(prefix: string): string {
  return `echo "${prefix}$(openssl rand -hex 24)"`
}

function weakKeys(text: string, host: string, faults: string[]): boolean {
  const isOn = onOrOff(text, settings.allowWeakKeys, faults)
  if (isOn && !isLoopbackHost(host)) {
    faults.push(
      `PURSER_ALLOW_WEAK_KEYS is for tests on this machine: leave it out, or set PURSER_HOST to 127.0.0.1 instead of ${host}`,
    )
  }
  return isOn
}

function logLevel(text: string, faults: string[]): LogLevel {
  const level = logLevels.find((known) => known === text)
  if (!level)
    faults.push(`PURSER_LOG_LEVEL must be one of ${logLevels.join(', ')}, not ${JSON.stringify(text)}`)
  return level ?? 'info'
}

function workers(text: string, { kind }: Config['database'], faults: string[]): number {
  if (text === '') return kind === 'sqlite' ? 1 : Math.max(1, Math.floor(availableParallelism() / 2))
  const count = wholeNumber(text, settings.workers, { least: 1, most: 1_024 }, faults)
  if (kind === 'sqlite' && count > 1) {
    faults.push('PURSER_WORKERS must be 1 with SQLite: one process writes the file')
  }
  return count
}

function signingIn(
  given: (key: SettingKey) => string | undefined,
  faults: string[],
): Pick<Config, 'publicUrl' | 'oidc'> {
  const publicUrl = webAddress(given('publicUrl') ?? '', settings.publicUrl, faults)
  const issuer = webAddress(given('oidcIssuer') ?? '', settings.oidcIssuer, faults)
  const clientId = given('oidcClientId') ?? ''
  const clientSecret = given('oidcClientSecret')
  if (publicUrl !== undefined) faults.push(...siteFaults(publicUrl))
  const count = [issuer ?? '', clientId, clientSecret].filter((one) => one !== '').length
  if (count === 0) return { publicUrl, oidc: undefined }
  if (count < 3) {
    faults.push(
      'PURSER_OIDC_ISSUER, PURSER_OIDC_CLIENT_ID and PURSER_OIDC_CLIENT_SECRET go together; set all three or none',
    )
  }
  if (issuer !== undefined && isPlainHttp(issuer) && !isLoopbackHost(new URL(issuer).hostname)) {
    faults.push('PURSER_OIDC_ISSUER must be an https address, unless it is on this machine')
  }
  if (publicUrl === undefined) {
    faults.push(
      'PURSER_OIDC_ISSUER needs PURSER_PUBLIC_URL, the URL to which the identity provider redirects people',
    )
  }
  return { publicUrl, oidc: { issuer: issuer ?? '', clientId, clientSecret: clientSecret ?? '' } }
}

/** The errors in a public URL: the paths of pages are appended to it, and it is printed. */
function siteFaults(publicUrl: string): string[] {
  const { protocol, host, username, password } = new URL(publicUrl)
  const site = `${protocol}//${host}`
  if (username !== '' || password !== '') {
    return [`PURSER_PUBLIC_URL must contain no user and no password: write ${site}`]
  }
  if (/^[a-z]+:\/\/[^/?#]+\/?$/i.test(publicUrl)) return []
  return [
    `PURSER_PUBLIC_URL must be only ${protocol}// and a host, such as https://purser.example.com, not ${JSON.stringify(publicUrl)}`,
  ]
}

function sellerVerification(text: string, faults: string[]): boolean {
  const { name, standard } = settings.sellerVerification
  if (!['none', 'required', ''].includes(text)) {
    faults.push(`${name} must be none or required, not ${JSON.stringify(text)}`)
  }
  return (text || standard) === 'required'
}

function isPlainHttp(address: string): boolean {
  return new URL(address).protocol === 'http:'
}

/** Warnings of the log and `purser doctor` about settings that are only for tests. */
export function warningsOf({ oidc, allowWeakKeys }: Pick<Config, 'oidc' | 'allowWeakKeys'>): string[] {
  const warnings: string[] = []
  if (allowWeakKeys) {
    warnings.push(
      'PURSER_ALLOW_WEAK_KEYS is on: guessable keys and secrets are accepted; leave it out, except for tests',
    )
  }
  if (oidc && isPlainHttp(oidc.issuer)) {
    warnings.push(
      `PURSER_OIDC_ISSUER is ${oidc.issuer}, without TLS: every program on this machine that can listen on that port can sign in as anyone; use an https address, except for tests`,
    )
  }
  return warnings
}

/** A URL, unchanged; undefined if absent. */
function webAddress(text: string, { name }: SettingFlag, faults: string[]): string | undefined {
  if (text === '') return undefined
  const isAddress = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
  if (!isAddress) {
    faults.push(`${name} must be an http or https address, not ${JSON.stringify(text)}`)
    return undefined
  }
  return text
}

/** What `--help` prints. */
export function helpText(): string {
  return [
    'Purser: spending mandates for software agents.',
    '',
    'A flag wins over its variable:',
    ...settingsHelp(),
  ].join('\n')
}

/** The environments whose first key is chosen by the operator. */
export function chosenKeys({ bootstrapKeys }: Config): Set<string> {
  return new Set(environments.flatMap((environment) => bootstrapKeys[environment] ?? []))
}
