import { placeOfLedger } from '../open-store.ts'
import { readKeptProofSecret } from '../proof-secret.ts'
import { copyLedger, type CopyReport } from '../store/copy/copy-ledger.ts'
import { describeReport, showProgress, whatNext } from './copy-words.ts'
import { readAddress } from './database-option.ts'
import { CommandError, type Surroundings } from './surroundings.ts'

/** Carries a ledger over from SQLite to PostgreSQL, and tells what was proved. */
export async function migrateCopy(
  options: { readonly from: string; readonly to: string; readonly json?: true },
  surroundings: Surroundings,
): Promise<void> {
  const from = readAddress('from', options.from, surroundings)
  const to = readAddress('to', options.to, surroundings)
  if (from.kind !== 'sqlite' || to.kind !== 'postgres') {
    throw new CommandError(
      `From ${from.kind} to ${to.kind} there is no copy; it goes from sqlite: to postgresql:, and pg_dump carries PostgreSQL elsewhere`,
    )
  }
  const say = options.json ? () => undefined : surroundings.print
  say(`Copying ${placeOfLedger(from)} to ${placeOfLedger(to)}`)
  const progress = showProgress(surroundings)
  const proofSecret = readKeptProofSecret(from.path)
  const report = await copyLedger({ from: from.path, to: to.url, proofSecret, onProgress: progress.show })
  progress.end()
  if (report.wasFinished) say(`${report.place} holds a finished copy of this ledger already; nothing to do.`)
  else say(describeReport(report))
  if (options.json) surroundings.print(JSON.stringify(asJson(report), null, 2))
  if (!report.isProven) {
    throw new CommandError(
      `${report.place} does not agree with ${from.path}, and no service starts on it; begin again with an empty database`,
    )
  }
  say(whatNext(report, { path: from.path, hasProofSecret: proofSecret !== undefined }))
}

function asJson({ place, isProven, wasFinished, tables, ledgerFaults }: CopyReport) {
  return {
    ledger: place,
    is_proven: isProven,
    was_finished: wasFinished,
    tables: tables.map(({ name, rows, agrees }) => ({ name, rows: Number(rows), agrees })),
    faults: ledgerFaults.map(({ subjectId, fault }) => ({ subject_id: subjectId, fault })),
  }
}
