import { closeSync, fstatSync, openSync, statSync } from 'node:fs'

import { applicationIds, readHeader } from './file-header.ts'

/** How often the files are checked: what is written in between may be lost. */
const intervalMs = 100

/**
 * Calls `onMoved` once an open ledger or its log is no longer at its path, or another file was copied over the ledger: this
 * process would go on writing, but a restart would not find what it wrote.
 */
export function watchForMoves(ledgerPath: string, onMoved: (path: string) => void): { stop: () => void } {
  const paths = [ledgerPath, `${ledgerPath}-wal`]
  const opened = new Map(paths.map((path) => [path, readIdentity(path)]))
  const ledger = openSync(ledgerPath, 'r')
  let { size } = fstatSync(ledger)
  const timer = setInterval(() => {
    const moved = paths.find((path) => hasMoved(path, opened.get(path)))
    if (moved === undefined && !isOverwritten()) return
    clearInterval(timer)
    onMoved(moved ?? ledgerPath)
  }, intervalMs)

  /** Whether the file is shorter than before, which SQLite never makes it, or no ledger any more. */
  function isOverwritten(): boolean {
    const before = size
    size = fstatSync(ledger).size
    const found = readHeader(ledger)
    // The first commit of a new file is in its log.
    const isOurs = found !== undefined && [applicationIds.ledger, 0].includes(found.applicationId)
    return size < before || !isOurs
  }

  return {
    /** Call this once the process has closed the ledger: closing a file releases the process's locks on it. */
    stop() {
      clearInterval(timer)
      closeSync(ledger)
    },
  }
}

function hasMoved(path: string, identity: string | undefined): boolean {
  try {
    return readIdentity(path) !== identity
  } catch {
    // A folder that this user may no longer read, for example: the file may still be there.
    return false
  }
}

/** What stays the same as long as it is the same file; undefined if there is none. */
function readIdentity(path: string): string | undefined {
  const file = statSync(path, { throwIfNoEntry: false, bigint: true })
  return file && `${file.dev}:${file.ino}`
}
