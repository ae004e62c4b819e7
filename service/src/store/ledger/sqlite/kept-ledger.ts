import { existsSync, linkSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** What SQLite keeps next to a file, and would apply to another one of that name. */
const companions = ['-journal', '-wal', '-shm']

const keptSuffix = '.before-restore-'

/**
 * Renames the rest of a ledger's log, also if the ledger itself is lost; a ledger also keeps its old name until it is replaced.
 * Returns where it is kept, if there is one.
 */
export function keepAside(place: string, nowMs: number): string | undefined {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:.]/g, '')
  const kept = `${place}${keptSuffix}${time}`
  const isThere = existsSync(place)
  if (isThere) linkSync(place, kept)
  moveCompanions(place, kept)
  return isThere ? kept : undefined
}

/** The second names of a ledger: those of restores that were killed before they replaced it. */
export function namesOfKilledRestores(place: string): string[] {
  const ledger = statSync(place, { throwIfNoEntry: false, bigint: true })
  if (!ledger || ledger.nlink < 2n) return []
  const folder = dirname(place)
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${basename(place)}${keptSuffix}`))
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false, bigint: true })?.ino === ledger.ino)
}

/** Removes those names, and puts the log back. Call this only while no restore can be running. */
export function undoKilledRestores(place: string): void {
  for (const kept of namesOfKilledRestores(place)) {
    moveCompanions(kept, place)
    rmSync(kept)
  }
}

function moveCompanions(from: string, to: string): void {
  for (const suffix of companions) {
    if (existsSync(`${from}${suffix}`)) renameSync(`${from}${suffix}`, `${to}${suffix}`)
  }
}
