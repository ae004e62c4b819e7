import { readConfig, settingsHelp } from '../config.ts'
import { serve } from '../serve.ts'
import { exitCodes, UsageError, type Command } from './command.ts'

export const serveCommand: Command = {
  name: 'serve',
  summary: 'runs the service',
  help: [
    'Usage: purser serve [flags]',
    '',
    'Runs the service until SIGTERM or SIGINT; then it finishes what it accepted. With PostgreSQL it runs',
    'in one process for each core, or in as many as --workers says.',
    '',
    'A flag wins over its variable:',
    ...settingsHelp(),
  ].join('\n'),
  async run(args, { environment, folder }) {
    const reading = readConfig(args, environment, folder)
    if (!('config' in reading)) {
      const faults = 'faults' in reading ? reading.faults : []
      throw new UsageError(['Purser cannot start:', ...faults.map((fault) => `  - ${fault}`)].join('\n'))
    }
    return (await serve(reading.config)) ? exitCodes.done : exitCodes.failed
  },
}
