import { Command } from '@commander-js/extra-typings'

import { readConfig } from '../settings/config.ts'
import { settingFlags } from '../settings/settings.ts'
import { action, exitCodes, UsageError, type Io } from './io.ts'

export function serveCommand(io: Io) {
  const { calledAs, environment, folder, exitWith } = io
  const command = new Command('serve')
    .summary('run the service')
    .description(
      'Runs the service until SIGTERM or SIGINT; then it finishes accepted requests. With PostgreSQL it runs in one process for every two cores, or in as many as --workers says. A flag takes precedence over its variable, which takes precedence over an .env file in this folder.',
    )
  for (const { name, flag, standard, meaning } of settingFlags()) {
    const value = standard === '' ? '' : ` (${standard})`
    command.option(`--${flag} <value>`, `${name}: ${meaning}${value}`)
  }
  return command.action(
    action(io, async (_, called) => {
      const flags = settingFlags().flatMap(({ flag }) => {
        const value: unknown = called.getOptionValue(camelCase(flag))
        return typeof value === 'string' ? [`--${flag}=${value}`] : []
      })
      const reading = readConfig(flags, environment, folder)
      if (!('config' in reading)) {
        const faults = reading.faults.map((fault) => `  - ${fault}`)
        throw new UsageError(['Purser cannot start:', ...faults].join('\n'))
      }
      const { serve } = await import('../processes/serve.ts')
      if (!(await serve(reading.config, calledAs))) exitWith(exitCodes.failed)
    }),
  )
}

/** The name of a flag's value in commander. */
function camelCase(flag: string): string {
  return flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
