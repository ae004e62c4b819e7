#!/usr/bin/env node
/** The command of the published package: starts the service if Node is new enough. */

import { nodeFault } from './node-version.ts'

const fault = nodeFault(process.versions.node)
if (fault === undefined) {
  // Loaded on demand: an older Node cannot even parse it.
  await import('./main.ts')
} else {
  console.error(`Purser cannot start: ${fault}.`)
  process.exitCode = 1
}
