import { createHash, randomUUID } from 'node:crypto'
import { link, mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'

import type { PurchaseRecord, PurchaseRecords } from './purchase-records.ts'

/**
 * A memory that outlives the process and is shared by several: a file for each attempt of a purchase, in a
 * folder that only its owner can read. Who creates the file has the attempt, and no file is ever taken away from it. Rejects when the folder cannot be used.
 */
export async function openRecordFiles(folder: string, maxRecords = 10_000): Promise<PurchaseRecords> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeOldest(folder, maxRecords)
  let claims = 0
  const pathOf = ({ purchaseId, attempt }: PurchaseRecord) => join(folder, nameOf(purchaseId, attempt))

  /** The text is on the disk, whole, before anything refers to it. */
  async function writeAside(record: PurchaseRecord): Promise<string> {
    const path = join(folder, `${randomUUID()}.tmp`)
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(`${JSON.stringify(record)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    return path
  }

  return {
    find: async (purchaseId) => {
      const attempts = attemptsIn(await readdir(folder), purchaseId)
      if (attempts.length === 0) return undefined
      const latest = join(folder, nameOf(purchaseId, Math.max(...attempts)))
      return JSON.parse(await readFile(latest, 'utf8')) as PurchaseRecord
    },
    claim: async (record) => {
      if (++claims % pruneEvery === 0) await removeOldest(folder, maxRecords)
      const aside = await writeAside(record)
      try {
        await link(aside, pathOf(record))
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return false
        throw error
      } finally {
        await unlink(aside)
      }
      await syncFolder(folder)
      return true
    },
    settle: async (record) => {
      await rename(await writeAside(record), pathOf(record))
      await syncFolder(folder)
    },
  }
}

const pruneEvery = 1000

/** Leaves room for the newest files; what a crash left half written goes as well. */
async function removeOldest(folder: string, maxRecords: number): Promise<void> {
  const names = await readdir(folder)
  const oneHourAgoMs = Date.now() - 3_600_000
  const files: { path: string; changedAtMs: number }[] = []
  for (const name of names) {
    const path = join(folder, name)
    const changedAtMs = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    )
    if (changedAtMs === undefined) continue
    if (name.endsWith('.json')) files.push({ path, changedAtMs })
    else if (name.endsWith('.tmp') && changedAtMs < oneHourAgoMs) await rm(path, { force: true })
  }
  files.sort((a, b) => a.changedAtMs - b.changedAtMs)
  for (const { path } of files.slice(0, Math.max(0, files.length - maxRecords)))
    await rm(path, { force: true })
}

function nameOf(purchaseId: string, attempt: number): string {
  return `${createHash('sha256').update(purchaseId).digest('hex')}-${attempt}.json`
}

/** The attempts of a purchase among the names of files. */
function attemptsIn(names: readonly string[], purchaseId: string): number[] {
  const [start] = nameOf(purchaseId, 0).split('-')
  return names
    .filter((name) => name.startsWith(`${start}-`))
    .map((name) => Number.parseInt(name.slice(`${start}-`.length), 10))
}

/** The names in a folder are on the disk. Windows cannot do this, and does not need it. */
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
