import { Command } from '@commander-js/extra-typings'

import { action, type Surroundings } from './surroundings.ts'

export function initCommand(surroundings: Surroundings) {
  return new Command('init')
    .summary('write an .env file that explains every setting, and say what to do next')
    .description(
      'Writes a file .env into this folder in which every setting of the service is explained and stands at its standard value. The file is for this user alone (mode 0600). One that is there already is left as it is.',
    )
    .option('--json', 'one JSON document instead of words')
    .action(
      action(surroundings, async (options) => {
        const { writeSettings } = await import('./write-settings.ts')
        writeSettings(options, surroundings)
      }),
    )
}
