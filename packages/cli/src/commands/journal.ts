import { Command, Option } from '@commander-js/extra-typings'

import { connect } from '../connection.ts'
import type { Io } from '../io.ts'
import { saveCsv } from '../output/save-csv.ts'
import { clientCommand, givenFields } from './client-command.ts'
import { parsePastTime } from './when.ts'

export function journalCommand(io: Io) {
  return new Command('journal').summary('export the journal for accountants').addCommand(exportCommand(io))
}

function exportCommand(io: Io) {
  const time = (flags: string, what: string) => new Option(flags, what).argParser(parsePastTime(io.now))
  return clientCommand('export')
    .summary('export payments and refunds as double-entry lines in CSV, newest first')
    .addOption(time('--from <time>', 'only at or after this time, or this long ago: 30m, 12h, 90d'))
    .addOption(time('--to <time>', 'only before this time, or this long ago'))
    .option('--output <file>', 'write to a new file, atomically')
    .action(async (options) => {
      const { journal } = await connect(options, io)
      const query = givenFields({ created_from: options.from, created_to: options.to })
      const signal = io.interruption()
      await saveCsv(() => journal.exportCsv(query, { signal }), options, io)
    })
}
