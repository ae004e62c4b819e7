import { helpText, readConfig } from './settings/config.ts'
import { serve } from './processes/serve.ts'

const flags = process.argv.slice(2)
const reading = readConfig(flags, process.env, process.cwd())
if (flags.includes('--help')) {
  console.log(helpText())
} else if ('faults' in reading) {
  console.error(['Purser cannot start:', ...reading.faults.map((fault) => `  - ${fault}`)].join('\n'))
  process.exitCode = 1
} else if (!(await serve(reading.config, 'npx purser'))) {
  process.exitCode = 1
}
