import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'

import { Purser } from '@purser/client'

import { CommandError } from './exit-codes.ts'
import { profilesPath, readProfiles, type Place, type Profile } from './profiles.ts'
import type { Io } from './io.ts'
import { environments } from './vocabularies.ts'

/** The default URL of the service. */
const standardUrl = 'http://127.0.0.1:8080'

/** The port of a service that runs in this folder; undefined if it is another one at each start. */
export function portHere({ environment, folder }: Pick<Io, 'environment' | 'folder'>): number | undefined {
  const { PURSER_PORT: port = new URL(standardUrl).port } = { ...settingsIn(folder), ...environment }
  return /^[1-9]\d{0,4}$/.test(port) ? Number(port) : undefined
}

/** The settings in the folder's file; none if there is no file, or only the service's user may read it. */
function settingsIn(folder: string): Readonly<Record<string, string | undefined>> {
  try {
    return parseEnv(readFileSync(join(folder, '.env'), 'utf8'))
  } catch {
    return {}
  }
}

/** A service and a key, and where both came from. */
export interface Connection extends Profile {
  readonly source: string
}

/** A client for the service and key that the profile names, or the environment, or the current profile. */
export async function connect(options: { readonly profile?: string }, io: Io): Promise<Purser> {
  return (await connectAs(options, io)).purser
}

/** As `connect`, with the environment of the key; undefined if the key is none of Purser. */
export async function connectAs({ profile }: { readonly profile?: string }, io: Io) {
  const { url, key } = await findConnection(profile, io)
  return { purser: new Purser({ baseUrl: url, apiKey: key }), environment: environmentOf(key) }
}

/** A key begins with its environment. */
export function environmentOf(key: string): (typeof environments)[number] | undefined {
  return environments.find((environment) => key.startsWith(`svc_${environment.slice(0, 4)}_`))
}

/**
 * The service and its key. Both come from one place, so that a key is never sent to a service that it was not
 * saved for: the named profile, the environment, the current profile, or a prompt. A URL from the environment
 * without a key uses the current profile's key if that was saved for the same URL. Throws a `CommandError` if
 * there is no key.
 */
async function findConnection(profile: string | undefined, io: Io): Promise<Connection> {
  const known = findKnownConnection(profile, io)
  if (known.key !== undefined) return { ...known, key: known.key }
  if (io.canAsk) {
    return { ...known, key: await io.readSecret(`API key for ${known.url}`) }
  }
  throw new CommandError(`there is no key for ${known.url}; ${keyRemedy(io)}`, 'unauthorised')
}

/** How to provide a missing key. */
export function keyRemedy(io: Place): string {
  const keep = `${io.calledAs} profile add`
  const { PURSER_URL: url, PURSER_SANDBOX_KEY: sandboxKey } = io.environment
  const { current, profiles } = readProfiles(io)
  const hidden = current === null ? undefined : profiles[current]
  if (url && hidden) {
    return `PURSER_URL is set, so profile ${current} (${hidden.url}) is not used: unset PURSER_URL, or pass --profile ${current}`
  }
  if (sandboxKey) {
    return `PURSER_SANDBOX_KEY is what the service printed, and this command reads PURSER_API_KEY: export PURSER_API_KEY=$PURSER_SANDBOX_KEY, or save it with ${keep}`
  }
  return `set PURSER_API_KEY, or save one with ${keep}`
}

/** Like `findConnection`, but without a prompt: the key is undefined if there is none. */
export function findKnownConnection(
  profile: string | undefined,
  io: Place & Pick<Io, 'folder'>,
): Omit<Connection, 'key'> & { readonly key: string | undefined } {
  if (profile !== undefined) return { ...namedProfile(profile, io), source: `profile ${profile}` }
  const { PURSER_API_KEY: key, PURSER_URL: address } = io.environment
  if (key && !/^[\x21-\x7e]+$/.test(key)) {
    throw new CommandError(
      'PURSER_API_KEY contains whitespace or control characters, which no key has',
      'usage',
    )
  }
  const url = address ? checkedUrl(address, 'PURSER_URL') : undefined
  const port = portHere(io)
  const here = port === undefined ? standardUrl : `http://127.0.0.1:${port}`
  if (key) return { url: url ?? here, key, source: 'PURSER_API_KEY' }
  const { current, profiles } = readProfiles(io)
  const kept = current === null ? undefined : profiles[current]
  if (kept && (url === undefined || url === kept.url)) return { ...kept, source: `profile ${current}` }
  return url === undefined
    ? { url: here, key: undefined, source: 'standard address' }
    : { url, key: undefined, source: 'environment' }
}

function namedProfile(name: string, io: Place): Profile {
  const { profiles } = readProfiles(io)
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (profile) return profile
  const names = Object.keys(profiles)
  const known = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`
  throw new CommandError(`There is no profile ${name} in ${profilesPath(io)}: ${known}`, 'usage')
}

/** The URL, if it is valid for a service. Throws a `CommandError` that names its source. */
export function checkedUrl(text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new CommandError(`${source} must be a URL such as ${standardUrl}`, 'usage')
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new CommandError(`${source} must be a URL without user, password or query`, 'usage')
  }
  return url.href.replace(/\/+$/, '')
}

/** Whether keys are sent in the clear over a network to a URL. */
export function isExposed(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}
