import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { projectFolder } from '../source-files.ts'

/** One release of a package of others, as package-lock.json keeps it. */
interface LockedRelease {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
}

/**
 * A registry on the loopback that knows what this project has installed of others, and none of its own packages:
 * what npm asks it for, and does not get, a stranger would not get either.
 */
export async function startRegistry(context: {
  readonly after: (clean: () => void) => void
}): Promise<string> {
  const releases = releasesOfOthers()
  const server = createServer((request, response) => {
    const known = releases.get(decodeURIComponent((request.url ?? '/').slice(1)))
    response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(known ?? { error: 'not found' }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** What a registry says of each package that the lock file names, by its name. */
function releasesOfOthers(): ReadonlyMap<string, object> {
  const text = readFileSync(join(projectFolder, 'package-lock.json'), 'utf8')
  const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, LockedRelease>> }
  const found = Object.entries(packages).flatMap(([path, release]) =>
    path.includes('node_modules/') && !release.link && release.version !== undefined
      ? [{ name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length), release }]
      : [],
  )
  return new Map(
    [...Map.groupBy(found, ({ name }) => name)].map(([name, all]) => {
      const versions = all.map(({ release: { resolved, integrity, ...manifest } }) => [
        manifest.version,
        { name, ...manifest, dist: { tarball: resolved, integrity } },
      ])
      return [name, { name, 'dist-tags': {}, versions: Object.fromEntries(versions) }]
    }),
  )
}
