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
import { setTimeout as sleep } from 'node:timers/promises'

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

/** How often, and for how long in total, a command checks whether another one has finished changing the profiles. */
const lookMs = 20
const patienceMs = 1_000

/**
 * Changes the profiles privately and atomically, one command at a time: only one can create the new file. Resolves to the
 * changed profiles. Throws a `CommandError` if they cannot be written, and whatever `change` throws.
 */
export async function changeProfiles(place: Place, change: (saved: Profiles) => Profiles): Promise<Profiles> {
  const path = profilesPath(place)
  const draftPath = `${path}.new`
  await createDraft(draftPath)
  try {
    const changed = change(readProfiles(place))
    writing(path, () => {
      writeFileSync(draftPath, `${JSON.stringify(changed, null, 2)}\n`, { flush: true })
      renameSync(draftPath, path)
    })
    return changed
  } catch (error) {
    rmSync(draftPath, { force: true })
    throw error
  }
}

async function createDraft(path: string): Promise<void> {
  writing(path, () => mkdirSync(dirname(path), { recursive: true, mode: 0o700 }))
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += lookMs) {
    if (writing(path, () => isCreated(path))) return
    await sleep(lookMs)
  }
  throw new CommandError(
    `${path} exists, so another command is changing the profiles; if none is running, remove that file`,
  )
}

function isCreated(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600))
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

function writing<T>(path: string, write: () => T): T {
  try {
    return write()
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
