import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

import { codeOf } from './error-code.ts'
import { CommandError } from './exit-codes.ts'
import type { Io } from './io.ts'

/** A service, and the key to call it with. */
export interface Profile {
  readonly url: string
  readonly key: string
}

/** The profiles of this user by name, and the default one. */
export interface Profiles {
  readonly current: string | null
  readonly profiles: Readonly<Record<string, Profile>>
}

/** Valid profile names. */
export const profileName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** What determines their path. */
type Home = Pick<Io, 'environment' | 'homeFolder'>

/** The same, plus how the command was invoked, for error messages. */
export type Place = Home & Pick<Io, 'calledAs'>

/** The path of the profiles, by the XDG base directory specification. */
export function profilesPath({ environment, homeFolder }: Home): string {
  const configured = environment['XDG_CONFIG_HOME']
  // The specification does not allow relative paths.
  const folder = configured?.startsWith('/') ? configured : join(homeFolder, '.config')
  return join(folder, 'purser', 'profiles.json')
}

/** The saved profiles; empty if there is no file. Throws a `CommandError` if others can read it. */
export function readProfiles(place: Place): Profiles {
  const path = profilesPath(place)
  const text = readClosedFile(path)
  if (text === undefined) return { current: null, profiles: {} }
  const profiles = parse(text)
  if (!profiles) {
    throw new CommandError(
      `${path} is damaged; move it away, and add the profiles again with ${place.calledAs} profile add`,
    )
  }
  return profiles
}

/** Saves the profiles privately and atomically. */
export function writeProfiles(place: Home, profiles: Profiles): void {
  const path = profilesPath(place)
  const draftPath = `${path}.${process.pid}.new`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    rmSync(draftPath, { force: true })
    const text = `${JSON.stringify(profiles, null, 2)}\n`
    writeFileSync(draftPath, text, { flag: 'wx', mode: 0o600, flush: true })
    renameSync(draftPath, path)
  } catch (error) {
    throw new CommandError(`${path} cannot be written (${codeOf(error)}); let this user write there`)
  }
}

function readClosedFile(path: string): string | undefined {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new CommandError(`${path} cannot be read (${codeOf(error)}); let this user read it`)
  }
  try {
    refuseOpenFile(path, fstatSync(file))
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Keys that others could read are rejected, so that the user notices before they are misused. */
function refuseOpenFile(path: string, { mode, uid }: { readonly mode: number; readonly uid: number }): void {
  if (process.platform === 'win32') return
  if ((mode & 0o077) !== 0) {
    throw new CommandError(
      `${path} contains keys and can be read by others; fix it with: chmod 600 '${path}' (and issue new keys, if others have read it)`,
      'unauthorised',
    )
  }
  const user = process.getuid?.()
  if (user !== undefined && uid !== user) {
    throw new CommandError(`${path} belongs to another user; use a file of your own`, 'unauthorised')
  }
}

function parse(text: string): Profiles | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isRecord(value) || !isRecord(value['profiles'])) return undefined
  const { current, profiles } = value
  if (!Object.values(profiles).every(isProfile)) return undefined
  return {
    current: typeof current === 'string' && Object.hasOwn(profiles, current) ? current : null,
    profiles: profiles as Record<string, Profile>,
  }
}

function isProfile(value: unknown): value is Profile {
  return isRecord(value) && typeof value['url'] === 'string' && typeof value['key'] === 'string'
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
