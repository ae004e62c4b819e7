import { Command } from '@commander-js/extra-typings'

import { action, type Io } from './io.ts'

export function initCommand(io: Io) {
  return new Command('init')
    .summary('write an .env file that explains every setting, and show the next steps')
    .description(
      'Writes an .env file to this folder with an explanation and the default of every setting. Only this user can read the file (mode 0600). An existing file is left untouched.',
    )
    .option('--json', 'print one JSON document instead of text')
    .action(
      action(io, async (options) => {
        const { writeSettings } = await import('./write-settings.ts')
        writeSettings(options, io)
      }),
    )
}
