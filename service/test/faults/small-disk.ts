import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** A small file system in memory, for a server whose disk should run full. */
export interface SmallDisk {
  readonly folder: string
  /** The prefix of a command, so that it runs where the disk is mounted. */
  readonly prefix: readonly string[]
  /** Fills all remaining space. */
  readonly fill: () => void
  readonly free: () => void
  readonly close: () => Promise<void>
}

const megabytes = 192

/**
 * Mounts a small disk at a folder, only for processes started on it; it disappears with the process that
 * holds it. Resolves to the reason if mounting is not permitted here.
 */
export async function mountSmallDisk(folder: string): Promise<SmallDisk | { readonly missing: string }> {
  mkdirSync(folder)
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    return { missing: 'mounting a small disk needs Linux and root' }
  }
  const script = `mount -t tmpfs -o size=${megabytes}m,mode=0777 tmpfs "$1" && echo mounted && exec cat`
  const holder = spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', folder], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const refusal = await untilMounted(holder)
  if (refusal !== undefined) return { missing: refusal }
  const ballast = join(`/proc/${holder.pid}/root`, folder, 'ballast')
  return {
    folder,
    prefix: ['nsenter', `--mount=/proc/${holder.pid}/ns/mnt`, '--'],
    fill: () => fillUp(ballast),
    free: () => rmSync(ballast, { force: true }),
    close: async () => {
      const ended = new Promise((resolve) => holder.on('exit', resolve))
      holder.stdin?.end()
      await ended
    },
  }
}

function untilMounted(holder: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    let complaint = ''
    holder.stderr?.on('data', (text: Buffer) => (complaint += text.toString()))
    holder.stdout?.once('data', () => resolve(undefined))
    holder.once('error', (error) => resolve(error.message))
    holder.once('exit', () => resolve(complaint.trim()))
  })
}

function fillUp(path: string): void {
  const file = openSync(path, 'a')
  try {
    for (let size = 1 << 20; size > 0; size >>= 1) writeWhileThereIsRoom(file, Buffer.alloc(size))
  } finally {
    closeSync(file)
  }
}

function writeWhileThereIsRoom(file: number, block: Buffer): void {
  try {
    while (writeSync(file, block) === block.length);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
  }
}
