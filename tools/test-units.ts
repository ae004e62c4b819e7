import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { projectFolder } from './source-files.ts'

/**
 * Folders whose test files, with those of folders below them, share a process, except for the slowest. Most of them
 * start services, servers of PostgreSQL, or browsers: a process that has started one starts the next service in half the
 * time, and needs no second server or browser.
 */
const sharedFolders = [
  'console/src',
  'console/test',
  'examples',
  'packages/cli/src',
  'packages/client/src',
  'packages/mcp/src',
  'packages/merchant/src',
  'packages/wire/src',
  'service/src',
  'service/src/routes',
  'service/src/routes/console',
  'service/src/store',
  'service/src/store/ledger',
  'service/test',
  'service/test/console',
  'service/test/simulation',
  'tools',
  'tools/pack',
] as const

/** Files that measure time or exit their process, so that others must not share it. */
const aloneFiles = new Set(['service/src/http/connections.test.ts'])

/** The slowest files, slowest first. */
export const longest = [
  'console/test/every-screen.test.ts',
  'console/test',
  'service/src/store',
  'service/test',
  'packages/merchant/src',
  'packages/mcp/src',
  'service/src/routes',
  'service/src',
  'service/src/store/ledger',
  'service/test/workers.test.ts',
  'service/test/simulation/simulation.test.ts',
  'service/test/hostile-tenant.test.ts',
  'tools/pack',
  'service/src/copy/copy-ledger.test.ts',
  'service/test/several-processes.test.ts',
  'service/test/simulation',
  'packages/cli/src',
  'examples',
  'service/test/console',
  'packages/client/src',
  'packages/merchant/src/next.test.ts',
  'service/test/hostile-input.test.ts',
  'service/test/kill.test.ts',
  'service/test/first-start.test.ts',
  'service/test/shutdown.test.ts',
  'service/test/faults/faults.test.ts',
  'service/src/routes/console',
  'service/test/rolling.test.ts',
] as const

/** A file to run, and the file or folder that it represents. */
interface TestUnit {
  readonly name: string
  readonly path: string
}

/**
 * The files to run, each in its own process, for these test files: those of a shared folder become one file that
 * imports them, all before their first test ends: then the global `after` hooks run. The slowest come first.
 */
export function testUnits(paths: readonly string[], into = join(projectFolder, generated)): string[] {
  mkdirSync(into, { recursive: true })
  const units = [...Map.groupBy(paths.toSorted(), unitOf)].map(([name, members]): TestUnit => {
    const [only] = members
    if (members.length === 1 && only !== undefined) return { name, path: only }
    const path = join(into, `${name.replaceAll('/', '-')}.test.js`)
    writeFileSync(path, members.map((member) => `import '${urlOf(member)}'\n`).join(''))
    return { name, path }
  })
  return units.toSorted((a, b) => rankOf(a) - rankOf(b)).map(({ path }) => path)
}

const generated = 'node_modules/.cache/purser-tests'

function unitOf(path: string): string {
  if (aloneFiles.has(path) || longest.some((one) => one === path)) return path
  const around = sharedFolders.filter((folder) => path.startsWith(`${folder}/`))
  return around.toSorted((a, b) => b.length - a.length)[0] ?? path
}

function urlOf(path: string): string {
  return pathToFileURL(join(projectFolder, path)).href
}

function rankOf({ name }: TestUnit): number {
  const rank = longest.findIndex((one) => one === name)
  return rank === -1 ? longest.length : rank
}
