import { placeOfLedger } from '../open-store.ts'
import { readKeptProofSecret } from '../proof-secret.ts'
import { copyLedger } from '../store/copy/copy-ledger.ts'
import { CommandError, exitCodes, type Command } from './command.ts'
import { describeReport, showProgress, whatNext } from './copy-words.ts'
import { readAddress, readFlags } from './database-flag.ts'

export const migrateCopy: Command = {
  name: 'migrate copy',
  summary: 'carries a ledger over from SQLite to PostgreSQL',
  help: [
    'Usage: purser migrate copy --from sqlite:<path> --to postgresql://user:password@host/name',
    '',
    'Copies everything from a SQLite file, which no service may use meanwhile, to an empty PostgreSQL',
    'database: accounts, keys, agents, mandates, sellers, proofs, payments, the audit log, and the proof',
    'secret that is kept beside the file. The file is left as it is. At the end it proves that every table',
    'has as many rows there and adds up to the same, and that the ledger is sound.',
    '',
    'A copy that was interrupted goes on where it was when the same command is run again; no service starts',
    'on a database that holds half a ledger.',
    '',
    '  --from <address>   sqlite: and a path',
    '  --to <address>     postgresql://user:password@host/name',
  ].join('\n'),
  async run(args, surroundings) {
    const flags = readFlags(args, ['from', 'to'])
    const from = readAddress('from', flags.from, surroundings)
    const to = readAddress('to', flags.to, surroundings)
    if (from.kind !== 'sqlite' || to.kind !== 'postgres') {
      throw new CommandError(
        `From ${from.kind} to ${to.kind} there is no copy; it goes from sqlite: to postgresql:, and pg_dump carries PostgreSQL elsewhere`,
      )
    }
    const { print } = surroundings
    print(`Copying ${placeOfLedger(from)} to ${placeOfLedger(to)}`)
    const progress = showProgress(surroundings)
    const proofSecret = readKeptProofSecret(from.path)
    const report = await copyLedger({ from: from.path, to: to.url, proofSecret, onProgress: progress.show })
    progress.end()
    print(describeReport(report))
    if (!report.isProven) {
      throw new CommandError(
        `${report.place} does not agree with ${from.path}, and no service starts on it; begin again with an empty database`,
      )
    }
    print(whatNext(report, { path: from.path, hasProofSecret: proofSecret !== undefined }))
    return exitCodes.done
  },
}
