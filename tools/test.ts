// What `npm test` runs: every test file, the longest first, so that no processor waits for the last one.
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { parseArgs } from 'node:util'

import { projectFolder } from './source-files.ts'
import { testUnits } from './test-units.ts'

const { positionals } = parseArgs({ allowPositionals: true })
const patterns =
  positionals.length > 0
    ? positionals
    : ['{packages,service,console,tools,examples,bench,deploy}/**/*.test.ts']
const paths = globSync(patterns, { cwd: projectFolder, exclude: (path) => path.includes('node_modules') })

run({
  files: testUnits(paths),
  cwd: projectFolder,
  // One more than processors: many tests wait for a timeout, a disk or a browser.
  concurrency: availableParallelism() + 1,
})
  .on('test:fail', ({ todo }) => {
    if (todo === undefined || todo === false) process.exitCode = 1
  })
  .compose(spec)
  .pipe(process.stdout)
