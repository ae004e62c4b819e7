#!/usr/bin/env node
/** The `purser` command of a checkout: its sources, where Node runs them as they are. The package is compiled. */

if (process.features.typescript) {
  await import('../src/purser.ts')
} else {
  console.error(
    `purser needs a newer Node in a checkout, and this is Node ${process.versions.node}. Run npx purser, which uses the Node that npm ci installed.`,
  )
  process.exitCode = 1
}
