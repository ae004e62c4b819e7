import { readConfig } from './settings/config.ts'
import { serve } from './processes/serve.ts'

const reading = readConfig(process.argv.slice(2), process.env, process.cwd())
if ('help' in reading) {
  console.log(reading.help)
} else if ('faults' in reading) {
  console.error(['Purser cannot start:', ...reading.faults.map((fault) => `  - ${fault}`)].join('\n'))
  process.exitCode = 1
} else if (!(await serve(reading.config, 'npx purser'))) {
  process.exitCode = 1
}
