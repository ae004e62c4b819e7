import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import packageJson from '../package.json' with { type: 'json' }

// The pack tool writes the commit to package.json; a checkout has none.
const { version: ownRelease, gitHead }: { readonly version: string; readonly gitHead?: string } = packageJson

/** The release of the service, such as `0.1.0`. */
export const release = ownRelease

/** The release, with the commit for a packed service, such as `0.1.0 (0123456789ab)`. */
export const version: string = gitHead === undefined ? release : `${release} (${gitHead.slice(0, 12)})`

/** The commit that the service was built from; `unknown` if neither the package nor a checkout has it. */
export function commit(): string {
  return (gitHead ?? commitOfCheckout())?.slice(0, 12) ?? 'unknown'
}

function commitOfCheckout(): string | undefined {
  const cwd = join(import.meta.dirname, '../..')
  if (!existsSync(join(cwd, '.git'))) return undefined
  const options = { cwd, encoding: 'utf8', stdio: 'pipe', timeout: 2_000 } as const
  try {
    // Its owner is often another user, such as root, and Git would refuse it.
    return execFileSync('git', ['-c', `safe.directory=${cwd}`, 'rev-parse', 'HEAD'], options).trim()
  } catch {
    return undefined
  }
}
