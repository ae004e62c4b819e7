import { closeSync, fdatasyncSync, openSync, readFileSync, realpathSync, rmSync, writeSync } from 'node:fs'
import { join, sep } from 'node:path'

/** The file system of a folder, and how long a durable write takes there. */
export interface DiskReport {
  readonly folder: string
  /** Such as `ext4 on /dev/vda`. */
  readonly fileSystem: string
  /** Whether writes stay in memory, so that nothing is durable. */
  readonly isMemory: boolean
  readonly syncMicros: { readonly p50: number; readonly p99: number }
}

export function measureDisk(folder: string): DiskReport {
  const mount = findMount(folder)
  return {
    folder,
    fileSystem: mount ? `${mount.type} on ${mount.device}` : `unknown (${process.platform})`,
    isMemory: mount?.type === 'tmpfs' || mount?.type === 'ramfs',
    syncMicros: measureSync(folder),
  }
}

/** The mount with the longest path that contains the folder; undefined without a list of mounts. */
function findMount(folder: string): { device: string; type: string } | undefined {
  const path = join(realpathSync(folder), sep)
  let found: { device: string; type: string; length: number } | undefined
  for (const line of readMounts().split('\n')) {
    const [device = '', point = '', type = ''] = line.split(' ')
    const isAbove = point !== '' && path.startsWith(join(point.replaceAll('\\040', ' '), sep))
    // Of two mounts at one point, the later one is visible.
    if (isAbove && point.length >= (found?.length ?? 0)) found = { device, type, length: point.length }
  }
  return found
}

function readMounts(): string {
  try {
    return readFileSync('/proc/self/mounts', 'utf8')
  } catch {
    return ''
  }
}

const syncs = 200

/** Appends 4 KiB and waits for the disk, like the commit of a small transaction. */
function measureSync(folder: string): DiskReport['syncMicros'] {
  const path = join(folder, 'sync-probe')
  const file = openSync(path, 'a')
  const page = Buffer.alloc(4096, 1)
  const micros = Array.from({ length: syncs }, () => {
    const startMs = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    return (performance.now() - startMs) * 1000
  }).sort((left, right) => left - right)
  closeSync(file)
  rmSync(path)
  return { p50: micros[syncs / 2] ?? 0, p99: micros[Math.floor(syncs * 0.99)] ?? 0 }
}
