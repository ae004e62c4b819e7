import { statSync } from 'node:fs'

/** How often the files are checked: what is written in between may be lost. */
const intervalMs = 100

/**
 * Calls `onMoved` once one of some open files is no longer at its path: this process would go on writing to it, but a
 * restart would not find what it wrote.
 */
export function watchForMoves(
  paths: readonly string[],
  onMoved: (path: string) => void,
): { stop: () => void } {
  const opened = new Map(paths.map((path) => [path, readIdentity(path)]))
  const timer = setInterval(() => {
    for (const [path, identity] of opened) {
      if (!hasMoved(path, identity)) continue
      clearInterval(timer)
      return onMoved(path)
    }
  }, intervalMs)
  return { stop: () => clearInterval(timer) }
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
