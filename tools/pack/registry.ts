import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'

import { projectFolder } from '../source-files.ts'

/** An installed release of an external package, from package-lock.json. */
interface LockedRelease {
  readonly version: string
  readonly [other: string]: unknown
}

/** A release, and its folder in this project. */
interface InstalledRelease {
  readonly name: string
  readonly folder: string
  readonly release: LockedRelease
}

/**
 * A local registry with the external packages that this project has installed, and none of its own: what npm requests
 * here and does not get, no other user would get either. Resolves to its URL.
 */
export async function startRegistry(context: {
  readonly after: (clean: () => void) => void
}): Promise<string> {
  const packages = Map.groupBy(installedReleases(), ({ name }) => name)
  const server = createServer((request, response) => {
    const [name = '', version] = decodeURIComponent((request.url ?? '/').slice(1)).split('/-/')
    const releases = packages.get(name) ?? []
    const asked = releases.find(({ release }) => release.version === version)
    if (asked && existsSync(asked.folder)) {
      void sendTarball(asked, response)
      return
    }
    const isKnown = version === undefined && releases.length > 0
    response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isKnown ? describe(name, releases, url) : { error: 'not found' }))
  })
  // npm may be busy for longer than the default of five seconds, and does not retry.
  server.keepAliveTimeout = 120_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return url
}

/** A package's metadata in a registry. */
function describe(name: string, releases: readonly InstalledRelease[], url: string): object {
  const versions = releases.map(({ folder, release }) => [
    release.version,
    { ...release, ...shownOf(folder), name, dist: { tarball: `${url}${name}/-/${release.version}` } },
  ])
  return { name, 'dist-tags': {}, versions: Object.fromEntries(versions) }
}

/** What a registry shows of a package and the lock file does not: whether npm must not compile it. */
function shownOf(folder: string): { readonly gypfile?: boolean } {
  const path = join(folder, 'package.json')
  if (!existsSync(path)) return {}
  const { gypfile } = JSON.parse(readFileSync(path, 'utf8')) as { readonly gypfile?: boolean }
  return gypfile === undefined ? {} : { gypfile }
}

const tarballs = new Map<string, Promise<Buffer>>()

/** Sends a package, which is packed once for all registries of the process. */
async function sendTarball({ folder }: InstalledRelease, response: ServerResponse): Promise<void> {
  const tarball = tarballs.get(folder) ?? pack(folder)
  tarballs.set(folder, tarball)
  response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(await tarball)
}

/** Packs a package from its folder, without what npm added. */
async function pack(folder: string): Promise<Buffer> {
  const parameters = [
    '-C',
    dirname(folder),
    `--exclude=${basename(folder)}/node_modules`,
    '-c',
    basename(folder),
  ]
  return buffer(spawn('tar', parameters, { stdio: ['ignore', 'pipe', 'inherit'] }).stdout)
}

/** All external packages in the lock file. */
function installedReleases(): InstalledRelease[] {
  const text = readFileSync(join(projectFolder, 'package-lock.json'), 'utf8')
  const { packages } = JSON.parse(text) as {
    readonly packages: Readonly<Record<string, Partial<LockedRelease>>>
  }
  return Object.entries(packages).flatMap(([path, { version, ...release }]) =>
    path.includes('node_modules/') && version !== undefined
      ? [{ name: nameOf(path), folder: join(projectFolder, path), release: { ...release, version } }]
      : [],
  )
}

/** The name of the package at a path in `node_modules`. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}
