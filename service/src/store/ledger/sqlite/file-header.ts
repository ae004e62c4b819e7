import { closeSync, openSync, readSync } from 'node:fs'

/** What SQLite's application id says a file is: a ledger (`PURS`), or a backup of one (`PURB`), which no service may use. */
export const applicationIds = { ledger: 0x50555253, backup: 0x50555242 }

/** Where the header of a SQLite file stores its schema version and its application id. */
const header = { length: 100, magic: 'SQLite format 3\0', versionAt: 60, applicationIdAt: 68 }

export interface Header {
  readonly applicationId: number
  readonly version: number
}

/** The header of an open file; undefined if it is not a SQLite file. */
export function readHeader(file: number): Header | undefined {
  const bytes = Buffer.alloc(header.length)
  readSync(file, bytes, 0, bytes.length, 0)
  if (!bytes.toString('latin1').startsWith(header.magic)) return undefined
  return {
    applicationId: bytes.readUInt32BE(header.applicationIdAt),
    version: bytes.readUInt32BE(header.versionAt),
  }
}

/** Whether a file is a backup, whatever SQLite reads from the log of another ledger next to it. */
export function isBackup(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    return readHeader(file)?.applicationId === applicationIds.backup
  } finally {
    closeSync(file)
  }
}
