import { createHash, randomUUID } from 'node:crypto'
import {
  constants,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'

import { chargedWithinMs, type PurchaseRecord, type PurchaseStore } from './payment/purchase-store.ts'

export type { PurchaseRecord, PurchaseStore } from './payment/purchase-store.ts'

export interface PurchaseFilesOptions {
  /** Max number of purchases; default 10,000. */
  readonly maxPurchases?: number | undefined
  /** Max total bytes of their files; default 1 GiB. */
  readonly maxBytes?: number | undefined
}

/**
 * A purchase store in a folder, safe for processes that may be killed at any moment. Each record is a
 * separate file (mode 0600, in a folder with mode 0700), written durably and atomically. Several processes
 * may share the folder, if their clocks agree to a few seconds. When it is full, the oldest purchases are
 * removed, but none that changed within the last hour, or that may be charged. Rejects if the folder cannot be used.
 *
 * @example
 * const purchases = await openPurchaseFiles('/var/lib/my-agent/purchases')
 * const fetchPaid = wrapFetchWithPayment(fetch, { client, purchases })
 */
export async function openPurchaseFiles(
  folder: string,
  { maxPurchases, maxBytes }: PurchaseFilesOptions = {},
): Promise<PurchaseStore> {
  const files = await openPrivateFolder(folder, { maxFiles: maxPurchases, maxBytes, isOpen: isPaying })

  async function revisionsOf(purchaseId: string): Promise<number[]> {
    const start = `${digestOf(purchaseId)}.`
    const names = (await files.names()).filter((name) => name.startsWith(start))
    return names.map((name) => Number.parseInt(name.slice(start.length), 10)).toSorted((a, b) => b - a)
  }

  return {
    find: async (purchaseId) => {
      // A newer revision may have replaced the listed one.
      for (let look = 0; look < 10; look++) {
        const [latest] = await revisionsOf(purchaseId)
        if (latest === undefined) return undefined
        const text = await files.read(nameOf(purchaseId, latest))
        if (text !== undefined) return JSON.parse(text) as PurchaseRecord
      }
      throw new Error(`The purchase ${purchaseId} changes faster than it can be read`)
    },
    save: async (record) => {
      const { purchaseId } = record
      const name = nameOf(purchaseId, record.revision)
      if (!(await files.create(name, JSON.stringify(record)))) return false
      const revisions = await revisionsOf(purchaseId)
      if (revisions.some((revision) => revision > record.revision)) {
        await files.remove(name)
        return false
      }
      for (const revision of revisions) {
        if (revision < record.revision) await files.remove(nameOf(purchaseId, revision))
      }
      return true
    },
  }
}

/** Whether the payment of a stored record may be charged. */
function isPaying(text: string): boolean {
  return text.includes('"kind":"paying"')
}

function digestOf(purchaseId: string): string {
  return createHash('sha256').update(purchaseId).digest('hex')
}

function nameOf(purchaseId: string, revision: number): string {
  return `${digestOf(purchaseId)}.${revision}.json`
}

/** A folder of private JSON files. Several processes may share it, and may be killed at any moment. */
export interface PrivateFolder {
  /** The file names. If one file is created and then another removed meanwhile, at least one of the two is listed. */
  readonly names: () => Promise<string[]>
  /** The text of a file; undefined if it does not exist. */
  readonly read: (name: string) => Promise<string | undefined>
  /** Creates a file, durable when this resolves; false if the file already exists, which is not changed. */
  readonly create: (name: string, text: string) => Promise<boolean>
  /** Replaces the text of a file atomically. */
  readonly replace: (name: string, text: string) => Promise<void>
  readonly remove: (name: string) => Promise<void>
}

export interface PrivateFolderOptions {
  /** Max number of files; default 10,000. */
  readonly maxFiles?: number | undefined
  /** Max total bytes; default 1 GiB. */
  readonly maxBytes?: number | undefined
  /** Whether the file with this text must be kept longer than others: for 25 hours after it changed. */
  readonly isOpen?: ((text: string) => boolean) | undefined
}

/**
 * Opens a folder with mode 0700, creating it if needed. Its files have mode 0600 and names that end in
 * `.json`. When it is full, the oldest are removed, but none that changed within the last hour, or is open. Rejects
 * if the folder cannot be used.
 *
 * @example
 * const files = await openPrivateFolder('/var/lib/my-agent/orders')
 * const isMine = await files.create('order-7.json', '{}')
 */
export async function openPrivateFolder(
  folder: string,
  options: PrivateFolderOptions = {},
): Promise<PrivateFolder> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeOldest(folder, options)
  let created = 0
  /** Its text changes before a file is removed. */
  const removal = join(folder, 'removal')

  /** Writes the text durably to a temporary file, which `place` then renames. */
  async function write(text: string, place: (aside: string) => Promise<void>): Promise<void> {
    const aside = join(folder, `${randomUUID()}.tmp`)
    try {
      await writeDurably(aside, text)
      await place(aside)
    } finally {
      await rm(aside, { force: true })
    }
    await syncFolder(folder)
  }

  return {
    names: async () => {
      // The listing of a large folder takes several steps. During it, a file can be created where it has been listed, and
      // then another removed where it has not.
      for (;;) {
        const before = await readIfThere(removal)
        const names = (await readdir(folder)).filter((name) => name.endsWith('.json'))
        if ((await readIfThere(removal)) === before) return names
      }
    },
    read: (name) => readIfThere(join(folder, name)),
    create: async (name, text) => {
      if (++created % filesPerTidying === 0) await removeOldest(folder, options)
      try {
        // Fails if another process was first; a rename would overwrite its file.
        await write(text, (aside) => link(aside, join(folder, name)))
        return true
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return false
        throw error
      }
    },
    replace: (name, text) => write(text, (aside) => rename(aside, join(folder, name))),
    remove: async (name) => {
      // In place, because a file that is emptied first could be found empty both before and after.
      await writeFile(removal, randomUUID(), { flag: constants.O_WRONLY | constants.O_CREAT, mode: 0o600 })
      await rm(join(folder, name), { force: true })
    },
  }
}

const filesPerTidying = 100
const keptForCertainMs = 60 * 60_000

/** Makes space for new files, and removes temporary files left by a crash. */
async function removeOldest(
  folder: string,
  { maxFiles = 10_000, maxBytes = 1024 * 1024 * 1024, isOpen = () => false }: PrivateFolderOptions,
): Promise<void> {
  const nowMs = Date.now()
  const oldMs = nowMs - keptForCertainMs
  const files: { path: string; size: number; changedAtMs: number }[] = []
  for (const name of await readdir(folder)) {
    if (!/\.(json|tmp)$/.test(name)) continue
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (!found) continue
    if (name.endsWith('.tmp') && found.mtimeMs < oldMs) await rm(path, { force: true })
    if (name.endsWith('.json')) files.push({ path, size: found.size, changedAtMs: found.mtimeMs })
  }
  let count = files.length
  let bytes = files.reduce((sum, { size }) => sum + size, 0)
  for (const { path, size, changedAtMs } of files.toSorted((a, b) => a.changedAtMs - b.changedAtMs)) {
    if ((count < maxFiles && bytes < maxBytes) || changedAtMs > oldMs) break
    if (changedAtMs > nowMs - chargedWithinMs.paying && isOpen((await readIfThere(path)) ?? '')) continue
    await rm(path, { force: true })
    count--
    bytes -= size
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Syncs the folder to disk. Windows cannot do this, and does not need it. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
