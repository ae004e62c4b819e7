// Runs `npm test`: every test file, slowest first, so that no core waits for the last one.
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { parseArgs } from 'node:util'

import { createMemoryFolder } from './memory-folder.ts'
import { endStalledProcesses } from './stalled-tests.ts'
import { projectFolder } from './source-files.ts'
import { testUnits } from './test-units.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  // Twice as long as the longest test takes on a busy machine.
  options: { 'stalled-seconds': { type: 'string', default: '300' } },
})
const patterns =
  positionals.length > 0
    ? positionals
    : ['{packages,service,console,tools,examples,bench,deploy}/**/*.test.ts']
const paths = globSync(patterns, { cwd: projectFolder, exclude: (path) => path.includes('node_modules') })
const inMemory = createMemoryFolder()
if (inMemory !== undefined) process.env['TMPDIR'] = inMemory
const { noteProgress } = endStalledProcesses(Number(values['stalled-seconds']) * 1000)

run({
  files: testUnits(paths),
  cwd: projectFolder,
  // One more than cores: many tests wait for a timeout, a disk or a browser.
  concurrency: availableParallelism() + 1,
})
  .on('data', noteProgress)
  .on('test:fail', ({ todo }) => {
    if (todo === undefined || todo === false) process.exitCode = 1
  })
  .compose(spec)
  .pipe(process.stdout)
