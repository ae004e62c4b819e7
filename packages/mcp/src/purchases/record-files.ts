import { createHash } from 'node:crypto'

import { openPrivateFolder } from '@purser/client/purchase-files'

import type { PurchaseRecord, PurchaseRecords } from './purchase-records.ts'

/**
 * Stores purchase records as files, shared by several processes: one file per attempt, in a folder that only its
 * owner can read. The process that creates the file owns the attempt. Beyond `maxRecords`, the oldest files are
 * removed, but none that changed within the last hour, or that may still be charged. Rejects if the folder cannot be
 * used.
 *
 * @example
 * const records = await openRecordFiles('./purchases')
 */
export async function openRecordFiles(folder: string, maxRecords = 10_000): Promise<PurchaseRecords> {
  const files = await openPrivateFolder(folder, { maxFiles: maxRecords, isOpen: isUnsettled })
  return {
    find: async (purchaseId) => {
      const attempts = attemptsIn(await files.names(), purchaseId)
      if (attempts.length === 0) return undefined
      const text = await files.read(nameOf(purchaseId, Math.max(...attempts)))
      // Not undefined: an unknown purchase could be bought again.
      if (text === undefined) throw new Error(`The record of the purchase ${purchaseId} was just removed`)
      return JSON.parse(text) as PurchaseRecord
    },
    claim: (record) => files.create(nameOf(record.purchaseId, record.attempt), textOf(record)),
    update: (record) => files.replace(nameOf(record.purchaseId, record.attempt), textOf(record)),
  }
}

function isUnsettled(text: string): boolean {
  return text.includes('"settled":null')
}

function textOf(record: PurchaseRecord): string {
  return `${JSON.stringify(record)}\n`
}

function nameOf(purchaseId: string, attempt: number): string {
  return `${createHash('sha256').update(purchaseId).digest('hex')}-${attempt}.json`
}

/** The attempts of a purchase, from file names. */
function attemptsIn(names: readonly string[], purchaseId: string): number[] {
  const [start] = nameOf(purchaseId, 0).split('-')
  return names
    .filter((name) => name.startsWith(`${start}-`))
    .map((name) => Number.parseInt(name.slice(`${start}-`.length), 10))
}
