import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { DeliveryStore, KeptDelivery, Worth } from './deliveries/delivery-store.ts'

const worths: readonly Worth[] = ['doubtful', 'ended', 'paid']

/** Max deliveries in each of the 256 folders; a folder that exceeds it is reduced to three quarters. */
const maxKeptInEach = 120

/**
 * A delivery store in a folder, for several processes on one machine, without a database. It keeps at most
 * 30,720 deliveries.
 *
 * Each delivery is a folder with one empty file, whose name is the stored text. Renaming that file is atomic:
 * if many processes rename the same file, one succeeds. There are no locks, so a killed process leaves none
 * behind.
 *
 * @example
 * const deliveries = fileDeliveries('./data/deliveries')
 */
export function fileDeliveries(folder: string, { now = Date.now, max = maxKeptInEach } = {}): DeliveryStore {
  const shelfOf = (id: string) => join(folder, id.slice(0, 2))
  const placeOf = (id: string) => join(shelfOf(id), id)

  return {
    async read(id) {
      const file = await fileIn(placeOf(id))
      return file && file.keepUntilMs > now() ? file.text : undefined
    },
    async replace(id, from, to) {
      const place = placeOf(id)
      const file = await fileIn(place)
      const isThere = file !== undefined && file.keepUntilMs > now()
      if ((isThere ? file.text : undefined) !== from) return false
      if (file && to) return renamed(join(place, file.name), join(place, nameOf(to)))
      if (to) {
        await makeRoom(shelfOf(id))
        await clear(place)
        return create(place, nameOf(to))
      }
      return file ? remove(place, file.name) : true
    },
  }

  /** Atomically creates the folder of a delivery with its file; false if it exists. */
  async function create(place: string, name: string): Promise<boolean> {
    const made = join(folder, `new-${randomUUID()}`)
    await mkdir(made, { mode: 0o700 })
    await writeFile(join(made, name), '', { mode: 0o600 })
    const isMade = await renamed(made, place)
    if (!isMade) await rm(made, { recursive: true, force: true })
    return isMade
  }

  async function remove(place: string, name: string): Promise<boolean> {
    const taken = join(folder, `old-${randomUUID()}`)
    if (!(await renamed(join(place, name), taken))) return false
    await rm(taken, { force: true })
    // Another process may have created a new one in the meantime.
    await clear(place)
    return true
  }

  /** Removes expired deliveries from a full folder, then the least important ones. */
  async function makeRoom(shelf: string): Promise<void> {
    await mkdir(shelf, { recursive: true, mode: 0o700 })
    const ids = (await readdir(shelf)).filter((name) => /^[\da-f]{64}$/.test(name))
    if (ids.length < max) return
    const files = await Promise.all(
      ids.map(async (id) => {
        const place = join(shelf, id)
        return { place, file: await fileIn(place) }
      }),
    )
    const byWorth = files.toSorted(
      (one, other) => rankOf(one.file) - rankOf(other.file) || untilOf(one.file) - untilOf(other.file),
    )
    const surplus = byWorth.slice(0, Math.ceil(ids.length - max * 0.75))
    for (const { place, file } of surplus) {
      if (file) await remove(place, file.name)
      else await clear(place)
    }
  }

  function rankOf(file: File | undefined): number {
    return file && file.keepUntilMs > now() ? worths.indexOf(file.worth) : -1
  }
}

interface File extends KeptDelivery {
  readonly name: string
}

function untilOf(file: File | undefined): number {
  return file?.keepUntilMs ?? 0
}

/** The file in the folder of a delivery; undefined if there is none. */
async function fileIn(place: string): Promise<File | undefined> {
  for (let look = 1; ; look++) {
    const files = (await namesIn(place)).filter(isDelivery).map(readName)
    // A folder that is read during a rename may list both names. A copy that somebody made stays.
    if (files.length < 2 || look === maxLooks) {
      return files.toSorted((one, other) => other.keepUntilMs - one.keepUntilMs)[0]
    }
  }
}

const maxLooks = 100

/** Removes the folder of a delivery, with files that others have put there, unless it has a delivery. */
async function clear(place: string): Promise<void> {
  const strays = (await namesIn(place)).filter((name) => !isDelivery(name))
  await Promise.all(strays.map((name) => rm(join(place, name), { recursive: true, force: true })))
  await rmdir(place).catch(() => undefined)
}

async function namesIn(place: string): Promise<string[]> {
  return readdir(place).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}

function isDelivery(name: string): boolean {
  return /^\d+\.(doubtful|ended|paid)\.[\w-]*$/.test(name)
}

function nameOf({ text, keepUntilMs, worth }: KeptDelivery): string {
  if (text.length > 150) throw new TypeError(`A delivery has at most 150 characters, not ${text.length}`)
  return `${keepUntilMs}.${worth}.${Buffer.from(text).toString('base64url')}`
}

function readName(name: string): File {
  const [until, worth, text = ''] = name.split('.')
  return {
    name,
    keepUntilMs: Number(until),
    worth: worths.find((one) => one === worth) ?? 'doubtful',
    text: Buffer.from(text, 'base64url').toString(),
  }
}

/** Whether a rename succeeded; false if another process was faster. */
async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (['ENOENT', 'ENOTEMPTY', 'EEXIST', 'EPERM'].includes(code)) return false
    throw error
  }
}
