#!/usr/bin/env node
/** The command of the published package: the service, where the release of Node will do for it. */

import { nodeFault } from './node-version.ts'

const fault = nodeFault(process.versions.node)
if (fault === undefined) {
  // Loaded apart, for an older Node could not even read all of it.
  await import('./main.ts')
} else {
  console.error(`Purser cannot start: ${fault}.`)
  process.exitCode = 1
}
